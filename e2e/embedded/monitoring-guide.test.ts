import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources } from "@virtual-kubelet/kube-client";
import { eventually, freePort } from "@virtual-kubelet/testing";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { askKubelet } from "../support/kubelet-request.ts";
import { ProgramRig, soon } from "./support/program-rig.ts";

const guide = readFileSync(new URL("../../docs/guides/monitoring.md", import.meta.url), "utf8");

test("the guide explains every metric that a node with pods exposes, and none is dropped", async () => {
  await using rig = await ProgramRig.open();
  const port = await freePort();
  await using _program = rig.run("--provider mock --nodename vk-1", { env: { KUBELET_PORT: String(port) } });
  await rig.nodeIsReady("vk-1");
  await rig.createPod("web", "vk-1");
  await rig.podIsRunning("web");
  const ask = async (path: string): Promise<string> => {
    const { status, body } = await askKubelet(port, { path }, { token: rig.server.token });
    expect([path, status]).toEqual([path, 200]);
    return body;
  };
  // The pod's status is written, and with it all that a pod's way counts.
  await eventually(async () => expect(await ask("/metrics")).toMatch(/^kubelet_pod_start_duration_seconds_count 1$/m), soon);

  for (const path of ["/metrics", "/metrics/resource"]) {
    const names = [...(await ask(path)).matchAll(/^# TYPE (\w+) /gm)].map(([, name = ""]) => name);
    expect(names.length).toBeGreaterThan(path === "/metrics" ? 60 : 3);
    expect(names.filter((name) => !guide.includes(`\`${name}\``))).toEqual([]);
  }
  expect(await ask("/metrics")).not.toMatch(/^vk_metrics_dropped_total\{/m);
});

test("the guide explains every metric of a node that is another cluster", async () => {
  await using rig = await ProgramRig.open();
  await using far = await startApiServer({ controllers: false, serviceAccounts: true });
  await writeFile(join(rig.folder, "far.kubeconfig"), far.kubeconfig());
  const config = { cluster: { kubeconfig: "far.kubeconfig" }, node: { capacity: { cpu: "4", memory: "8Gi", pods: "20" } } };
  await writeFile(join(rig.folder, "far.json"), JSON.stringify(config));
  const port = await freePort();
  const words = "--provider kubernetes --provider-config far.json --nodename far-1";
  await using _program = rig.run(words, { env: { KUBELET_PORT: String(port) } });
  await rig.nodeIsReady("far-1");
  await rig.createPod("web", "far-1");
  const client = createKubeClient(far.transport());
  const { signal } = new AbortController();
  await eventually(async () => expect((await client.list(resources.pods, {}, { signal })).items).toHaveLength(1), soon);

  const { body } = await askKubelet(port, { path: "/metrics" }, { token: rig.server.token });

  const names = [...body.matchAll(/^# TYPE (\w+) /gm)].map(([, name = ""]) => name);
  expect(names).toContain("vk_kubernetes_far_rest_client_requests_total");
  expect(names.filter((name) => !guide.includes(`\`${name}\``))).toEqual([]);
  // Its buckets are those of requests.
  expect(body).toContain('vk_kubernetes_far_rest_client_request_duration_seconds_bucket{le="0.025",method="POST"}');
});
