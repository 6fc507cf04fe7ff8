import { SeededRandom } from "@virtual-kubelet/clock";
import { resources } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { NodeRig, type NodeRigOptions } from "../test-support/node-rig.ts";

/** A node whose API server is restored to what it was before the change and 200 writes, while all watches go on. */
async function restoredRig(
  change: (rig: NodeRig) => Promise<unknown> = async () => {},
  options: Pick<NodeRigOptions, "shares"> = {},
): Promise<NodeRig> {
  const rig = await new NodeRig(options).start();
  await rig.createPod("old");
  const restore = rig.client.backUp();
  await change(rig);
  write(rig);
  await rig.settle(20_000);
  restore();
  await rig.settle(15_000);
  return rig;
}

test.for([false, true])(
  "a pod that is bound after the API server was restored from a backup is started (shared watch: %s)",
  async (shares) => {
    await using rig = await restoredRig(undefined, { shares });

    await rig.createPod("new");
    await rig.settle(10_000);

    expect(rig.callsOf("createPod new")).toBe(1);
    expect(rig.callsOf("createPod old")).toBe(1);
    expect(rig.warnings.join()).toContain("restored from a backup");
  },
);

test.for([false, true])("an instance that stood by meanwhile runs pods that are bound afterwards (shared watch: %s)", async (shares) => {
  const first = await new NodeRig({ node: { instance: { identity: "first", standby: true } } }).start();
  await using second = new NodeRig({ after: first, shares, node: { instance: { identity: "second", standby: true } } });
  second.run();
  await second.settle(20_000);
  const restore = first.client.backUp();
  write(first);
  await second.settle(20_000);
  restore();
  await second.settle(20_000);

  await first[Symbol.asyncDispose]();
  await second.settle(10_000);
  await second.createPod("new");
  await second.settle(20_000);

  expect([second.node.health.ready, second.callsOf("createPod new")]).toEqual([true, 1]);
});

test("a pod that the backup lacks is ended at the back end", async () => {
  await using rig = await restoredRig((before) => before.createPod("lost"));

  await rig.settle(120_000);

  expect(rig.callsOf("createPod lost")).toBe(1);
  expect(rig.provider.calls.filter((call) => call.startsWith("deletePod lost"))).toHaveLength(1);
});

test("a pod that was removed after the backup is removed again", async () => {
  await using rig = await restoredRig(async (before) => {
    await before.deletePod("old", 30);
    await before.settle(1_000);
    expect(before.pod("old")).toBeUndefined();
  });

  await rig.deletePod("old", 30);
  await rig.settle(10_000);

  expect(rig.pod("old")).toBeUndefined();
});

test("a pod that selects a label of the node that the backup lacks is refused", async () => {
  await using rig = await restoredRig(async (before) => {
    before.client.edit(resources.nodes, "node-1", ({ metadata = {} }) => (metadata.labels = { ...metadata.labels, zone: "a" }));
    await before.settle(1_000);
    await before.createPod("before", { nodeSelector: { zone: "a" } });
    expect(before.callsOf("createPod before")).toBe(1);
  });

  await rig.createPod("after", { nodeSelector: { zone: "a" } });
  await rig.settle(10_000);

  expect(rig.pod("after")?.status).toMatchObject({ phase: "Failed", reason: "NodeAffinity" });
});

test("a change that got the version of another one before the backup was restored is seen", async () => {
  await using rig = await new NodeRig().start();
  await rig.createPod("old");
  await rig.settle(15_000);
  const restore = rig.client.backUp();
  await rig.editPod("old", ({ metadata = {} }) => (metadata.labels = { changed: "before" }));
  const version = rig.pod("old")?.metadata?.resourceVersion;
  write(rig);
  await rig.settle(20_000);

  restore();
  await rig.client.delete(resources.pods, { namespace: "default", name: "old" }, {}, { signal: new AbortController().signal });
  expect(rig.pod("old")?.metadata?.resourceVersion).toBe(version);
  await rig.settle(60_000);

  expect(rig.pod("old")).toBeUndefined();
});

test("a program that was started again after the backup goes on", async () => {
  const former = await new NodeRig().start();
  await former.createPod("old");
  const restore = former.client.backUp();
  former.abort.abort();
  await former.settle(60_000);
  await using rig = await new NodeRig({ after: former, random: new SeededRandom(2) }).start();
  write(rig);
  await rig.settle(20_000);

  restore();
  await rig.settle(60_000);
  await rig.createPod("new");

  expect(await rig.stateOfRun()).toBe("pending");
  expect(rig.callsOf("createPod new")).toBe(1);
});

test("an instance that finds another one on the restored Lease writes nothing more", async () => {
  const rig = await new NodeRig().start();
  const { client } = rig;
  await rig.createPod("old");
  await rig.settle(15_000);
  const restore = client.backUp();
  client.withholdEvents(resources.pods);
  const [started] = rig.provider.held.values();
  if (started) rig.provider.report(started.ref, { ...started.status, message: "later" });
  write(rig);
  await rig.settle(20_000);

  restore();
  const annotations = { "virtual-kubelet.io/instance": "other", "virtual-kubelet.io/start-id": "other" };
  client.edit(resources.leases, "node-1", ({ metadata = {} }) => (metadata.annotations = annotations), "kube-node-lease");
  const before = client.calls.length;
  await rig.settle(60_000);

  expect(String(await rig.stateOfRun())).toContain("NodeHeldError");
  const calls = client.calls.slice(before).map(({ verb, resource }) => `${verb} ${resource}`);
  const writes = calls.slice(calls.indexOf("get leases")).filter((call) => /^(patch|delete|replace) /.test(call));
  expect(writes).toEqual([]);
});

describe.for([false, true])("with the last events of the watch missing: %s", (isLate) => {
  test("a status that the backup lacks is written again", async () => {
    await using rig = await restoredRig(async (before) => {
      const [started] = before.provider.held.values();
      if (isLate) before.client.withholdEvents(resources.pods);
      if (started) before.provider.report(started.ref, { ...started.status, message: "later" });
      await before.settle(1_000);
      expect(before.pod("old")?.status?.message).toBe("later");
    });

    await rig.settle(10_000);

    expect(rig.pod("old")?.status?.message).toBe("later");
  });

  test("a deleted pod that the backup still has is removed again", async () => {
    const held = Promise.withResolvers<void>();
    await using rig = await new NodeRig().start();
    await rig.createPod("old");
    rig.provider.script("deletePod", () => held.promise);
    await rig.deletePod("old", 30);
    const restore = rig.client.backUp();
    if (isLate) rig.client.withholdEvents(resources.pods);
    held.resolve();
    await rig.settle(5_000);
    expect(rig.pod("old")).toBeUndefined();

    await rig.settle(20_000);
    restore();
    await rig.settle(30_000);

    expect(rig.pod("old")).toBeUndefined();
  });
});

/** Writes 200 objects, so that the versions of a backup are lower. */
function write({ client }: NodeRig): void {
  for (let index = 0; index < 200; index++) client.put(resources.configMaps, { metadata: { namespace: "default", name: `map-${index}` } });
}
