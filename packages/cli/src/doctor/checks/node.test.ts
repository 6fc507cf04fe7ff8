import type { Lease, Node, NodeCondition } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import type { FindingStatus, Judgement } from "../finding.ts";
import { judgeAddresses, judgeConditions, judgeLease, judgeObject, judgeTaints } from "./node.ts";

const start = ["virtual-kubelet run"];
const nowMs = Date.UTC(2026, 0, 2);

const statusesOf = (judgements: readonly Judgement[]): FindingStatus[] => judgements.map(({ status }) => status);

function condition(type: string, status: string, reason = "R"): NodeCondition {
  return { type, status, reason, message: "m", lastTransitionTime: "2026-01-01T00:00:00Z" };
}

const withConditions = (...conditions: NodeCondition[]): Node => ({ status: { conditions } });

test.for<[what: string, node: Node, statuses: readonly FindingStatus[]]>([
  ["no conditions yet", {}, ["pass"]],
  ["Ready", withConditions(condition("Ready", "True")), ["pass"]],
  ["Unknown", withConditions(condition("Ready", "Unknown")), ["fail"]],
  ["NotReady", withConditions(condition("Ready", "False", "ProviderPingFailed")), ["fail"]],
  ["Ready under memory pressure", withConditions(condition("MemoryPressure", "True"), condition("Ready", "True")), ["pass", "warn"]],
  ["Ready without memory pressure", withConditions(condition("MemoryPressure", "False"), condition("Ready", "True")), ["pass"]],
  ["Ready without its back end", withConditions(condition("ProviderAvailable", "False"), condition("Ready", "True")), ["pass", "warn"]],
])("conditions: %s", ([, node, statuses]) => {
  expect(statusesOf(judgeConditions(node, start))).toEqual(statuses);
});

test("a node that nobody reports is repaired by a start, and one whose back end is away is not", () => {
  expect(judgeConditions(withConditions(condition("Ready", "Unknown")), start)[0]?.repair).toEqual(start);
  expect(judgeConditions(withConditions(condition("Ready", "False", "ProviderPingFailed")), start)[0]).toMatchObject({
    message: "NotReady since 2026-01-01T00:00:00Z: ProviderPingFailed: m",
    repair: ["# see provider.ping"],
  });
});

test.for<[what: string, object: Node | undefined, isRun: boolean, status: FindingStatus]>([
  ["missing before the first run", undefined, false, "pass"],
  ["missing while a program runs it", undefined, true, "fail"],
  ["there", { metadata: { name: "vk" } }, true, "pass"],
  ["being deleted", { metadata: { name: "vk", deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["f"] } }, true, "fail"],
])("a Node that is %s", ([, object, isRun, status]) => {
  expect(judgeObject({ name: "vk", object, isRun, start }).status).toBe(status);
});

const own = { key: "virtual-kubelet.io/provider", value: "mock", effect: "NoSchedule" };

test.for<[what: string, spec: NonNullable<Node["spec"]>, repairs: readonly string[]]>([
  ["as configured", { taints: [own] }, []],
  ["with those of the cluster", { taints: [own, { key: "node.kubernetes.io/not-ready", effect: "NoExecute" }] }, []],
  ["with the one for a missing back end", { taints: [own, { key: "virtual-kubelet.io/provider-unavailable", effect: "NoSchedule" }] }, []],
  ["without the own", {}, ["kubectl taint node vk virtual-kubelet.io/provider=mock:NoSchedule"]],
  ["with another", { taints: [own, { key: "a", value: "b", effect: "NoExecute" }] }, ["kubectl taint node vk a:NoExecute-"]],
  [
    "cordoned",
    { taints: [own, { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }], unschedulable: true },
    ["kubectl uncordon vk"],
  ],
])("taints %s", ([, spec, repairs]) => {
  const judgements = judgeTaints("vk", { spec }, [own]);

  expect(judgements.flatMap(({ repair }) => repair)).toEqual(repairs);
  expect(statusesOf(judgements)).toEqual(repairs.length === 0 ? ["pass"] : ["warn"]);
});

const reachable = (address: string, port?: number): Node => ({
  status: {
    addresses: [{ type: "InternalIP", address }],
    ...(port !== undefined && { daemonEndpoints: { kubeletEndpoint: { Port: port } } }),
  },
});

test.for<[what: string, node: Node, statuses: readonly FindingStatus[]]>([
  ["one that others reach", reachable("192.0.2.7", 10_250), ["pass"]],
  ["none", {}, ["fail"]],
  ["a loopback address", reachable("127.0.0.1", 10_250), ["warn"]],
  ["an IPv6 loopback address", reachable("::1"), ["warn"]],
  ["another port", reachable("192.0.2.7", 10_251), ["warn"]],
])("addresses: %s", ([, node, statuses]) => {
  expect(statusesOf(judgeAddresses(node, 10_250, "set"))).toEqual(statuses);
});

function leaseOf(identity: string | undefined, ageSeconds: number): Lease {
  return {
    metadata: { annotations: identity === undefined ? {} : { "virtual-kubelet.io/instance": identity } },
    spec: { leaseDurationSeconds: 40, renewTime: new Date(nowMs - ageSeconds * 1000).toISOString() },
  };
}

test.for<[what: string, situation: Partial<Parameters<typeof judgeLease>[0]>, status: FindingStatus]>([
  ["missing before the first run", {}, "pass"],
  ["missing after a run", { hasRun: true }, "fail"],
  ["missing although a process runs", { process: "7" }, "fail"],
  ["renewed by this instance", { lease: leaseOf("one", 5) }, "pass"],
  ["renewed by another", { lease: leaseOf("two", 5) }, "fail"],
  ["renewed by another while this one would stand by", { lease: leaseOf("two", 5), standby: true }, "pass"],
  ["renewed by another identity of the process here", { lease: leaseOf("two", 5), process: "7" }, "pass"],
  ["renewed by a kubelet", { lease: leaseOf(undefined, 5) }, "fail"],
  ["expired before the first run", { lease: leaseOf("two", 60) }, "pass"],
  ["expired after a run", { lease: leaseOf("one", 60), hasRun: true }, "fail"],
  ["expired although a process runs", { lease: leaseOf("one", 60), process: "7", hasRun: true }, "fail"],
  ["renewed by one of two clocks", { lease: leaseOf("one", 60), hasRun: true, times: [nowMs, nowMs - 50_000] }, "pass"],
  ["never renewed", { lease: { spec: {} }, hasRun: true }, "fail"],
])("a lease that is %s", ([, situation, status]) => {
  const plain = { name: "vk", lease: undefined, identity: "one", standby: false, process: undefined, hasRun: false, times: [nowMs], start };

  expect(judgeLease({ ...plain, ...situation }).status).toBe(status);
});
