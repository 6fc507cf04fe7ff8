import { applyPatch } from "@virtual-kubelet/embedded-apiserver/patch";
import { resources, type Node, type NodeAddress, type Patch, type Taint } from "@virtual-kubelet/kube-client";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { wantedNode, type NodeState, type WantedNode } from "./node-object.ts";
import { ownedKeysAnnotation, parseOwnedKeys } from "./node-owned-keys.ts";
import { cordonedAnnotation, isKubeletsLabel, planNode, planNodePatches, type NodePatchOptions } from "./node-patch.ts";
import type { NodeOptions } from "../virtual-node/options.ts";
import type { NodeDescription } from "../provider/node-provider.ts";

const noonMs = Date.UTC(2026, 0, 1, 12);
const noon = "2026-01-01T12:00:00Z";
const laterMs = noonMs + 60_000;
const later = "2026-01-01T12:01:00Z";
const running: NodeState = { health: { kind: "up" }, answered: true, inventoryLoaded: true };
const planOptions: NodePatchOptions = {
  nowMs: laterMs,
  owned: parseOwnedKeys(undefined),
  report: false,
  uncordon: true,
  restrictedLabels: false,
  keepTaints: false,
};

function want(options: Partial<NodeOptions> = {}, description: NodeDescription = {}, state: NodeState = running): WantedNode {
  return wantedNode({ name: "vk", kubeletPort: 10250, instance: { identity: "a" }, ...options }, description, state);
}

function registered(wanted: WantedNode): Node {
  const node = planNode(wanted, { nowMs: noonMs, restrictedLabels: false });
  return JSON.parse(JSON.stringify({ ...node, metadata: { ...node.metadata, uid: "uid-1", resourceVersion: "7" } })) as Node;
}

function apply(node: Node, { spec, status }: { readonly spec: Patch | undefined; readonly status: Patch | undefined }): Node {
  const changed = spec ? applyPatch(node, spec, resources.nodes) : node;
  return status ? applyPatch(changed, status, resources.nodes) : changed;
}

function bodyOf(patch: Patch | undefined): {
  metadata: Record<string, unknown>;
  spec: Record<string, unknown>;
  status: Record<string, unknown>;
} {
  return patch?.body as ReturnType<typeof bodyOf>;
}

describe("planNode", () => {
  test("creates the node with its status, and without a phase", () => {
    const node = registered(want({ taints: [{ key: "t", value: "v", effect: "NoSchedule" }] }, { providerID: "zun://1" }));

    expect(node.spec).toEqual({ taints: [{ key: "t", value: "v", effect: "NoSchedule" }], providerID: "zun://1" });
    expect(node.status).toMatchObject({ daemonEndpoints: { kubeletEndpoint: { Port: 10250 } }, capacity: { pods: "110" } });
    expect(node.status?.conditions?.at(-1)).toMatchObject({ type: "Ready", lastHeartbeatTime: noon, lastTransitionTime: noon });
    expect(node.status).not.toHaveProperty("phase");
  });

  test("gives every field of nodeInfo: the API requires them", () => {
    const fields = [
      "machineID",
      "systemUUID",
      "bootID",
      "kernelVersion",
      "osImage",
      "containerRuntimeVersion",
      "kubeletVersion",
      "kubeProxyVersion",
    ];

    const { nodeInfo } = registered(want()).status ?? {};

    expect(Object.keys(nodeInfo ?? {}).sort()).toEqual([...fields, "architecture", "operatingSystem"].sort());
    expect(Object.values(nodeInfo ?? {}).every((value) => typeof value === "string")).toBe(true);
  });

  test("has no daemon endpoint where there is no server", () => {
    expect(registered(want({ kubeletPort: 0 })).status).not.toHaveProperty("daemonEndpoints");
  });

  test("needs no annotation where it puts there only what every node has", () => {
    expect(registered(want()).metadata?.annotations).toEqual({});
  });

  test("lists the keys of what others might take for theirs", () => {
    const node = registered(
      want(
        { labels: { team: "x" }, taints: [{ key: "t", effect: "NoExecute" }], annotations: { note: "y" } },
        { capacity: { "a.b/gpu": "1" } },
      ),
    );

    expect(parseOwnedKeys(node.metadata?.annotations?.[ownedKeysAnnotation])).toEqual({
      labels: ["team"],
      annotations: ["note"],
      taints: ["t:NoExecute"],
      resources: ["a.b/gpu"],
      conditions: [],
    });
  });

  test("leaves out labels that a kubelet's own credentials may not set", () => {
    const node = planNode(want({ labels: { "kubernetes.io/team": "x", zone: "a" } }), { nowMs: noonMs, restrictedLabels: true });

    expect(node.metadata?.labels).toMatchObject({ zone: "a", "kubernetes.io/hostname": "vk" });
    expect(node.metadata?.labels).not.toHaveProperty("kubernetes.io/role");
    expect(node.metadata?.labels).not.toHaveProperty(["kubernetes.io/team"]);
  });
});

