import { describe, expect, test } from "vitest";
import type { NodeOptions } from "../virtual-node/options.ts";
import type { NodeDescription } from "../provider/node-provider.ts";
import { hostIPsOf, isNodeReady, kubernetesVersion, wantedNode, type NodeState } from "./node-object.ts";

const options: NodeOptions = { name: "vk", instance: { identity: "a" } };
const running: NodeState = { health: { kind: "up" }, answered: true, inventoryLoaded: true };
const away: NodeState = { ...running, health: { kind: "down", message: "connection refused" } };

function conditionsOf(nodeOptions: NodeOptions, state: NodeState, description = {}): Record<string, string> {
  return Object.fromEntries(
    wantedNode(nodeOptions, description, state).conditions.map(({ type, status, reason }) => [type, `${status} ${reason}`]),
  );
}

describe("wantedNode", () => {
  test("registers a node of which nobody says anything with what the scheduler and the load balancers look at", () => {
    expect(wantedNode(options, {}, running)).toMatchObject({
      labels: {
        "kubernetes.io/hostname": "vk",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/role": "agent",
        type: "virtual-kubelet",
        "node.kubernetes.io/exclude-from-external-load-balancers": "true",
      },
      taints: [],
      addresses: undefined,
      kubeletPort: 0,
      nodeInfo: { operatingSystem: "linux", architecture: "amd64", machineID: "", osImage: "", kubeProxyVersion: "" },
    });
    const { capacity, allocatable } = wantedNode(options, {}, running);
    expect(Object.keys(capacity).sort()).toEqual(["cpu", "ephemeral-storage", "memory", "pods"]);
    expect(allocatable).toEqual(capacity);
  });

  test("puts the provider's description over the defaults, and the options over both", () => {
    const description = {
      capacity: { cpu: "8", "nvidia.com/gpu": "2" },
      allocatable: { cpu: "7" },
      labels: { type: "provider", zone: "a" },
      annotations: { note: "provider" },
      operatingSystem: "windows",
      architecture: "arm64",
      addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
      providerID: "zun://1",
      containerRuntimeVersion: "docker://28",
      osImage: "An OS",
      kernelVersion: "6.1",
    } as const;

    const described = wantedNode(options, description, running);
    const configured = wantedNode(
      {
        ...options,
        capacity: { cpu: "4" },
        labels: { type: "mine" },
        annotations: { note: "mine" },
        operatingSystem: "linux",
        architecture: "s390x",
        address: "10.0.0.9",
        kubeletPort: 0,
        kubeletVersion: "v1.40.0",
      },
      description,
      running,
    );

    expect(described.capacity).toMatchObject({ cpu: "8", pods: "110", "nvidia.com/gpu": "2" });
    expect(described.allocatable).toMatchObject({ cpu: "7", pods: "110", "nvidia.com/gpu": "2" });
    expect(described.labels).toMatchObject({ type: "provider", zone: "a", "kubernetes.io/os": "windows", "kubernetes.io/arch": "arm64" });
    expect(described.providerID).toBe("zun://1");
    expect(described.nodeInfo).toMatchObject({
      operatingSystem: "windows",
      containerRuntimeVersion: "docker://28",
      osImage: "An OS",
      kernelVersion: "6.1",
    });
    expect(configured.capacity["cpu"]).toBe("4");
    expect(configured.allocatable["cpu"]).toBe("4");
    expect(configured.labels).toMatchObject({ type: "mine", zone: "a", "kubernetes.io/os": "linux", "kubernetes.io/arch": "s390x" });
    expect(configured.annotations).toEqual({ note: "mine" });
    expect(configured.addresses).toEqual([{ type: "InternalIP", address: "10.0.0.9" }]);
    expect(configured.kubeletPort).toBe(0);
    expect(configured.nodeInfo["kubeletVersion"]).toBe("v1.40.0");
  });

  test("shows ids of the machine, and its largest images with a few names of each", () => {
    const images = Array.from({ length: 60 }, (_, index) => ({
      names: Array.from({ length: 7 }, (__, name) => `app-${index}:${name}`),
      sizeBytes: index,
    }));

    const { nodeInfo, images: shown } = wantedNode(options, { images, machineID: "m", systemUUID: "s", bootID: "b" }, running);

    expect(nodeInfo).toMatchObject({ machineID: "m", systemUUID: "s", bootID: "b" });
    expect(shown).toHaveLength(50);
    expect(shown?.[0]).toEqual({ names: [0, 1, 2, 3, 4].map((name) => `app-59:${name}`), sizeBytes: 59 });
    expect(wantedNode(options, {}, running).images).toBeUndefined();
  });

  test("names an address once: the API server refuses it twice", () => {
    const address = { type: "InternalIP", address: "10.0.0.1" };

    const { addresses } = wantedNode(
      options,
      { addresses: [address, { type: "InternalIP", address: "10.0.0.2" }, { ...address }] },
      running,
    );

    expect(addresses).toEqual([address, { type: "InternalIP", address: "10.0.0.2" }]);
  });

  test("has the default address only where neither its options nor the provider say one", () => {
    const addressesOf = (given: Partial<NodeOptions>, description: NodeDescription = {}) =>
      wantedNode({ ...options, defaultAddress: "10.0.0.1", ...given }, description, running).addresses;

    expect(addressesOf({})).toEqual([{ type: "InternalIP", address: "10.0.0.1" }]);
    expect(addressesOf({}, { addresses: [] })).toEqual([{ type: "InternalIP", address: "10.0.0.1" }]);
    expect(addressesOf({ address: "10.0.0.2" })).toEqual([{ type: "InternalIP", address: "10.0.0.2" }]);
    expect(addressesOf({ address: "10.0.0.2", secondaryAddress: "fd00::2" })).toEqual([
      { type: "InternalIP", address: "10.0.0.2" },
      { type: "InternalIP", address: "fd00::2" },
    ]);
    expect(addressesOf({}, { addresses: [{ type: "ExternalIP", address: "10.0.0.3" }] })).toEqual([
      { type: "ExternalIP", address: "10.0.0.3" },
    ]);
  });

  test("declares features in order, and each once: the API server refuses them otherwise", () => {
    expect(wantedNode({ ...options, declaredFeatures: ["B", "A", "B"] }, {}, running).declaredFeatures).toEqual(["A", "B"]);
    expect(wantedNode(options, {}, running).declaredFeatures).toEqual([]);
    expect(wantedNode({ ...options, declaredFeatures: ["B"] }, { declaredFeatures: ["A"] }, running).declaredFeatures).toEqual(["A", "B"]);
  });

  test("has no hostname label where the name is too long for one", () => {
    const { labels } = wantedNode({ ...options, name: "a".repeat(64) }, {}, running);

    expect(labels).not.toHaveProperty("kubernetes.io/hostname");
    expect(wantedNode({ ...options, name: "a".repeat(63) }, {}, running).labels).toMatchObject({
      "kubernetes.io/hostname": "a".repeat(63),
    });
  });

  test("gives a healthy node a kubelet's conditions, Ready last", () => {
    expect(conditionsOf(options, running)).toEqual({
      MemoryPressure: "False KubeletHasSufficientMemory",
      DiskPressure: "False KubeletHasNoDiskPressure",
      PIDPressure: "False KubeletHasSufficientPID",
      NetworkUnavailable: "False RouteCreated",
      Ready: "True KubeletReady",
    });
    expect(
      wantedNode(options, { conditions: [{ type: "Extra", status: "True", reason: "R", message: "" }] }, running).conditions.at(-1)?.type,
    ).toBe("Ready");
  });

  test("takes the provider's conditions in place of the defaults, but never its Ready", () => {
    const conditions = [
      { type: "DiskPressure", status: "True", reason: "Full", message: "quota" },
      { type: "Ready", status: "True", reason: "Lies", message: "" },
    ] as const;

    expect(conditionsOf(options, away, { conditions })).toMatchObject({ DiskPressure: "True Full", Ready: "False ProviderPingFailed" });
  });

  const condition: NodeOptions = { ...options, onProviderDown: "condition" };
  const starting: NodeState = { health: { kind: "unknown" }, answered: false, inventoryLoaded: false };
  test.each([
    ["before the first ping", options, starting, "False ProviderNotReady"],
    ["before the first inventory", options, { ...running, inventoryLoaded: false }, "False ProviderNotReady"],
    ["with an inventory but no ping", options, { ...starting, inventoryLoaded: true }, "False ProviderNotReady"],
    ["after both", options, running, "True KubeletReady"],
    ["when the first ping failed", options, { ...away, answered: false, inventoryLoaded: false }, "False ProviderPingFailed"],
    ["when the provider is away", options, away, "False ProviderPingFailed"],
    ["when the provider is away, with onProviderDown: condition", condition, away, "True KubeletReady"],
    ["when it has never answered, with onProviderDown: condition", condition, { ...away, answered: false }, "False ProviderPingFailed"],
    [
      "when it went away before the inventory, with onProviderDown: condition",
      condition,
      { ...away, inventoryLoaded: false },
      "False ProviderNotReady",
    ],
  ])("says of Ready %s: %#", (_when, nodeOptions, state, expected) => {
    expect(conditionsOf(nodeOptions, state)["Ready"]).toBe(expected);
  });

  test("shows the provider's own message while it is away", () => {
    expect(wantedNode(options, {}, away).conditions.at(-1)?.message).toBe("connection refused");
  });

  test.each([
    [starting, "Unknown ProviderNotPinged", 0],
    [running, "True ProviderAnswers", 0],
    [away, "False ProviderPingFailed", 1],
  ])("with onProviderDown: condition has ProviderAvailable and a taint that say so: %#", (state, available, taints) => {
    expect(conditionsOf(condition, state)["ProviderAvailable"]).toBe(available);
    expect(wantedNode(condition, {}, state).taints).toHaveLength(taints);
  });

  test("has no ProviderAvailable condition and no taint for it otherwise", () => {
    expect(conditionsOf(options, away)).not.toHaveProperty("ProviderAvailable");
    expect(wantedNode(options, {}, away).taints).toEqual([]);
  });
});

