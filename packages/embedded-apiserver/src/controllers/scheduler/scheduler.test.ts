import { describe, expect, test } from "vitest";
import type { ApiObject } from "../../kinds/kind.ts";
import { nodeKind } from "../../kinds/node/node.ts";
import type { NodeSpec } from "../../kinds/node/node-fields.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import type { PodSpec } from "../../kinds/pod/pod-fields.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";
import { podUsageOf } from "./node-usage.ts";
import { podCondition } from "../shared/pod-state.ts";
import { unschedulableReasons, unschedulableMessage } from "./scheduler-filters.ts";

function createPod(world: World, name: string, spec: object = {}): void {
  world.cluster.create(podKind, {
    metadata: { name, namespace: "default" },
    spec: { containers: [{ name: "main", image: "one" }], ...spec },
  });
}

function requesting(cpu: string): object {
  return { containers: [{ name: "main", image: "one", resources: { requests: { cpu } } }] };
}

function nodeOf(world: World, name: string): string | undefined {
  return world.cluster.get(podKind, "default", name)?.["spec"].nodeName;
}

describe("scheduler", () => {
  test("binds a pod and reports it in a condition and an event", async () => {
    await using world = await startWorld();
    world.addNode("n1");

    createPod(world, "a");
    await world.settle();

    expect(nodeOf(world, "a")).toBe("n1");
    expect(podCondition(world.pods()[0]!, "PodScheduled")).toMatchObject({ status: "True" });
    expect(world.eventsOf("a")).toEqual(["Successfully assigned default/a to n1"]);
  });

  test("spreads pods over the nodes", async () => {
    await using world = await startWorld();
    world.addNode("n1");
    world.addNode("n2");

    for (const name of ["a", "b", "c", "d"]) createPod(world, name);
    await world.settle();

    const nodes = ["a", "b", "c", "d"].map((name) => nodeOf(world, name));
    expect(nodes.filter((node) => node === "n1")).toHaveLength(2);
    expect(nodes.filter((node) => node === "n2")).toHaveLength(2);
  });

  test("leaves a pod that fits nowhere unbound, reports why, and binds it when a node is added", async () => {
    await using world = await startWorld();
    createPod(world, "a");
    await world.settle();
    const alone = podCondition(world.pods()[0]!, "PodScheduled");
    world.addNode("small", { allocatable: { cpu: "1", memory: "1Gi", pods: "0" } });
    await world.settle();
    const full = podCondition(world.pods()[0]!, "PodScheduled");

    world.addNode("n1");
    await world.settle();

    expect(alone).toMatchObject({
      status: "False",
      observedGeneration: 1,
      reason: "Unschedulable",
      message: "no nodes available to schedule pods",
    });
    expect(full).toMatchObject({ message: "0/1 nodes are available: 1 Too many pods." });
    expect(nodeOf(world, "a")).toBe("n1");
    expect(world.eventsOf("a")).toContain("0/1 nodes are available: 1 Too many pods.");
  });

  test("reuses the resources of finished and deleted pods", async () => {
    await using world = await startWorld();
    world.addNode("n1", { allocatable: { cpu: "1", memory: "1Gi", pods: "10" } });
    createPod(world, "a", requesting("1"));
    await world.settle();
    createPod(world, "b", requesting("1"));
    await world.settle();
    const before = nodeOf(world, "b");

    world.setPod("a", { phase: "Succeeded" });
    await world.settle();

    expect(before).toBeUndefined();
    expect(nodeOf(world, "b")).toBe("n1");
  });

  test("uses a node again after it is uncordoned", async () => {
    await using world = await startWorld();
    world.addNode("n1", { spec: { unschedulable: true } });
    createPod(world, "a");
    await world.settle();
    const before = nodeOf(world, "a");

    world.cluster.update(nodeKind, undefined, "n1", (node) => ({ ...node, spec: { ...node["spec"], unschedulable: false } }));
    await world.settle();

    expect(before).toBeUndefined();
    expect(nodeOf(world, "a")).toBe("n1");
  });

  test.each<[string, object]>([
    ["of another scheduler", { schedulerName: "mine" }],
    ["that are gated", { schedulingGates: [{ name: "wait" }] }],
  ])("leaves pods %s alone", async (_, spec) => {
    await using world = await startWorld();
    world.addNode("n1");

    createPod(world, "a", spec);
    await world.settle();

    expect(nodeOf(world, "a")).toBeUndefined();
    expect(world.eventsOf("a")).toEqual([]);
  });

  test("does not change a pod that has a node", async () => {
    await using world = await startWorld();
    world.addNode("n1");

    createPod(world, "a", { nodeName: "other" });
    await world.settle();

    expect(nodeOf(world, "a")).toBe("other");
  });
});

