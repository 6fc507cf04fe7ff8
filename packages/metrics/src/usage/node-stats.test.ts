import { VirtualClock } from "@virtual-kubelet/clock";
import type { PodStats, StatsSummary } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { cpuAndMemoryOnly, kubeletSummary, NodeStatsReader } from "./node-stats.ts";

const time = "2026-01-02T03:04:05Z";
const never = new AbortController().signal;

interface PodFigures {
  readonly uid: string;
  readonly cpu: number;
  readonly memory?: number;
  readonly startTime?: string;
}

function pod({ uid, cpu, memory = 1_000, startTime = time }: PodFigures): PodStats {
  return {
    podRef: { namespace: "default", name: uid, uid },
    startTime,
    containers: [
      {
        name: "main",
        startTime,
        cpu: { time, usageNanoCores: 5, usageCoreNanoSeconds: cpu },
        memory: { time, workingSetBytes: memory, usageBytes: memory },
        rootfs: { time, usedBytes: 7 },
      },
    ],
  };
}

/** A reader whose provider gives these summaries one after the other. */
function readerOf(...summaries: StatsSummary[]): NodeStatsReader {
  return new NodeStatsReader({ nodeName: "n1", clock: new VirtualClock(), getStatsSummary: async () => summaries.shift() ?? { pods: [] } });
}

test("a pod's figures are its containers' sum unless the provider gives them", async () => {
  const given: PodStats = { ...pod({ uid: "b", cpu: 1 }), cpu: { time, usageCoreNanoSeconds: 99 } };
  const reader = readerOf({ pods: [pod({ uid: "a", cpu: 40, memory: 10 }), given] });

  const { pods } = await reader.read(never);

  expect(pods[0]).toMatchObject({ cpu: { time, usageCoreNanoSeconds: 40, usageNanoCores: 5 }, memory: { workingSetBytes: 10 } });
  expect(pods[1]?.cpu?.usageCoreNanoSeconds).toBe(99);
});

test("the node's figures are its pods' sum unless the provider gives them", async () => {
  const pods = [pod({ uid: "a", cpu: 40, memory: 10 }), pod({ uid: "b", cpu: 2, memory: 5 })];
  const own = { nodeName: "n1", startTime: time, cpu: { time, usageCoreNanoSeconds: 1234 } };

  const made = await readerOf({ pods }).read(never);
  const given = await readerOf({ pods, node: own }).read(never);

  expect(made.node).toMatchObject({ nodeName: "n1", cpu: { usageCoreNanoSeconds: 42 }, memory: { workingSetBytes: 15 } });
  expect(given.node).toMatchObject({ cpu: { usageCoreNanoSeconds: 1234 }, memory: { workingSetBytes: 15 } });
});

test("the node's processor time does not fall when a pod is gone or its container starts anew", async () => {
  const reader = readerOf(
    { pods: [pod({ uid: "a", cpu: 40 }), pod({ uid: "b", cpu: 10 })] },
    { pods: [pod({ uid: "b", cpu: 3, startTime: "2026-01-02T04:00:00Z" })] },
  );

  const before = await reader.read(never);
  const after = await reader.read(never);

  expect(before.node.cpu?.usageCoreNanoSeconds).toBe(50);
  expect(after.node.cpu?.usageCoreNanoSeconds).toBe(53);
});

test("a pod's processor time does not fall when a container of it starts anew, and goes on to rise with it", async () => {
  const anew = "2026-01-02T04:00:00Z";
  const reader = readerOf(
    { pods: [pod({ uid: "a", cpu: 40 })] },
    { pods: [pod({ uid: "a", cpu: 3, startTime: anew })] },
    { pods: [pod({ uid: "a", cpu: 5, startTime: anew })] },
  );
  const used = async (): Promise<unknown> => (await reader.read(never)).pods[0]?.cpu?.usageCoreNanoSeconds;

  expect([await used(), await used(), await used()]).toEqual([40, 43, 45]);
});

test("a pod's own counter counts, and does not fall where the provider cannot give it once", async () => {
  const own = (cpu: number, usage: number): PodStats => ({ ...pod({ uid: "a", cpu }), cpu: { time, usageCoreNanoSeconds: usage } });
  const reader = readerOf({ pods: [own(40, 50)] }, { pods: [pod({ uid: "a", cpu: 41 })] }, { pods: [own(60, 70)] });
  const used = async (): Promise<unknown> => (await reader.read(never)).pods[0]?.cpu?.usageCoreNanoSeconds;

  expect([await used(), await used(), await used()]).toEqual([50, 50, 70]);
});

test("a container or pod that was not measured once is counted only once", async () => {
  const both = { pods: [pod({ uid: "a", cpu: 40 }), pod({ uid: "b", cpu: 10 })] };
  const reader = readerOf(both, { pods: [] }, { pods: [{ ...pod({ uid: "a", cpu: 1 }), containers: [] }] }, both);
  const used = async (): Promise<unknown> => (await reader.read(never)).node.cpu?.usageCoreNanoSeconds;

  expect([await used(), await used(), await used(), await used()]).toEqual([50, 50, 50, 50]);
});

test("a node whose pods cannot be measured has no figures instead of 0, not even those of before", async () => {
  const incomplete = "no source";
  const reader = readerOf({ pods: [], incomplete }, { pods: [pod({ uid: "a", cpu: 40 })] }, { pods: [], incomplete });

  const [first, measured, last] = [await reader.read(never), await reader.read(never), await reader.read(never)];

  expect([first.node.cpu, first.node.memory]).toEqual([undefined, undefined]);
  expect(measured.node.cpu?.usageCoreNanoSeconds).toBe(40);
  expect([last.node.cpu, last.node.memory]).toEqual([undefined, undefined]);
});