describe("planNodePatches", () => {
  test("has nothing to do where nothing differs", () => {
    const wanted = want({ labels: { team: "x" } }, { addresses: [{ type: "InternalIP", address: "10.0.0.1" }] });

    expect(planNodePatches(wanted, registered(wanted), planOptions)).toEqual({ spec: undefined, status: undefined });
  });

  test("takes quantities written in another way for the same", () => {
    const node = registered(want({}, { capacity: { cpu: "0.5", memory: "1024Mi" } }));
    node.status!.capacity = { ...node.status?.capacity, cpu: "500m", memory: "1Gi" };
    node.status!.allocatable = node.status!.capacity;

    expect(planNodePatches(want({}, { capacity: { cpu: "0.5", memory: "1024Mi" } }), node, planOptions).status).toBeUndefined();
  });

  test("writes the heartbeat when it is due, and keeps the transition times", () => {
    const node = registered(want());

    const patched = apply(node, planNodePatches(want(), node, { ...planOptions, report: true }));

    expect(patched.status?.conditions?.map((condition) => condition.lastHeartbeatTime)).toEqual(Array(5).fill(later));
    expect(patched.status?.conditions?.map((condition) => condition.lastTransitionTime)).toEqual(Array(5).fill(noon));
  });

  test("moves the transition time of the condition that changed, and only of that", () => {
    const node = registered(want());
    const away = want({}, {}, { ...running, health: { kind: "down", message: "gone" } });

    const patched = apply(node, planNodePatches(away, node, planOptions));

    const times = Object.fromEntries((patched.status?.conditions ?? []).map((condition) => [condition.type, condition.lastTransitionTime]));
    expect(times).toMatchObject({ Ready: later, DiskPressure: noon });
  });

  test("puts right what the node life-cycle controller made of our conditions", () => {
    const node = registered(want());
    for (const condition of node.status!.conditions!) Object.assign(condition, { status: "Unknown", reason: "NodeStatusUnknown" });

    const patched = apply(node, planNodePatches(want(), node, planOptions));

    expect(patched.status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({
      status: "True",
      reason: "KubeletReady",
      lastTransitionTime: later,
    });
  });

  test("leaves what others put there: labels, annotations, taints, resources, conditions, addresses it knows nothing of", () => {
    const node = registered(want());
    const foreign = { type: "Foreign", status: "True", reason: "R", message: "M", lastHeartbeatTime: noon, lastTransitionTime: noon };
    node.metadata!.labels!["foreign"] = "1";
    node.metadata!.annotations!["foreign"] = "1";
    node.spec!.taints = [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule", timeAdded: noon }];
    node.status!.capacity!["example.com/dongle"] = "4";
    node.status!.conditions!.push(foreign);
    node.status!.addresses = [{ type: "InternalIP", address: "10.0.0.1" }];

    const patched = apply(
      node,
      planNodePatches(want({ labels: { team: "x" }, taints: [{ key: "mine", effect: "NoSchedule" }] }), node, {
        ...planOptions,
        report: true,
      }),
    );

    expect(patched.metadata?.labels).toMatchObject({ foreign: "1", team: "x" });
    expect(patched.metadata?.annotations).toMatchObject({ foreign: "1" });
    expect(patched.spec?.taints).toEqual([
      { key: "node.kubernetes.io/not-ready", effect: "NoSchedule", timeAdded: noon },
      { key: "mine", effect: "NoSchedule" },
    ]);
    expect(patched.status?.capacity).toMatchObject({ "example.com/dongle": "4" });
    expect(patched.status?.conditions).toContainEqual(foreign);
    expect(patched.status?.addresses).toEqual([{ type: "InternalIP", address: "10.0.0.1" }]);
  });

  test("removes after a restart what it had put there and no longer wants", () => {
    const before = want(
      {
        labels: { team: "x", stays: "1" },
        annotations: { note: "y" },
        taints: [{ key: "t", effect: "NoSchedule" }],
        onProviderDown: "condition",
      },
      { capacity: { "a.b/gpu": "1" }, conditions: [{ type: "Backlog", status: "True", reason: "R", message: "" }] },
    );

    const patched = apply(registered(before), planNodePatches(want({ labels: { stays: "1" } }), registered(before), planOptions));

    expect(patched.metadata?.labels).not.toHaveProperty("team");
    expect(patched.metadata?.labels).toMatchObject({ stays: "1", type: "virtual-kubelet" });
    expect(patched.metadata?.annotations).toEqual({ [ownedKeysAnnotation]: `{"labels":["stays"]}` });
    expect(patched.spec?.taints).toEqual([]);
    expect(patched.status?.capacity).not.toHaveProperty(["a.b/gpu"]);
    expect(patched.status?.allocatable).not.toHaveProperty(["a.b/gpu"]);
    expect(patched.status?.conditions?.map(({ type }) => type)).toEqual([
      "MemoryPressure",
      "DiskPressure",
      "PIDPressure",
      "NetworkUnavailable",
      "Ready",
    ]);
  });

  test("takes the annotation away when nothing is left to be listed", () => {
    const node = registered(want({ labels: { team: "x" } }));

    expect(apply(node, planNodePatches(want(), node, planOptions)).metadata?.annotations).toEqual({});
  });

  test("removes what it remembers to have put there where the annotation was lost", () => {
    const node = registered(want({ labels: { team: "x" } }));
    node.metadata!.annotations = {};

    const patches = planNodePatches(want(), node, { ...planOptions, owned: { ...planOptions.owned, labels: ["team"] } });

    expect(bodyOf(patches.status).metadata["labels"]).toEqual({ team: null });
  });

  test.each(["{", "null", "[]", `"labels"`, `{"labels":"team"}`, `{"labels":[1,null],"taints":{}}`])(
    "survives the annotation %s, and repairs it",
    (damaged) => {
      const wanted = want({ labels: { team: "x" } });
      const node = registered(wanted);
      node.metadata!.annotations![ownedKeysAnnotation] = damaged;

      const patched = apply(node, planNodePatches(wanted, node, planOptions));

      expect(patched.metadata?.annotations?.[ownedKeysAnnotation]).toBe(`{"labels":["team"]}`);
      expect(patched.metadata?.labels).toMatchObject({ team: "x" });
    },
  );

  test("replaces the addresses as a whole: of two of one type none may be lost, and old ones go", () => {
    const node = registered(
      want(
        {},
        {
          addresses: [
            { type: "InternalIP", address: "10.0.0.1" },
            { type: "Hostname", address: "old" },
          ],
        },
      ),
    );
    const addresses = [
      { type: "InternalIP", address: "10.0.0.2" },
      { type: "InternalIP", address: "fd00::2" },
    ];

    const patches = planNodePatches(want({}, { addresses }), node, planOptions);

    expect(apply(node, patches).status?.addresses).toEqual(addresses);
    expect(bodyOf(patches.status).status["addresses"]).toEqual([{ $patch: "replace" }, ...addresses]);
  });

  test("puts back a taint of ours that somebody removed or changed, and takes the rest as it is", () => {
    const mine: Taint = { key: "mine", value: "v", effect: "NoSchedule" };
    const node = registered(want({ taints: [mine] }));
    node.spec!.taints = [
      { ...mine, value: "other" },
      { key: "mine", effect: "NoExecute" },
    ];

    expect(apply(node, planNodePatches(want({ taints: [mine] }), node, planOptions)).spec?.taints).toEqual([
      mine,
      { key: "mine", effect: "NoExecute" },
    ]);
  });

  test("pins the spec patch to what was read: the list of taints is written whole", () => {
    const patches = planNodePatches(want({ taints: [{ key: "mine", effect: "NoSchedule" }] }), registered(want()), planOptions);

    expect(bodyOf(patches.spec).metadata).toEqual({ uid: "uid-1", resourceVersion: "7" });
  });

  test("leaves taints alone where told to, and still sets the provider id", () => {
    const wanted = want({ taints: [{ key: "mine", effect: "NoSchedule" }] }, { providerID: "zun://1" });

    const patches = planNodePatches(wanted, registered(want()), { ...planOptions, keepTaints: true });

    expect(bodyOf(patches.spec).spec).toEqual({ providerID: "zun://1" });
  });

  test("never changes a provider id: the API server refuses that", () => {
    expect(
      planNodePatches(want({}, { providerID: "zun://2" }), registered(want({}, { providerID: "zun://1" })), planOptions).spec,
    ).toBeUndefined();
  });

  test("undoes its own cordon and nobody else's", () => {
    const node = registered(want());
    node.spec!.unschedulable = true;
    const ours = structuredClone(node);
    ours.metadata!.annotations![cordonedAnnotation] = "true";

    const uncordoned = apply(ours, planNodePatches(want(), ours, planOptions));

    expect(planNodePatches(want(), node, planOptions).spec).toBeUndefined();
    expect(planNodePatches(want(), ours, { ...planOptions, uncordon: false }).spec).toBeUndefined();
    expect(uncordoned.spec?.unschedulable).toBeUndefined();
    expect(uncordoned.metadata?.annotations).toEqual({});
  });

  test("adds and removes the taint of a provider that is away", () => {
    const options = { onProviderDown: "condition" } as const;
    const away: NodeState = { ...running, health: { kind: "down", message: "gone" } };
    const node = registered(want(options));

    const tainted = apply(node, planNodePatches(want(options, {}, away), node, planOptions));
    tainted.metadata!.annotations = {};
    const back = apply(tainted, planNodePatches(want(options), tainted, planOptions));

    expect(tainted.spec?.taints).toEqual([{ key: "virtual-kubelet.io/provider-unavailable", effect: "NoSchedule" }]);
    expect(back.spec?.taints).toEqual([]);
  });

  test("drops the condition ProviderAvailable when the policy no longer has it", () => {
    const node = registered(want({ onProviderDown: "condition" }));
    node.metadata!.annotations = {};

    expect(apply(node, planNodePatches(want(), node, planOptions)).status?.conditions?.map(({ type }) => type)).not.toContain(
      "ProviderAvailable",
    );
  });

  test("asks for Ready to stay last when a condition comes in", () => {
    const node = registered(want());

    const patches = planNodePatches(want({ onProviderDown: "condition" }), node, planOptions);

    const order = bodyOf(patches.status).status["$setElementOrder/conditions"] as { type: string }[];
    expect(order.map(({ type }) => type)).toEqual([
      "MemoryPressure",
      "DiskPressure",
      "PIDPressure",
      "NetworkUnavailable",
      "ProviderAvailable",
      "Ready",
    ]);
  });

  test("moves the kubelet's port, and takes it away", () => {
    const node = registered(want());

    expect(apply(node, planNodePatches(want({ kubeletPort: 11250 }), node, planOptions)).status).toMatchObject({
      daemonEndpoints: { kubeletEndpoint: { Port: 11250 } },
    });
    expect(apply(node, planNodePatches(want({ kubeletPort: 0 }), node, planOptions)).status?.daemonEndpoints).toEqual({});
  });

  test("declares features, other ones, and none", () => {
    const node = registered(want({ declaredFeatures: ["A"] }));
    expect(node.status?.declaredFeatures).toEqual(["A"]);
    const change = (declaredFeatures: readonly string[]) =>
      apply(node, planNodePatches(want({ declaredFeatures }), node, planOptions)).status?.declaredFeatures;

    expect(change(["B", "A"])).toEqual(["A", "B"]);
    expect(change([])).toBeUndefined();
    expect(planNodePatches(want({ declaredFeatures: ["A"] }), node, planOptions).status).toBeUndefined();
  });

  test("declares features again with the next heartbeat, and not before, to an API server that drops them", () => {
    const node = registered(want());
    const wanted = want({ declaredFeatures: ["A"] });

    expect(planNodePatches(wanted, node, planOptions).status).toBeUndefined();
    expect(bodyOf(planNodePatches(wanted, node, { ...planOptions, report: true }).status).status).toMatchObject({
      declaredFeatures: ["A"],
    });
  });

  test("keeps to a kubelet's labels where told to, also for those it would remove", () => {
    const node = registered(want({ labels: { "kubernetes.io/team": "x", team: "y" } }));
    delete node.metadata!.labels!["kubernetes.io/role"];

    const { metadata } = bodyOf(planNodePatches(want(), node, { ...planOptions, restrictedLabels: true }).status);

    expect(metadata["labels"]).toEqual({ team: null });
  });

  test("changes nothing once the API server has grouped the addresses by type", () => {
    const addresses = [
      { type: "InternalIP", address: "10.0.0.1" },
      { type: "ExternalIP", address: "192.0.2.1" },
      { type: "InternalIP", address: "fd00::1" },
    ];
    const node = registered(want({}, { addresses: [{ type: "InternalIP", address: "10.0.0.9" }] }));

    const patched = apply(node, planNodePatches(want({}, { addresses }), node, planOptions));

    expect(patched.status?.addresses).toEqual([addresses[0], addresses[2], addresses[1]]);
    expect(planNodePatches(want({}, { addresses }), patched, planOptions)).toEqual({ spec: undefined, status: undefined });
  });

  test("is done once its patches are applied, whatever was there", () => {
    const key = fc.constantFrom("a", "b", "c");
    const map = fc.dictionary(key, fc.constantFrom("1", "2"));
    const taints = fc.uniqueArray(fc.record({ key, effect: fc.constantFrom("NoSchedule", "NoExecute") }), {
      selector: ({ key: name, effect }) => `${name}${effect}`,
    });
    const addresses = fc.option(fc.array(fc.record({ type: fc.constantFrom("InternalIP", "ExternalIP"), address: key })), {
      nil: undefined,
    });
    const conditions = fc.uniqueArray(
      fc.record({ type: key, status: fc.constantFrom("True", "False", "Unknown" as const), reason: key, message: key }) as fc.Arbitrary<
        NonNullable<NodeDescription["conditions"]>[number]
      >,
      { selector: ({ type }) => type },
    );
    const node = fc
      .record({ labels: map, annotations: map, capacity: map, taints, addresses, conditions, condition: fc.boolean() })
      .map(({ condition, labels, taints: ours, ...description }) =>
        want({ labels, taints: ours, onProviderDown: condition ? "condition" : "notReady" }, description),
      );

    fc.assert(
      fc.property(node, node, (before, after) => {
        const patched = apply(registered(before), planNodePatches(after, registered(before), planOptions));

        expect(planNodePatches(after, patched, planOptions)).toEqual({ spec: undefined, status: undefined });
        const lost: NodeAddress[] = (after.addresses ?? []).filter(
          (address) => !patched.status?.addresses?.some((kept) => kept.address === address.address),
        );
        expect(lost).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});

describe("isKubeletsLabel", () => {
  test.each([
    ["kubernetes.io/hostname", true],
    ["topology.kubernetes.io/zone", true],
    ["kubernetes.io/os", true],
    ["kubernetes.io/arch", true],
    ["topology.kubernetes.io/region", true],
    ["failure-domain.beta.kubernetes.io/zone", true],
    ["failure-domain.beta.kubernetes.io/region", true],
    ["beta.kubernetes.io/instance-type", true],
    ["beta.kubernetes.io/os", true],
    ["beta.kubernetes.io/arch", true],
    ["node.kubernetes.io/instance-type", true],
    ["kubelet.kubernetes.io/x", true],
    ["extra.kubelet.kubernetes.io/x", true],
    ["k8s.io/x", false],
    ["kubernetes.io", true],
    ["kubernetes.iox", true],
    ["node.kubernetes.io/exclude-from-external-load-balancers", true],
    ["extra.node.kubernetes.io/x", true],
    ["team", true],
    ["example.com/team", true],
    ["kubernetes.io/role", false],
    ["node-role.kubernetes.io/agent", false],
    ["node-restriction.kubernetes.io/x", false],
    ["a.node-restriction.kubernetes.io/x", false],
    ["x.k8s.io/y", false],
    ["notkubernetes.io/x", true],
  ])("%s: %s", (key, expected) => {
    expect(isKubeletsLabel(key)).toBe(expected);
  });
});

describe("planNode and planNodePatches", () => {
  test("write no addresses where nobody says any, and keep those that are there", () => {
    expect(registered(want()).status?.addresses).toEqual([]);
    const node = registered(want({}, { addresses: [{ type: "InternalIP", address: "10.0.0.1" }] }));

    expect(planNodePatches(want(), node, planOptions).status).toBeUndefined();
  });

  test.each<[string, NodeAddress[]]>([
    [
      "one more",
      [
        { type: "InternalIP", address: "10.0.0.1" },
        { type: "InternalIP", address: "10.0.0.2" },
      ],
    ],
    ["another type", [{ type: "ExternalIP", address: "10.0.0.1" }]],
    ["another address", [{ type: "InternalIP", address: "10.0.0.9" }]],
    ["none", []],
  ])("write addresses anew where there is %s", (_what, addresses) => {
    const node = registered(want({}, { addresses: [{ type: "InternalIP", address: "10.0.0.1" }] }));

    expect(apply(node, planNodePatches(want({}, { addresses }), node, planOptions)).status?.addresses ?? []).toEqual(addresses);
  });

  test("name the node, its kind and version", () => {
    expect(planNode(want(), { nowMs: noonMs, restrictedLabels: false })).toMatchObject({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "vk" },
    });
  });

  test("give up a condition only if it is ours, there and not wanted, and Ready never", () => {
    const owned = { ...planOptions.owned, conditions: ["Ready", "Absent", "DiskPressure", "Mine"] };
    const node = registered(want());
    node.status!.conditions!.push({ type: "Mine", status: "True" }, { type: "Foreign", status: "True" });

    const patched = apply(node, planNodePatches(want(), node, { ...planOptions, owned }));

    expect(patched.status?.conditions?.map(({ type }) => type).toSorted()).toEqual([
      "DiskPressure",
      "Foreign",
      "MemoryPressure",
      "NetworkUnavailable",
      "PIDPressure",
      "Ready",
    ]);
  });

  test.each([
    ["status", { status: "Unknown" }],
    ["reason", { reason: "Other" }],
    ["message", { message: "other" }],
  ])("put a condition right whose %s was changed, and keep the time of its transition unless the status did", (field, change) => {
    const node = registered(want());
    Object.assign(
      node.status!.conditions!.find(({ type }) => type === "DiskPressure")!,
      change,
    );

    const found = apply(node, planNodePatches(want(), node, planOptions)).status?.conditions?.find(({ type }) => type === "DiskPressure");

    expect(found).toMatchObject({
      status: "False",
      reason: "KubeletHasNoDiskPressure",
      lastHeartbeatTime: later,
      lastTransitionTime: field === "status" ? later : noon,
    });
  });

  test("ask for no order where Ready is the last one", () => {
    const node = registered(want());

    const { status } = bodyOf(planNodePatches(want(), node, { ...planOptions, report: true }).status);

    expect(Object.keys(status)).toEqual(["conditions"]);
  });

  test("keep the conditions of others before Ready, and after ours", () => {
    const node = registered(want());
    node.status!.conditions!.unshift({ type: "Foreign", status: "True" });
    node.status!.conditions!.push({ type: "Late", status: "True" });

    const order = bodyOf(planNodePatches(want(), node, { ...planOptions, report: true }).status).status["$setElementOrder/conditions"];

    expect((order as { type: string }[]).map(({ type }) => type)).toEqual([
      "MemoryPressure",
      "DiskPressure",
      "PIDPressure",
      "NetworkUnavailable",
      "Foreign",
      "Late",
      "Ready",
    ]);
  });

  test("write quantities that differ, or that cannot be read, and no others", () => {
    const node = registered(want({}, { capacity: { cpu: "1", "a.b/c": "1" } }));
    node.status!.capacity!["cpu"] = "2";
    node.status!.capacity!["a.b/c"] = "many";

    const { status } = bodyOf(planNodePatches(want({}, { capacity: { cpu: "1", "a.b/c": "1" } }), node, planOptions).status);

    expect(status["capacity"]).toEqual({ cpu: "1", "a.b/c": "1" });
    expect(status).not.toHaveProperty("allocatable");
  });

  test("write what nodeInfo says otherwise, and keep what it says of others", () => {
    const node = registered(want());
    Object.assign(node.status!.nodeInfo!, { osImage: "other", swap: { capacity: 1 } });

    const { status } = bodyOf(planNodePatches(want({}, { osImage: "An OS" }), node, planOptions).status);

    expect(status["nodeInfo"]).toEqual({ osImage: "An OS" });
  });

  test("write images as a whole where they differ, and leave them where the provider says nothing of them", () => {
    const images = [{ names: ["app:1"], sizeBytes: 5 }];
    const node = registered(want({}, { images }));
    expect(node.status?.images).toEqual(images);

    const changed = [{ names: ["app:2"], sizeBytes: 5 }];
    expect(bodyOf(planNodePatches(want({}, { images: changed }), node, planOptions).status).status["images"]).toEqual(changed);
    expect(bodyOf(planNodePatches(want({}, { images: [] }), node, planOptions).status).status["images"]).toEqual([]);
    for (const same of [want({}, { images }), want()]) expect(planNodePatches(same, node, planOptions).status).toBeUndefined();
  });

  test("write the kubelet's port only where it differs", () => {
    const node = registered(want());

    expect(bodyOf(planNodePatches(want({ kubeletPort: 1 }), node, planOptions).status).status["daemonEndpoints"]).toEqual({
      kubeletEndpoint: { Port: 1 },
    });
    expect(planNodePatches(want({ kubeletPort: 0 }), registered(want({ kubeletPort: 0 })), planOptions).status).toBeUndefined();
  });

  test("pin the status to the node's UID alone, and the spec to its version as well", () => {
    const patches = planNodePatches(
      want({ labels: { a: "b" }, taints: [{ key: "t", effect: "NoSchedule" }] }),
      registered(want()),
      planOptions,
    );

    expect(bodyOf(patches.status).metadata["uid"]).toBe("uid-1");
    expect(bodyOf(patches.status).metadata).not.toHaveProperty("resourceVersion");
    expect(patches.status?.type).toBe("strategic");
    expect(patches.spec?.type).toBe("merge");
  });

  test("take back a taint that is not wanted any more only if it is ours, by key and effect", () => {
    const node = registered(want({ taints: [{ key: "mine", effect: "NoSchedule" }] }));
    node.spec!.taints!.push({ key: "mine", effect: "NoExecute" });

    expect(apply(node, planNodePatches(want(), node, planOptions)).spec?.taints).toEqual([{ key: "mine", effect: "NoExecute" }]);
  });

  test("leave a taint without a value as it is, whichever way it has none", () => {
    const node = registered(want({ taints: [{ key: "mine", effect: "NoSchedule" }] }));
    node.spec!.taints = [{ key: "mine", value: "", effect: "NoSchedule" }];

    expect(planNodePatches(want({ taints: [{ key: "mine", effect: "NoSchedule" }] }), node, planOptions).spec).toBeUndefined();
  });
});
