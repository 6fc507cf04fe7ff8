import type { NodeStats } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { FakeStorage } from "../test-support/fake-storage.ts";
import { NodeRig } from "../test-support/node-rig.ts";
import { podWith } from "../test-support/pod-rig.ts";

async function measuredRig(): Promise<NodeRig> {
  const rig = new NodeRig();
  const node = { nodeName: "n", startTime: "2026-01-01T00:00:00Z" };
  const nodeStats = async (): Promise<NodeStats> => ({
    ...node,
    cpu: { time: node.startTime, usageCoreNanoSeconds: rig.clock.monotonic() * 1_000_000 },
    systemContainers: [
      { name: "pods", startTime: node.startTime, cpu: { time: node.startTime, usageCoreNanoSeconds: rig.clock.monotonic() * 250_000 } },
    ],
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

test("a summary contains the node, each pod, its containers by name, traffic and volumes", async () => {
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

test("rates are available from the second measurement on, which is not made within ten seconds", async () => {
  const rig = await measuredRig();
  const coresOf = async (): Promise<readonly unknown[]> => {
    const { node, pods } = await rig.provider.getStatsSummary(rig.signal);
    return [node, node?.systemContainers?.[0], pods[0]?.containers[0]].map((measured) => measured?.cpu?.usageNanoCores);
  };
  expect(await coresOf()).toEqual([undefined, undefined, undefined]);
  const calls = rig.runtime.calls.length;
  await rig.clock.advance(9_000);
  expect(await coresOf()).toEqual([undefined, undefined, undefined]);
  expect(rig.runtime.calls.length).toBe(calls);

  await rig.clock.advance(1_000);

  expect(await coresOf()).toEqual([1e9, 2.5e8, 5e8]);
});

test("values that cannot be measured are left out, and the others are there", async () => {
  const rig = await measuredRig();
  rig.runtime.failNext("stats");
  rig.runtime.failNext("network");

  const { pods, incomplete } = await rig.provider.getStatsSummary(rig.signal);

  expect(pods[0]?.containers.map(({ name }) => name)).toEqual(["log"]);
  expect(pods[0]?.network).toBeUndefined();
  expect(incomplete).toMatch(/^2 measurements failed, the first of them: container app of pod default\/web: stats: the runtime is away$/);
});

test("a pod that does not run has no figures, and neither has a container that has ended", async () => {
  const rig = new NodeRig({ "app/0": { afterMs: 1_000, exitCode: 0 } });
  rig.start();
  const containers = ["app", "log"].map((name) => ({ name, image: "app:1" }));
  await rig.create(podWith({ restartPolicy: "Never", containers }));
  await rig.clock.advance(2_000);

  const { pods, node } = await rig.provider.getStatsSummary(rig.signal);
  expect(pods.map((pod) => pod.containers.map(({ name }) => name))).toEqual([["log"]]);
  expect([node, pods[0]?.volume]).toEqual([undefined, undefined]);
  rig.runtime.end("c3", 0);
  await rig.clock.advance(60_000);

  expect((await rig.provider.getStatsSummary(rig.signal)).pods).toEqual([]);
});

test("callers during a measurement wait for the same figures", async () => {
  const rig = await measuredRig();
  const before = rig.runtime.calls.length;

  const [one, other] = await Promise.all([rig.provider.getStatsSummary(rig.signal), rig.provider.getStatsSummary(rig.signal)]);

  expect(one).toBe(other);
  expect(rig.runtime.calls.slice(before)).toHaveLength(3);
});

test("only the configured number of containers is measured at once", async () => {
  const rig = new NodeRig();
  rig.start({ settings: { statsConcurrency: 2, statsMs: 0 } });
  await rig.create(podWith({ containers: ["a", "b", "c"].map((name) => ({ name, image: "app:1" })) }));
  await rig.clock.advance(0);
  rig.runtime.stuck.add("stats");
  rig.runtime.stuck.add("network");
  const before = rig.runtime.calls.length;

  void rig.provider.getStatsSummary(rig.signal).catch(() => {});
  await rig.clock.advance(0);

  expect(rig.runtime.calls.slice(before)).toHaveLength(2);
});

test("figures are kept for the configured time", async () => {
  const rig = new NodeRig();
  rig.start({ settings: { statsMs: 500 } });
  await rig.create(podWith({}));
  await rig.clock.advance(0);
  const first = await rig.provider.getStatsSummary(rig.signal);
  await rig.clock.advance(499);
  expect(await rig.provider.getStatsSummary(rig.signal)).toBe(first);
  await rig.clock.advance(1);

  expect(await rig.provider.getStatsSummary(rig.signal)).not.toBe(first);
});

test("an aborted call returns no figures", async () => {
  const rig = await measuredRig();

  await expect(rig.provider.getStatsSummary(AbortSignal.abort(new Error("over")))).rejects.toThrow("over");
});

test("a measurement continues after its caller has given up, and its result is kept for the next one", async () => {
  const rig = await measuredRig();
  const gate = rig.runtime.holdNext("stats");
  const leaving = new AbortController();
  const left = rig.provider.getStatsSummary(leaving.signal);
  await rig.clock.advance(0);
  leaving.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  gate.resolve();
  await rig.clock.advance(0);
  const calls = rig.runtime.calls.length;

  const { pods, incomplete } = await rig.provider.getStatsSummary(rig.signal);

  expect(pods[0]?.containers.map(({ name }) => name)).toEqual(["app", "log"]);
  expect(incomplete).toBeUndefined();
  expect(rig.runtime.calls.length).toBe(calls);
});

test("after five seconds a caller gets the measurements so far, and the previous ones for the rest", async () => {
  const rig = await measuredRig();
  const memoryOf = async (name: string): Promise<string | undefined> => {
    const { pods } = await rig.provider.getStatsSummary(rig.signal);
    return pods[0]?.containers.find((container) => container.name === name)?.memory?.time;
  };
  expect([await memoryOf("app"), await memoryOf("log")]).toEqual(["2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"]);
  await rig.clock.advance(20_000);
  const gate = rig.runtime.holdNext("stats");
  const waiting = rig.provider.getStatsSummary(rig.signal);
  let isAnswered = false;
  void waiting.then(() => (isAnswered = true));
  await rig.clock.advance(4_999);
  expect(isAnswered).toBe(false);
  await rig.clock.advance(1);

  const { pods, node, incomplete } = await waiting;

  expect(incomplete).toBe("the measurement is still in progress");
  expect(node).toMatchObject({ nodeName: "n" });
  expect(pods[0]?.containers.map(({ name, memory }) => [name, memory?.time])).toEqual([
    ["app", "2026-01-01T00:00:00Z"],
    ["log", "2026-01-01T00:00:20Z"],
  ]);
  gate.resolve();
  await rig.clock.advance(0);
  expect(await memoryOf("app")).toBe("2026-01-01T00:00:25Z");
});

test("a pod's figures are those of its own control group, if it has one, and its processes are the sum of its containers'", async () => {
  const rig = new NodeRig();
  const time = "2026-01-01T00:00:00Z";
  const cgroups = {
    prepare: async () => "/pods/u1",
    grow: async () => {},
    fit: async () => {},
    release: async () => {},
    usage: async () => ({
      cpu: { time, usageCoreNanoSeconds: rig.clock.monotonic() * 2_000_000 },
      memory: { time, usageBytes: 9 },
      cgroup: { time, path: "/pods/u1" },
    }),
  };
  rig.start({ cgroups });
  await rig.create(podWith({ containers: ["app", "log"].map((name) => ({ name, image: "app:1" })) }));
  await rig.clock.advance(0);
  await rig.provider.getStatsSummary(rig.signal);
  await rig.clock.advance(10_000);

  const { pods } = await rig.provider.getStatsSummary(rig.signal);

  expect(pods).toMatchObject([
    {
      cpu: { usageCoreNanoSeconds: 2e10, usageNanoCores: 2e9 },
      memory: { usageBytes: 9 },
      cgroup: { path: "/pods/u1" },
      process_stats: { process_count: 6 },
    },
  ]);
});