test("what a pod used stays in the node's processor time when the pod is long gone", async () => {
  const clock = new VirtualClock();
  const summaries = [{ pods: [pod({ uid: "a", cpu: 40 })] }];
  const reader = new NodeStatsReader({ nodeName: "n1", clock, getStatsSummary: async () => summaries.shift() ?? { pods: [] } });
  await reader.read(never);
  await clock.advance(600_000);

  const used = [];
  for (let turn = 0; turn < 2; turn++) used.push((await reader.read(never)).node.cpu?.usageCoreNanoSeconds);

  expect(used).toEqual([40, 40]);
});

test("a counter that falls though its container did not start anew is held", async () => {
  const reader = readerOf({ pods: [pod({ uid: "a", cpu: 40 })] }, { pods: [pod({ uid: "a", cpu: 39 })] });
  await reader.read(never);

  const { pods } = await reader.read(never);

  expect(pods[0]?.containers[0]?.cpu?.usageCoreNanoSeconds).toBe(40);
});

test("those who ask at the same time share a call, and one who goes away does not end it", async () => {
  const gate = Promise.withResolvers<StatsSummary>();
  const signals: AbortSignal[] = [];
  const getStatsSummary = (signal: AbortSignal): Promise<StatsSummary> => {
    signals.push(signal);
    return gate.promise;
  };
  const reader = new NodeStatsReader({ nodeName: "n1", clock: new VirtualClock(), getStatsSummary });
  const leaving = new AbortController();
  const first = reader.read(leaving.signal);
  const second = reader.read(never);

  leaving.abort(new Error("gone"));
  await expect(first).rejects.toThrow("gone");
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  gate.resolve({ pods: [] });

  await expect(second).resolves.toMatchObject({ pods: [] });
});

test("the call is ended when the last one has gone away, and the next one makes another", async () => {
  const signals: AbortSignal[] = [];
  const getStatsSummary = (signal: AbortSignal): Promise<StatsSummary> => {
    signals.push(signal);
    return signals.length === 1 ? new Promise(() => {}) : Promise.resolve({ pods: [] });
  };
  const reader = new NodeStatsReader({ nodeName: "n1", clock: new VirtualClock(), getStatsSummary });
  const leaving = new AbortController();
  const first = reader.read(leaving.signal);
  leaving.abort(new Error("gone"));
  await expect(first).rejects.toThrow("gone");

  await reader.read(never);

  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
});

test("the provider's error is passed on", async () => {
  const failing = { nodeName: "n1", clock: new VirtualClock(), getStatsSummary: () => Promise.reject(new Error("away")) };

  await expect(new NodeStatsReader(failing).read(never)).rejects.toThrow("away");
});

test("only processor and memory are left where only these are asked for", async () => {
  const summary = cpuAndMemoryOnly(await readerOf({ pods: [pod({ uid: "a", cpu: 40 })] }).read(never));

  expect(Object.keys(summary.pods[0]?.containers[0] ?? {})).toEqual(["name", "startTime", "cpu", "memory"]);
  expect(Object.keys(summary.node)).toEqual(["nodeName", "startTime", "cpu", "memory"]);
});

test("a node whose pods nobody measures has no figures, and one without pods uses nothing", async () => {
  const { cpu: _cpu, memory: _memory, ...unmeasured } = pod({ uid: "a", cpu: 1 });
  const bare: PodStats = { ...unmeasured, containers: [{ name: "main", startTime: time }] };
  const reader = readerOf({ pods: [bare] }, { pods: [] }, { pods: [pod({ uid: "b", cpu: 7 })] }, { pods: [bare] });

  const first = await reader.read(never);
  expect([first.node.cpu, first.node.memory]).toEqual([undefined, undefined]);
  expect((await reader.read(never)).node).toMatchObject({ cpu: { usageCoreNanoSeconds: 0 }, memory: { workingSetBytes: 0 } });
  expect((await reader.read(never)).node).toMatchObject({ cpu: { usageCoreNanoSeconds: 7 }, memory: { workingSetBytes: 1_000 } });
  // What was counted stays counted.
  const last = await reader.read(never);
  expect([last.node.cpu?.usageCoreNanoSeconds, last.node.memory]).toEqual([7, undefined]);
});

test("what only cAdvisor shows is no part of a kubelet's summary", async () => {
  const cgroup = { time, path: "/vkpods/poda" };
  const eth0 = { name: "eth0", rxBytes: 1, rxErrors: 2, txBytes: 3, txErrors: 4 };
  const packets = { rxPackets: 5, rxDropped: 6, txPackets: 7, txDropped: 8 };
  const { containers, ...rest } = pod({ uid: "a", cpu: 40 });
  const network = { time, ...eth0, ...packets, interfaces: [{ ...eth0, ...packets }] };
  const measured = { ...rest, network, cgroup, containers: containers.map((container) => ({ ...container, cgroup })) };
  const node = { nodeName: "n1", startTime: time, network: { time, ...eth0, ...packets } };

  const summary = kubeletSummary(await readerOf({ node, pods: [measured], incomplete: "late" }).read(never));

  expect(Object.keys(summary)).toEqual(["node", "pods"]);
  expect(summary.node.network).toEqual({ time, ...eth0 });
  expect(summary.pods[0]?.network).toEqual({ time, ...eth0, interfaces: [eth0] });
  expect(JSON.stringify(summary)).not.toContain("cgroup");
});