describe("hostIPsOf", () => {
  const internal = (address: string) => ({ type: "InternalIP", address });
  const external = (address: string) => ({ type: "ExternalIP", address });
  test.each([
    [[], []],
    [[{ type: "Hostname", address: "vk" }], []],
    [[internal("10.0.0.1"), internal("10.0.0.2")], ["10.0.0.1"]],
    [[external("1.2.3.4"), internal("10.0.0.1")], ["10.0.0.1"]],
    [[external("1.2.3.4")], ["1.2.3.4"]],
    [
      [internal("10.0.0.1"), internal("fd00::1"), internal("fd00::2")],
      ["10.0.0.1", "fd00::1"],
    ],
    [
      [internal("fd00::1"), external("1.2.3.4")],
      ["fd00::1", "1.2.3.4"],
    ],
  ])("takes the first internal address, and the first of the other family: %#", (addresses, expected) => {
    expect(hostIPsOf(addresses)).toEqual(expected);
  });
});

test("what a node has room for where nobody says is what is documented", () => {
  expect(wantedNode(options, {}, running).capacity).toEqual({ cpu: "20", memory: "100Gi", "ephemeral-storage": "100Gi", pods: "110" });
});

test("a node's information says what is known, and nothing of a machine", () => {
  expect(wantedNode(options, {}, running).nodeInfo).toEqual({
    machineID: "",
    systemUUID: "",
    bootID: "",
    kernelVersion: "",
    osImage: "",
    containerRuntimeVersion: "",
    kubeletVersion: kubernetesVersion,
    kubeProxyVersion: "",
    operatingSystem: "linux",
    architecture: "amd64",
  });
});

