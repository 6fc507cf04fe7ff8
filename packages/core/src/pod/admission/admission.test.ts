import type { Container, Node, Pod } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import { admitPod, hindersResize, type Admission } from "./admission.ts";
import { NodeUsage } from "./node-usage.ts";

let count = 0;

function newNode(overrides: { labels?: Record<string, string>; spec?: Node["spec"]; allocatable?: Record<string, string> } = {}): Node {
  return {
    metadata: { name: "vk", labels: { "kubernetes.io/os": "linux", zone: "a", size: "10", ...overrides.labels } },
    spec: overrides.spec ?? {},
    status: {
      allocatable: { pods: "110", cpu: "4", memory: "8Gi", "ephemeral-storage": "100G", "nvidia.com/gpu": "2", ...overrides.allocatable },
    },
  };
}

function newPod(spec: Partial<NonNullable<Pod["spec"]>> = {}, metadata: Pod["metadata"] = {}): Pod {
  return {
    metadata: { name: "web", uid: `uid-${count++}`, ...metadata },
    spec: { nodeName: "vk", containers: [{ name: "app" }], ...spec },
  };
}

function asking(requests: Record<string, string>, more: Partial<Container> = {}): Container {
  return { name: "app", resources: { requests }, ...more };
}

function admit(pod: Pod, node: Node = newNode(), others: readonly Pod[] = []): Admission {
  const usage = new NodeUsage();
  for (const other of others) usage.add(other);
  return admitPod(pod, { node, usage });
}

function refusal(reason: string, message: string): Admission {
  return { admitted: false, reason, message: `Pod was rejected: ${message}` };
}

test("a pod that fits is admitted", () => {
  expect(admit(newPod({ containers: [asking({ cpu: "4", memory: "8Gi", "nvidia.com/gpu": "2" })] }))).toEqual({ admitted: true });
});

describe("resources", () => {
  test("one pod too many is refused in a kubelet's words", () => {
    const others = Array.from({ length: 110 }, () => newPod());

    expect(admit(newPod(), newNode(), others)).toEqual(
      refusal("OutOfpods", "Node didn't have enough resource: pods, requested: 1, used: 110, capacity: 110"),
    );
  });

  test.each([
    ["cpu", "3501m", "OutOfcpu", "cpu, requested: 3501, used: 500, capacity: 4000"],
    ["memory", "7.5Gi", "OutOfmemory", "memory, requested: 8053063680, used: 1073741824, capacity: 8589934592"],
    ["ephemeral-storage", "101G", "OutOfephemeral-storage", "ephemeral-storage, requested: 101000000000, used: 0, capacity: 100000000000"],
    ["nvidia.com/gpu", "2", "OutOfnvidia.com/gpu", "nvidia.com/gpu, requested: 2, used: 1, capacity: 2"],
    ["hugepages-2Mi", "2Mi", "OutOfhugepages-2Mi", "hugepages-2Mi, requested: 2097152, used: 0, capacity: 0"],
  ])("too much %s is refused", (resource, amount, reason, message) => {
    const other = newPod({ containers: [asking({ cpu: "500m", memory: "1Gi", "nvidia.com/gpu": "1" })] });

    expect(admit(newPod({ containers: [asking({ [resource]: amount })] }), newNode(), [other])).toEqual(
      refusal(reason, `Node didn't have enough resource: ${message}`),
    );
  });

  test("an extended resource the node does not know is left to the cluster", () => {
    expect(admit(newPod({ containers: [asking({ "example.com/licence": "1" })] }))).toEqual({ admitted: true });
  });

  test("pods that have ended use nothing, and a pod does not stand in its own way", () => {
    const pod = newPod({ containers: [asking({ cpu: "4" })] });
    const ended = { ...newPod({ containers: [asking({ cpu: "4" })] }), status: { phase: "Succeeded" } };

    expect(admit(pod, newNode({ allocatable: { pods: "1" } }), [ended, pod])).toEqual({ admitted: true });
  });

  test("init containers count by their peak, sidecars all the time, and overhead on top", () => {
    const init = [asking({ cpu: "1" }, { name: "side", restartPolicy: "Always" }), asking({ cpu: "3" }, { name: "setup" })];
    const pod = newPod({ initContainers: init, containers: [asking({ cpu: "1" })], overhead: { cpu: "100m" } });

    expect(admit(pod)).toEqual(refusal("OutOfcpu", "Node didn't have enough resource: cpu, requested: 4100, used: 0, capacity: 4000"));
  });

  test("what a pod asks for as a whole takes the place of its containers' sum", () => {
    expect(admit(newPod({ containers: [asking({ cpu: "9" })], resources: { requests: { cpu: "1" } } }))).toEqual({ admitted: true });
  });

  test("an unreadable quantity is an unexpected error, not a crash", () => {
    expect(admit(newPod({ containers: [asking({ cpu: "lots" })] }))).toMatchObject({
      reason: "UnexpectedAdmissionError",
      message: expect.stringContaining('read quantity "lots"'),
    });
  });
});

