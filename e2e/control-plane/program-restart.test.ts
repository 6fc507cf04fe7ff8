import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { resources, type KubeClient, type Pod } from "@virtual-kubelet/kube-client";
import { eventually, fileProviderPath, startFileBackend, type FileBackend } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Program } from "../support/program.ts";
import { createNamespace, openClient, sharedControlPlane, type OpenClient } from "./support/cluster.ts";
import { forgetNode, nodeToBe, uniqueName } from "./support/test-node.ts";
import { deploymentOn, instanceIdOf, podOn, Pods } from "./support/workload.ts";

const { signal } = new AbortController();
const controlPlane = sharedControlPlane();
let opened: OpenClient;
/** Time-out in milliseconds for pods of a program that is starting, which is slow on a busy machine. */
const startMs = 150_000;
let client: KubeClient;
let namespace = "";
let pods: Pods;

beforeAll(async () => {
  opened = await openClient(controlPlane.kubeconfig);
  ({ client } = opened);
});

beforeEach(async () => {
  namespace = await createNamespace(client, "program");
  pods = new Pods(client, namespace);
});

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
});

test.for(["notify", "poll"] as const)(
  "after a kill and restart of the program (%s) all instances are the same, and none is lost or duplicated",
  async (mode) => {
    await using backend = await startFileBackend();
    const name = uniqueName("killed");
    await using killed = await start(name, backend, mode);
    await nodeToBe(client, name, "True", startMs);
    await client.create(resources.deployments, deploymentOn(name, "web", namespace, 5), { signal });
    const before = await pods.allReady("app=web", 5);

    await killed.end("SIGKILL");
    // One pod is added and one deleted while no program runs.
    const added = await pods.create(podOn(name, "added", namespace));
    const forced = before[0];
    await pods.delete(forced?.metadata?.name ?? "", 0);
    await using _restarted = await start(name, backend, mode);

    await pods.running("added", startMs);
    const after = await pods.allReady("app=web", 5);
    const kept = before.slice(1);
    const keptNow = after.filter(({ metadata }) => kept.some((pod) => pod.metadata?.uid === metadata?.uid));
    expect(keptNow.map(instanceIdOf).toSorted()).toEqual(kept.map(instanceIdOf).toSorted());
    expect(keptNow.map(({ status }) => status?.containerStatuses?.[0]?.restartCount)).toEqual([0, 0, 0, 0]);
    await eventually(() => expect(backend.instances().map(({ ref }) => ref.uid)).not.toContain(forced?.metadata?.uid), {
      // An orphan is removed only after a delay.
      timeoutMs: 90_000,
      describe: "the instance of the pod that was deleted meanwhile to be gone",
    });
    expectEachOnce(backend, [...before, ...after, added]);
    expect(
      backend
        .instances()
        .map(({ ref }) => ref.uid)
        .toSorted(),
    ).toEqual([...after, added].map(uidOf).toSorted());
    await forgetNode(controlPlane, name);
  },
);

test("after a kill of the program during creates each pod is adopted or created exactly once", async () => {
  await using backend = await startFileBackend({ control: { createDelayMs: 3_000, startDelayMs: 500 } });
  const name = uniqueName("midst");
  await using killed = await start(name, backend, "notify");
  await nodeToBe(client, name, "True", startMs);
  const created = await Promise.all(Array.from({ length: 20 }, (_, index) => pods.create(podOn(name, `pod-${String(index)}`, namespace))));
  await eventually(() => expect(backend.instances().length).toBeGreaterThan(3));

  await killed.end("SIGKILL");
  await using _restarted = await start(name, backend, "notify");

  await Promise.all(created.map((pod) => pods.running(pod.metadata?.name ?? "", startMs)));
  expectEachOnce(backend, created);
  expect(backend.instances()).toHaveLength(20);
  await forgetNode(controlPlane, name);
});

test("a delete that was in progress when the program was killed is completed with the remaining grace period", async () => {
  await using backend = await startFileBackend({ control: { stopDelayMs: 600_000 } });
  const name = uniqueName("deleting");
  await using killed = await start(name, backend, "notify");
  await nodeToBe(client, name, "True", startMs);
  const seen = await pods.create(podOn(name, "seen", namespace, { terminationGracePeriodSeconds: 40 }));
  const unseen = await pods.create(podOn(name, "unseen", namespace, { terminationGracePeriodSeconds: 40 }));
  await Promise.all([pods.running("seen"), pods.running("unseen")]);
  const deletedMs = Date.now();
  await pods.delete("seen");
  await eventually(() => expect(backend.journal()).toContainEqual(expect.objectContaining({ event: "delete", uid: seen.uid })));

  await killed.end("SIGKILL");
  await pods.delete("unseen");
  await new Promise((resolve) => setTimeout(resolve, 15_000));
  await using _restarted = await start(name, backend, "notify");

  await Promise.all([pods.gone("seen", startMs), pods.gone("unseen", startMs)]);
  const timeOf = (event: "delete" | "ended", { uid }: { readonly uid: string }): number =>
    Date.parse(backend.journal().find((entry) => entry.event === event && entry.uid === uid)?.at ?? "");
  for (const pod of [seen, unseen]) expect(timeOf("ended", pod)).toBeGreaterThan(deletedMs + 35_000);
  // The limit is 40 seconds after the deletion, not after the restart, which was at least 15 seconds later.
  expect(timeOf("ended", seen) - timeOf("delete", seen)).toBeLessThan(50_000);
  expect(timeOf("ended", unseen) - timeOf("delete", unseen)).toBeLessThan(35_000);
  expectEachOnce(backend, [seen, unseen]);
  expect(backend.instances()).toEqual([]);
  await forgetNode(controlPlane, name);
});

test("a graceful stop leaves the pods running and exits with code 0", async () => {
  await using backend = await startFileBackend();
  const name = uniqueName("stopped");
  await using program = await start(name, backend, "notify");
  await nodeToBe(client, name, "True", startMs);
  const pod = await pods.create(podOn(name, "web", namespace));
  await pods.running("web");

  expect(await program.end("SIGTERM")).toBe(0);

  expect(backend.instances().map(({ ref }) => ref.uid)).toEqual([pod.uid]);
  expect(backend.journal().filter(({ event }) => event === "delete")).toEqual([]);
  await forgetNode(controlPlane, name);
});

async function start(name: string, backend: FileBackend, mode: "notify" | "poll"): Promise<Program> {
  const config = join(backend.directory, "virtual-kubelet.json");
  await writeFile(
    config,
    JSON.stringify({
      apiVersion: "virtual-kubelet.io/v1alpha1",
      kind: "VirtualKubelet",
      cluster: { kubeconfig: controlPlane.kubeconfig.path },
      instance: { identity: name },
      nodes: [
        {
          name,
          provider: fileProviderPath,
          providerConfig: { directory: backend.directory, mode },
          leaseDuration: "12s",
          pollInterval: "500ms",
          orphans: { grace: "3s", interval: "2s" },
        },
      ],
    }),
  );
  return new Program(["--config", config, "--health-addr", "off", "--log-level", "debug"], { cwd: backend.directory });
}

function expectEachOnce(backend: FileBackend, found: readonly Pod[]): void {
  const uids = [...new Set(found.map(uidOf))];
  expect(uids.map((uid) => [uid, backend.creates(uid)])).toEqual(uids.map((uid) => [uid, 1]));
}

function uidOf({ metadata }: Pod): string {
  return metadata?.uid ?? "";
}
