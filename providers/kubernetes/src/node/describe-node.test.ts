import type { NodeDescription } from "@virtual-kubelet/core";
import { readResources } from "@virtual-kubelet/kubernetes";
import { describe, expect, test } from "vitest";
import { configOf, farNode, quota, ready } from "../test-support/far-nodes.ts";
import { capacityProblem, describeNode, type FarFacts } from "./describe-node.ts";

const unknown: FarFacts = { nodes: undefined, others: undefined, quotas: undefined, namespace: "vk" };

function described(facts: Partial<FarFacts>, config: object = {}): NodeDescription {
  return describeNode({ ...unknown, ...facts }, configOf(config));
}

function condition(facts: Partial<FarFacts>, config: object = {}): string {
  const { conditions = [] } = described(facts, config);
  return conditions.map(({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`).join("\n");
}

const cordoned = farNode("cordoned", { spec: { unschedulable: true } });
const broken = farNode("broken", { status: { conditions: [ready("False", "disk died")] } });

describe("one node for all far nodes", () => {
  test("has the sum of those that take pods, with extended resources", () => {
    const gpu = farNode("gpu", {
      status: {
        capacity: { cpu: "8", memory: "16Gi", pods: "110", "nvidia.com/gpu": "2" },
        allocatable: { cpu: "8", memory: "15Gi", pods: "110", "nvidia.com/gpu": "1" },
      },
    });
    const { capacity, allocatable } = described({ nodes: [farNode("a"), gpuReady(gpu), cordoned, broken] });

    expect(capacity).toEqual({ cpu: "12", memory: "24Gi", pods: "220", "ephemeral-storage": "100Gi", "nvidia.com/gpu": "2" });
    expect(allocatable).toMatchObject({ cpu: "11500m", memory: "23Gi", "nvidia.com/gpu": "1" });
  });

  test("says how many take pods, and names the others with their problems", () => {
    expect(condition({ nodes: [farNode("a"), cordoned, broken] })).toBe(
      "virtual-kubelet.io/FarNodes True FarNodesReady: 1 of 3 selected far nodes take pods; 1 not ready: broken (disk died); 1 cordoned: cordoned",
    );
    expect(condition({ nodes: [broken] })).toContain("False NoFarNodeReady: 0 of 1");
  });

  test("names only some of many nodes in trouble", () => {
    const nodes = Array.from({ length: 8 }, (_, index) => farNode(`n${index}`, { spec: { unschedulable: true } }));

    expect(condition({ nodes })).toMatch(/8 cordoned: n0, n1, n2, n3, n4 and 3 more$/);
  });

  test("keeps a resource at zero while the only node that has it is not ready", () => {
    const gpu = farNode("gpu", { status: { conditions: [ready("False")], capacity: { "nvidia.com/gpu": "2" } } });

    expect(described({ nodes: [farNode("a"), gpu] }).capacity).toMatchObject({ cpu: "4", "nvidia.com/gpu": "0" });
  });

  test("offers what pods of others leave, of each far node separately", () => {
    const others = new Map([["a", readResources({ cpu: "1", memory: "100Gi", pods: "10" })]]);
    const { capacity, allocatable } = described({ nodes: [farNode("a"), farNode("b")], others });

    expect(capacity).toMatchObject({ cpu: "8", pods: "220" });
    expect(allocatable).toMatchObject({ cpu: "6", memory: "8Gi", pods: "210" });
  });

  test("says that others are not counted if they should be", () => {
    expect(condition({ nodes: [farNode("a")] }, { node: { others: "subtract" } })).toContain("what others request is not known");
    expect(condition({ nodes: [farNode("a")], others: new Map() }, { node: { others: "subtract" } })).not.toContain("not known");
  });

  test("says how large a pod can be, because it runs on one far node", () => {
    const small = farNode("small", { status: { conditions: [ready("True")], allocatable: { cpu: "2", memory: "64Gi" } } });

    expect(described({ nodes: [farNode("a"), small] }).annotations).toMatchObject({
      "virtual-kubelet.io/largest-far-node": "cpu=3500m,memory=64Gi",
    });
  });

  test("says why it selects no far node", () => {
    const selector = { scheduling: { nodeSelector: { zone: "a" } } };
    const tainted = farNode("gpu", { labels: { zone: "a" }, spec: { taints: [{ key: "gpu", effect: "NoSchedule" }] } });

    expect(condition({ nodes: [farNode("a")] }, selector)).toContain(
      "False NoFarNodeSelected: the far cluster has no node with the labels zone=a of scheduling.nodeSelector",
    );
    expect(condition({ nodes: [tainted] }, selector)).toContain(
      "scheduling.tolerations do not tolerate the taints of the 1 matching far nodes: gpu:NoSchedule",
    );
    expect(described({ nodes: [] }).capacity).toEqual({ cpu: "0", memory: "0", pods: "0", "ephemeral-storage": "0" });
  });

  test("has none of the far nodes' addresses and taints", () => {
    const { addresses, taints } = described({ nodes: [farNode("a")] });

    expect([addresses, taints]).toEqual([undefined, undefined]);
  });
});

describe("labels and versions", () => {
  const machine = (name: string, zone: string, info: object): ReturnType<typeof farNode> =>
    farNode(name, {
      labels: { "topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": "eu", type: "big", team: "x" },
      status: { conditions: [ready("True")], nodeInfo: info as never },
    });
  const info = {
    architecture: "amd64",
    operatingSystem: "linux",
    containerRuntimeVersion: "containerd://2.1.0",
    kubeletVersion: "v1.36.3",
  };

  test("are those on which all selected far nodes agree", () => {
    const nodes = [machine("a", "one", info), machine("b", "two", { ...info, containerRuntimeVersion: "cri-o://1.34" })];

    expect(described({ nodes })).toMatchObject({
      labels: { "topology.kubernetes.io/region": "eu", "kubernetes.io/arch": "amd64" },
      operatingSystem: "linux",
      architecture: "amd64",
      containerRuntimeVersion: undefined,
      annotations: { "virtual-kubelet.io/far-kubelet-versions": "v1.36.3=2" },
    });
  });

  test("are chosen by pattern, but never name or kind of the virtual node", () => {
    const { labels } = described({ nodes: [machine("a", "one", info)] }, { node: { labels: ["*"] } });

    expect(labels).toEqual({
      "topology.kubernetes.io/zone": "one",
      "topology.kubernetes.io/region": "eu",
      "kubernetes.io/arch": "amd64",
      team: "x",
    });
  });

  test("have the most frequent architecture, and an annotation with all", () => {
    const arm = { ...info, architecture: "arm64" };
    const nodes = [machine("a", "one", info), machine("b", "one", arm), machine("c", "one", arm)];

    expect(described({ nodes })).toMatchObject({
      architecture: "arm64",
      annotations: { "virtual-kubelet.io/far-architectures": "arm64=2,amd64=1" },
    });
  });

  test("name only features that every far node declares", () => {
    const withFeatures = (name: string, declaredFeatures: string[]): ReturnType<typeof farNode> =>
      farNode(name, { status: { conditions: [ready("True")], declaredFeatures } });

    expect(described({ nodes: [withFeatures("a", ["A", "B"]), withFeatures("b", ["B", "C"])] }).declaredFeatures).toEqual(["B"]);
    expect(described({ nodes: [withFeatures("a", ["A"]), farNode("b")] }).declaredFeatures).toBeUndefined();
  });
});

describe("capacity without far nodes", () => {
  const full = quota("q", { "requests.cpu": "10", "requests.memory": "20Gi", pods: "50" });

  test("is that of the quotas, and what they do not limit but pods can do without is zero", () => {
    expect(described({ quotas: [full] }).capacity).toEqual({ cpu: "10", memory: "20Gi", pods: "50", "ephemeral-storage": "0" });
    expect(condition({ quotas: [full] })).toContain("Unknown FarNodesNotListed");
  });

  test("is that of the quotas if they are configured, even if far nodes may be listed", () => {
    expect(described({ nodes: [farNode("a")], quotas: [full] }, { node: { capacity: "quota" } }).capacity).toMatchObject({ cpu: "10" });
  });

  test("is zero, not made up, and the condition says what is missing and what to do", () => {
    const quotas = [quota("q", { "requests.cpu": "10" }), quota("jobs", { pods: "9" }, { scopes: ["Terminating"] })];

    expect(described({ quotas }).capacity).toEqual({ cpu: "10", memory: "0", pods: "0", "ephemeral-storage": "0" });
    expect(condition({ quotas })).toBe(
      "virtual-kubelet.io/FarNodes False CapacityUnknown: the capacity for memory, pods is not known: the far nodes may not be listed, and the " +
        "quotas of namespace vk do not limit it (not counted: jobs: it limits only pods with activeDeadlineSeconds); " +
        'grant the rights that virtual-kubelet manifests far prints, or set node.capacity, such as {"memory":"256Gi","pods":"500"}',
    );
  });

  test.for([
    [{}, {}, "the far nodes may not be listed, and the quotas of namespace vk may not be listed"],
    [{ namespace: undefined }, {}, "the far nodes may not be listed, and quotas count only with namespaces.mode one"],
    [{ quotas: [] }, { node: { capacity: "nodes" } }, "cpu, memory, pods is not known: the far nodes may not be listed"],
    [{ nodes: [farNode("a")] }, { node: { capacity: "quota" } }, "is not known: the quotas of namespace vk may not be listed"],
  ] as const)("is unknown, with the reason: %#", ([facts, config, reason]) => {
    expect(capacityProblem({ ...unknown, ...facts }, configOf(config))).toContain(reason);
  });

  test("is the configured one, which takes precedence over what was found", () => {
    const config = { node: { capacity: { cpu: "3", memory: "1Gi", pods: "5", "example.com/licence": "2" } } };

    expect(described({}, config).capacity).toEqual({
      cpu: "3",
      memory: "1Gi",
      pods: "5",
      "ephemeral-storage": "0",
      "example.com/licence": "2",
    });
    expect(described({ nodes: [farNode("a")] }, { node: { capacity: { pods: "5" } } })).toMatchObject({
      capacity: { cpu: "4", pods: "5" },
      allocatable: { cpu: "3500m", pods: "5" },
    });
    expect(capacityProblem(unknown, configOf(config))).toBeUndefined();
  });
});

describe("one node for one far node", () => {
  const bound = { scheduling: { farNode: "a", tolerations: [{ key: "spot", operator: "Exists" }] } };
  const pressure = { type: "MemoryPressure", status: "True", reason: "KubeletHasInsufficientMemory", message: "too little" };
  const taints = [
    { key: "gpu", value: "yes", effect: "NoSchedule" },
    { key: "spot", effect: "NoSchedule" },
    { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" },
    { key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule" },
  ];
  const far = farNode("a", {
    spec: { unschedulable: true, taints },
    status: { conditions: [ready("False", "stopped"), pressure], capacity: { cpu: "4", memory: "1Gi", pods: "9" } },
  });
  const description = described({ nodes: [far, farNode("b")] }, bound);

  test("mirrors its conditions instead of counting nodes", () => {
    expect(description.conditions).toEqual([pressure]);
  });

  test("mirrors taints that the configuration does not tolerate, and a cordon as a taint of its own", () => {
    expect(description.taints).toEqual([
      { key: "gpu", value: "yes", effect: "NoSchedule" },
      { key: "virtual-kubelet.io/far-node-cordoned", effect: "NoSchedule" },
    ]);
  });

  test("keeps its capacity, because taint and readiness already keep pods away", () => {
    expect(description.capacity).toMatchObject({ cpu: "4", pods: "9" });
  });

  test("has nothing when the far node is gone", () => {
    const gone = described({ nodes: [farNode("b")] }, bound);

    expect(gone.capacity).toMatchObject({ cpu: "0", pods: "0" });
    expect(gone.conditions?.[0]?.message).toBe("the far cluster has no node a");
  });
});

function gpuReady(node: ReturnType<typeof farNode>): ReturnType<typeof farNode> {
  return { ...node, status: { ...node.status, conditions: [ready("True")] } };
}
