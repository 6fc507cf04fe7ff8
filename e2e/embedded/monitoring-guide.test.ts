import { eventually, freePort } from "@virtual-kubelet/testing";
import { readFileSync } from "node:fs";
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