describe("unschedulableReasons", () => {
  const usage = { pods: 1, nanos: new Map([["cpu", 1_000_000_000n]]), ports: [{ ip: "0.0.0.0", protocol: "TCP", port: 80 }] };
  const noTaint: NodeSpec = {};
  const node = (spec: NodeSpec): ApiObject => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n1", uid: "1", resourceVersion: "1", creationTimestamp: "", labels: { zone: "a", size: "5" } },
    spec,
    status: { allocatable: { cpu: "2", pods: "2", "example.com/gpu": "1" } },
  });
  const requiring = (...matchExpressions: { key: string; operator: string; values?: string[] }[]): Partial<PodSpec> => ({
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } } },
  });
  const asking = (requests: Record<string, string>): Partial<PodSpec> => ({ containers: [{ name: "main", resources: { requests } }] });
  const taint = { key: "k", value: "v", effect: "NoSchedule" };

  test.each<[string, Partial<PodSpec>, NodeSpec, string[]]>([
    ["an empty pod", {}, noTaint, []],
    ["a cordoned node", {}, { unschedulable: true }, ["node(s) were unschedulable"]],
    ["a cordoned node that is tolerated", { tolerations: [{ operator: "Exists" }] }, { unschedulable: true }, []],
    ["a taint", {}, { taints: [taint] }, ["node(s) had untolerated taint(s)"]],
    ["a taint that only asks", {}, { taints: [{ ...taint, effect: "PreferNoSchedule" }] }, []],
    ["a tolerated taint", { tolerations: [{ key: "k", operator: "Equal", value: "v", effect: "NoSchedule" }] }, { taints: [taint] }, []],
    [
      "a toleration of another value",
      { tolerations: [{ key: "k", value: "w" }] },
      { taints: [taint] },
      ["node(s) had untolerated taint(s)"],
    ],
    ["a node selector", { nodeSelector: { zone: "b" } }, noTaint, ["node(s) didn't match Pod's node affinity/selector"]],
    [
      "an affinity that is met",
      requiring({ key: "zone", operator: "In", values: ["a"] }, { key: "size", operator: "Gt", values: ["4"] }),
      noTaint,
      [],
    ],
    [
      "an affinity that is not met",
      requiring({ key: "zone", operator: "NotIn", values: ["a"] }),
      noTaint,
      ["node(s) didn't match Pod's node affinity/selector"],
    ],
    ["an affinity without conditions", requiring(), noTaint, ["node(s) didn't match Pod's node affinity/selector"]],
    [
      "a port that is taken",
      { containers: [{ name: "main", resources: {}, ports: [{ containerPort: 80, hostPort: 80 }] }] },
      noTaint,
      ["node(s) didn't have free ports for the requested pod ports"],
    ],
    ["a free port", { containers: [{ name: "main", resources: {}, ports: [{ containerPort: 80, hostPort: 81 }] }] }, noTaint, []],
    ["enough CPU", asking({ cpu: "1" }), noTaint, []],
    [
      "too little of two things",
      asking({ cpu: "1001m", "example.com/gpu": "2" }),
      noTaint,
      ["Insufficient cpu", "Insufficient example.com/gpu"],
    ],
  ])("of %s", (_, spec, nodeSpec, expected) => {
    const whole: PodSpec = { containers: [], ...spec };

    expect(unschedulableReasons(whole, podUsageOf(whole), node(nodeSpec), usage)).toEqual(expected);
  });

  test("of sidecars and init containers count as they run", () => {
    const spec: PodSpec = {
      containers: [{ name: "main", resources: { requests: { cpu: "500m" } } }],
      initContainers: [
        { name: "sidecar", restartPolicy: "Always", resources: { requests: { cpu: "200m" } } },
        { name: "setup", resources: { requests: { cpu: "1" } } },
      ],
    };

    expect(podUsageOf(spec).nanos.get("cpu")).toBe(1_200_000_000n);
  });

  test("are counted over all nodes", () => {
    expect(unschedulableMessage([["Insufficient cpu"], ["node(s) were unschedulable"], ["Insufficient cpu", "Too many pods"]])).toBe(
      "0/3 nodes are available: 1 Too many pods, 1 node(s) were unschedulable, 2 Insufficient cpu.",
    );
  });
});