describe("operating system", () => {
  test("a pod for another one is refused by its field, or by its label", () => {
    expect(admit(newPod({ os: { name: "windows" } }))).toEqual(
      refusal("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"),
    );
    expect(admit(newPod({}, { labels: { "kubernetes.io/os": "windows" } }))).toEqual(
      refusal("PodOSSelectorNodeLabelDoesNotMatch", "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"),
    );
  });

  test("a pod for the node's own is taken", () => {
    expect(admit(newPod({ os: { name: "windows" } }), newNode({ labels: { "kubernetes.io/os": "windows" } }))).toEqual({ admitted: true });
  });
});

describe("node affinity", () => {
  const refused = refusal("NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector");
  const required = (...nodeSelectorTerms: object[]): Pod =>
    newPod({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } });
  const expression = (key: string, operator: string, ...values: string[]): object => ({ matchExpressions: [{ key, operator, values }] });

  test("a node selector must match in full", () => {
    expect(admit(newPod({ nodeSelector: { zone: "a" } }))).toEqual({ admitted: true });
    expect(admit(newPod({ nodeSelector: { zone: "a", disk: "ssd" } }))).toEqual(refused);
  });

  test.each([
    ["In", expression("zone", "In", "b", "a"), expression("zone", "In", "b")],
    ["NotIn", expression("zone", "NotIn", "b"), expression("zone", "NotIn", "a", "b")],
    ["NotIn, label absent", expression("none", "NotIn", "b"), expression("none", "NotIn")],
    ["Exists", expression("zone", "Exists"), expression("constructor", "Exists")],
    ["DoesNotExist", expression("none", "DoesNotExist"), expression("zone", "DoesNotExist")],
    ["Gt", expression("size", "Gt", "9"), expression("size", "Gt", "10")],
    ["Lt", expression("size", "Lt", "11"), expression("zone", "Lt", "11")],
    [
      "matchFields",
      { matchFields: [{ key: "metadata.name", operator: "In", values: ["vk"] }] },
      { matchFields: [{ key: "metadata.name", operator: "NotIn", values: ["vk"] }] },
    ],
    ["an operator nobody knows", expression("zone", "Exists"), expression("zone", "Like", "a")],
  ])("%s", (_, matching, differing) => {
    expect(admit(required(matching))).toEqual({ admitted: true });
    expect(admit(required(differing))).toEqual(refused);
  });

  test("one term of several is enough, an empty one matches nothing", () => {
    expect(admit(required(expression("zone", "In", "b"), expression("zone", "In", "a")))).toEqual({ admitted: true });
    expect(admit(required({}))).toEqual(refused);
    expect(admit(required())).toEqual(refused);
  });
});