test("the taints of the options come before that of a provider that is away", () => {
  const taint = { key: "mine", effect: "NoSchedule" };
  const condition: NodeOptions = { ...options, onProviderDown: "condition", taints: [taint] };

  expect(wantedNode(condition, {}, away).taints).toEqual([taint, { key: "virtual-kubelet.io/provider-unavailable", effect: "NoSchedule" }]);
  expect(wantedNode(condition, {}, { ...running, health: { kind: "unknown" } }).taints).toEqual([taint]);
});

test("the taints of the options come before the described ones, and each key and effect occurs once", () => {
  const taints = [
    { key: "a", value: "option", effect: "NoSchedule" },
    { key: "b", effect: "NoSchedule" },
  ];
  const described = [
    { key: "a", value: "described", effect: "NoSchedule" },
    { key: "a", value: "described", effect: "NoExecute" },
  ];

  expect(wantedNode({ ...options, taints }, { taints: described }, running).taints).toEqual([...taints, described[1]]);
});

test("addresses of the same type, and equal addresses of different types, are all kept, grouped by type", () => {
  const addresses = [
    { type: "InternalIP", address: "10.0.0.1" },
    { type: "ExternalIP", address: "10.0.0.1" },
    { type: "InternalIP", address: "10.0.0.2" },
  ];

  expect(wantedNode(options, { addresses }, running).addresses).toEqual([addresses[0], addresses[2], addresses[1]]);
});

test("a node is ready by its Ready condition alone", () => {
  const node = (type: string, status: string) => ({ status: { conditions: [{ type, status }] } });

  expect([isNodeReady(node("Ready", "True")), isNodeReady(node("Ready", "False")), isNodeReady(node("Other", "True"))]).toEqual([
    true,
    false,
    false,
  ]);
  expect([isNodeReady({}), isNodeReady(undefined)]).toEqual([false, false]);
});

test("a node has one Ready condition, and each other one once, whatever the provider says", () => {
  const conditions = [
    { type: "Ready", status: "True", reason: "Lies", message: "" },
    { type: "DiskPressure", status: "True", reason: "Full", message: "" },
  ] as const;

  expect(wantedNode(options, { conditions }, running).conditions.map(({ type }) => type)).toEqual([
    "MemoryPressure",
    "DiskPressure",
    "PIDPressure",
    "NetworkUnavailable",
    "Ready",
  ]);
});
