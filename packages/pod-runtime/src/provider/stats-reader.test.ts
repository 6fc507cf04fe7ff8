import { expect, test } from "vitest";
import { FakeStorage } from "../test-support/fake-storage.ts";
import { NodeRig } from "../test-support/node-rig.ts";
import { podWith } from "../test-support/pod-rig.ts";

async function measuredRig(): Promise<NodeRig> {
  const rig = new NodeRig();
  const node = { nodeName: "n", startTime: "2026-01-01T00:00:00Z" };
  const nodeStats = async (): Promise<typeof node & { cpu: { time: string; usageCoreNanoSeconds: number } }> => ({
    ...node,
    cpu: { time: node.startTime, usageCoreNanoSeconds: rig.clock.monotonic() * 1_000_000 },
  });
  rig.start({ storage: new FakeStorage(), nodeStats });
  await rig.create(
    podWith({
      containers: [
        { name: "app", image: "app:1" },
        { name: "log", image: "app:1" },
      ],
    }),
  );
  await rig.clock.advance(0);
  return rig;
}

test("a summary holds the node, each pod, its containers by name, traffic and volumes", async () => {
  const rig = await measuredRig();

  const { node, pods } = await rig.provider.getStatsSummary(rig.signal);

  expect(node).toMatchObject({ nodeName: "n" });
  expect(pods).toMatchObject([
    {
      podRef: { namespace: "default", name: "web", uid: "u1" },
      startTime: "2026-01-01T00:00:00Z",
      containers: [{ name: "app", memory: { usageBytes: 1 } }, { name: "log" }],
      network: { name: "eth0", rxBytes: 1 },
      volume: [{ name: "data", usedBytes: 7 }],
    },
  ]);
});

test("rates come with the second measurement, which is not made within ten seconds", async () => {
  const rig = await measuredRig();
  const coresOf = async (): Promise<readonly unknown[]> => {
    const { node, pods } = await rig.provider.getStatsSummary(rig.signal);
    return [node?.cpu?.usageNanoCores, pods[0]?.containers[0]?.cpu?.usageNanoCores];
  };
  expect(await coresOf()).toEqual([undefined, undefined]);
  const calls = rig.runtime.calls.length;
  await rig.clock.advance(9_000);
  expect(await coresOf()).toEqual([undefined, undefined]);
  expect(rig.runtime.calls.length).toBe(calls);

  await rig.clock.advance(1_000);

  expect(await coresOf()).toEqual([1e9, 5e8]);
});

test("what cannot be measured is left out, and the rest is not", async () => {
  const rig = await measuredRig();
  rig.runtime.failNext("stats");
  rig.runtime.failNext("network");

  const { pods } = await rig.provider.getStatsSummary(rig.signal);

  expect(pods[0]?.containers.map(({ name }) => name)).toEqual(["log"]);
  expect(pods[0]?.network).toBeUndefined();
});