describe("taints", () => {
  const node = newNode({
    spec: {
      taints: [
        { key: "down", value: "yes", effect: "NoExecute" },
        { key: "vk", effect: "NoSchedule" },
      ],
    },
  });

  test("a NoExecute taint refuses pods that do not tolerate it; NoSchedule is the scheduler's", () => {
    expect(admit(newPod(), node)).toEqual(
      refusal("TaintToleration", "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"),
    );
  });

  test.each([{ operator: "Exists" }, { key: "down", operator: "Exists", effect: "NoExecute" }, { key: "down", value: "yes" }])(
    "%j tolerates it",
    (toleration) => {
      expect(admit(newPod({ tolerations: [toleration] }), node)).toEqual({ admitted: true });
    },
  );

  test.each([
    { key: "down", value: "no" },
    { key: "down", operator: "Exists", effect: "NoSchedule" },
    { key: "up", operator: "Exists" },
  ])("%j does not", (toleration) => {
    expect(admit(newPod({ tolerations: [toleration] }), node)).toMatchObject({ reason: "TaintToleration" });
  });
});

test("NodeUsage counts a changed pod anew, and forgets what is removed", () => {
  const usage = new NodeUsage();
  const pod = newPod({ containers: [asking({ cpu: "1" })] });

  usage.add(pod);
  usage.add({ ...pod, spec: { containers: [asking({ cpu: "2" })] } });
  expect([usage.podsBeside("another"), usage.usedBeside("another", "cpu")]).toEqual([1, 2000n]);

  usage.remove(pod.metadata?.uid ?? "");
  usage.remove("unknown");
  expect([usage.podsBeside("another"), usage.usedBeside("another", "cpu")]).toEqual([0, 0n]);
});

test("NodeUsage counts pods that request the same each for itself", () => {
  const usage = new NodeUsage();
  const pods = ["u1", "u2", "u3"].map((uid) => ({ ...newPod({ containers: [asking({ cpu: "1" })] }), metadata: { uid } }));
  for (const each of pods) usage.add(each);
  const raised = { metadata: { uid: "u2" }, spec: { containers: [asking({ cpu: "3" })] } };

  usage.raise(raised);
  usage.remove("u1");

  expect([usage.usedBeside("another", "cpu"), usage.usedBeside("u2", "cpu"), usage.podsBeside("u3")]).toEqual([4000n, 1000n, 1]);
});

describe("what a node says of itself", () => {
  test("is its capacity where it says nothing of what can be allocated, and nothing where it says neither", () => {
    const pod = newPod({ containers: [asking({ cpu: "1" })] });

    expect(admit(pod, { metadata: { name: "vk" }, status: { capacity: { pods: "1", cpu: "1" } } })).toEqual({ admitted: true });
    expect(admit(pod, { metadata: { name: "vk" } })).toMatchObject({ reason: "OutOfpods" });
  });

  test("is its operating system by its label, else by its information, else Linux", () => {
    const windows = newPod({ os: { name: "windows" } });
    const linux = newPod({ os: { name: "linux" } });
    const status = { allocatable: { pods: "9" }, nodeInfo: { operatingSystem: "windows" } as never };

    expect(admit(windows, { metadata: { name: "vk" }, status })).toEqual({ admitted: true });
    expect(admit(windows, { metadata: { name: "vk", labels: { "kubernetes.io/os": "linux" } }, status })).toMatchObject({
      reason: "PodOSNotSupported",
    });
    expect(admit(linux, { metadata: { name: "vk" }, status: { allocatable: { pods: "9" } } })).toEqual({ admitted: true });
    expect(admit(newPod({}, { labels: { "kubernetes.io/os": "linux" } }))).toEqual({ admitted: true });
  });

  test("is its name, which a pod must be bound to", () => {
    expect(admit(newPod({ nodeName: "other" }))).toEqual(
      refusal("NodeName", "Predicate NodeName failed: node(s) didn't match the requested node name"),
    );
    expect(admit(newPod({ nodeName: undefined }))).toEqual({ admitted: true });
  });
});

