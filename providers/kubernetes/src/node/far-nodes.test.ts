import { expect, test } from "vitest";
import { configOf, farNode, ready } from "../test-support/far-nodes.ts";
import { foreignTaints, matchingNodes, selectFarNodes } from "./far-nodes.ts";

const { scheduling } = configOf();
const gpuTaint = { key: "nvidia.com/gpu", value: "present", effect: "NoSchedule" };

function states(nodes: Parameters<typeof selectFarNodes>[0], config = scheduling): Record<string, string> {
  return Object.fromEntries(
    selectFarNodes(nodes, config).map(({ name, state, problem }) => [name, [state, problem].filter(Boolean).join(": ")]),
  );
}

test("nodes with the selector's labels are selected, by name", () => {
  const nodes = [farNode("c", { labels: { zone: "a" } }), farNode("b", { labels: { zone: "b" } }), farNode("a", { labels: { zone: "a" } })];

  expect(Object.keys(states(nodes, { ...scheduling, nodeSelector: { zone: "a" } }))).toEqual(["a", "c"]);
});

test("a selector for a label that every object inherits selects nothing", () => {
  expect(states([farNode("a")], { ...scheduling, nodeSelector: { constructor: "Object" } })).toEqual({});
});

test("a node with a taint is selected only if the configuration tolerates it, and PreferNoSchedule keeps no node out", () => {
  const nodes = [
    farNode("gpu", { spec: { taints: [gpuTaint] } }),
    farNode("soft", { spec: { taints: [{ key: "x", effect: "PreferNoSchedule" }] } }),
  ];

  expect(Object.keys(states(nodes))).toEqual(["soft"]);
  expect(Object.keys(states(nodes, { ...scheduling, tolerations: [{ key: "nvidia.com/gpu", operator: "Exists" }] }))).toEqual([
    "gpu",
    "soft",
  ]);
});

test.for([
  ["its label", { labels: { type: "virtual-kubelet" } }],
  ["its taint", { spec: { taints: [{ key: "virtual-kubelet.io/provider", value: "kubernetes", effect: "NoSchedule" }] } }],
] as const)("a virtual node of the far cluster is left out by %s, even if everything is tolerated", ([, change]) => {
  const tolerant = { ...scheduling, tolerations: [{ operator: "Exists" as const }] };

  expect(matchingNodes([farNode("loop", structuredClone(change) as object)], tolerant)).toEqual([]);
});

test("cordoned, unready and vanishing nodes stay selected, but take no pods", () => {
  const nodes = [
    farNode("cordoned", { spec: { unschedulable: true, taints: [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }] } }),
    farNode("silent", { status: { conditions: [ready("Unknown", "Kubelet stopped posting node status.")] } }),
    farNode("new", { status: { conditions: [] } }),
    farNode("full", { spec: { taints: [{ key: "node.kubernetes.io/disk-pressure", effect: "NoSchedule" }] } }),
    farNode("busy", { spec: { taints: [{ key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule" }] } }),
  ];

  expect(states(nodes)).toEqual({
    busy: "ready",
    cordoned: "cordoned",
    full: "unready: has the taint node.kubernetes.io/disk-pressure",
    new: "unready: has not reported that it is ready",
    silent: "unready: Kubelet stopped posting node status.",
  });
});

test("a single far node is selected by name", () => {
  const nodes = [farNode("a"), farNode("b")];

  expect(Object.keys(states(nodes, { ...scheduling, farNode: "b" }))).toEqual(["b"]);
});

test("taints that say for whom a node is are told from those about its state", () => {
  const taints = [gpuTaint, { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }, { key: "soft", effect: "PreferNoSchedule" }];

  expect(foreignTaints(farNode("a", { spec: { taints } }), { tolerations: [] })).toEqual([gpuTaint]);
});