test.each([
  ["attachable-volumes-x", "OutOfattachable-volumes-x"],
  ["example.kubernetes.io/x", "OutOfexample.kubernetes.io/x"],
  ["kubernetes.io/x", "OutOfkubernetes.io/x"],
])("the resource %s counts also where a node does not know it", (name, reason) => {
  expect(admit(newPod({ containers: [asking({ [name]: "1" })] }))).toMatchObject({ reason });
});

test.each(["pods", "storage", "example.com/kubernetes.io"])("the resource %s does not", (name) => {
  expect(admit(newPod({ containers: [asking({ [name]: "1" })] }))).toEqual({ admitted: true });
});

test("exactly what is left is enough, and a request for nothing always is", () => {
  const other = newPod({ containers: [asking({ cpu: "3" })] });

  expect(admit(newPod({ containers: [asking({ cpu: "1" })] }), newNode(), [other])).toEqual({ admitted: true });
  expect(admit(newPod({ containers: [asking({ cpu: "1001m" })] }), newNode(), [other])).toMatchObject({ reason: "OutOfcpu" });
  expect(admit(newPod({ containers: [asking({ cpu: "0" })] }), newNode({ allocatable: { cpu: "0" } }), [])).toEqual({ admitted: true });
});

test("a pod whose quantities cannot be read counts as one that asks for nothing", () => {
  const usage = new NodeUsage();
  usage.add(newPod({ containers: [asking({ cpu: "lots" })] }, { uid: "a" }));

  expect([usage.podsBeside("b"), usage.podsBeside("a"), usage.usedBeside("b", "cpu")]).toEqual([1, 0, 0n]);
  usage.remove("a");
  expect(usage.podsBeside("b")).toBe(0);
});

test("a pod that asks for nothing is let in although the others use more than there is", () => {
  const other = newPod({ containers: [asking({ cpu: "3" })] });

  expect(admit(newPod({ containers: [asking({ cpu: "0" })] }), newNode({ allocatable: { cpu: "1" } }), [other])).toEqual({
    admitted: true,
  });
  expect(admit(newPod(), newNode({ allocatable: { cpu: "1" } }), [other])).toEqual({ admitted: true });
});

describe("a running pod's resize", () => {
  const usage = new NodeUsage();
  usage.add(newPod({ containers: [asking({ cpu: "1", memory: "1Gi" })] }));
  const hindrance = (requests: Record<string, string>, node = newNode()): unknown =>
    hindersResize(newPod({ containers: [asking(requests)] }), { node, usage });

  test.each([
    [{ cpu: "3", memory: "7Gi" }, undefined],
    [
      { cpu: "3001m" },
      { reason: "Deferred", message: "Node didn't have enough resource: cpu, requested: 3001, used: 1000, capacity: 4000" },
    ],
    [{ cpu: "4" }, { reason: "Deferred", message: "Node didn't have enough resource: cpu, requested: 4000, used: 1000, capacity: 4000" }],
    [{ cpu: "4001m" }, { reason: "Infeasible", message: "Node didn't have enough capacity: cpu, requested: 4001, capacity: 4000" }],
    [
      { cpu: "5", memory: "9Gi" },
      { reason: "Infeasible", message: "Node didn't have enough capacity: memory, requested: 9663676416, capacity: 8589934592" },
    ],
    [{ cpu: "much" }, { reason: "Infeasible", message: expect.stringContaining("much") }],
  ])("to %o is hindered by %o", (requests, hindered) => {
    expect(hindrance(requests)).toEqual(hindered);
  });

  test("is measured by the capacity of a node that says nothing of what is allocatable", () => {
    expect(hindrance({ cpu: "3" }, { status: { capacity: { cpu: "2", memory: "8Gi", pods: "10" } } })).toMatchObject({
      reason: "Infeasible",
    });
  });
});
