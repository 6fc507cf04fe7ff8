import { describe, expect, test } from "vitest";
import { checkDescription, rememberedDescription } from "./node-description.ts";
import { wantedNode } from "./node-object.ts";
import { planNode } from "./node-patch.ts";
import type { NodeDescription } from "../provider/node-provider.ts";

describe("checkDescription", () => {
  test("takes a good description as it is", () => {
    const good: NodeDescription = {
      capacity: { cpu: "500m", "nvidia.com/gpu": "2" },
      allocatable: { cpu: "0.25" },
      addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
      operatingSystem: "windows",
      architecture: "arm64",
      labels: { "topology.kubernetes.io/zone": "a", empty: "" },
      annotations: { "example.com/note": "any text, at any length" },
      taints: [
        { key: "nvidia.com/gpu", value: "present", effect: "NoSchedule" },
        { key: "spot", effect: "NoExecute" },
      ],
      conditions: [{ type: "DiskPressure", status: "True", reason: "Full", message: "quota" }],
      providerID: "zun://1",
      containerRuntimeVersion: "docker://28",
      osImage: "An OS",
      kernelVersion: "6.1",
      declaredFeatures: ["SomeFeature"],
    };

    expect(checkDescription(good)).toEqual({ description: good, problems: [] });
  });

  test("copies, so that the provider may change its own afterwards", () => {
    const labels: Record<string, string> = { a: "1" };
    const { description } = checkDescription({ labels });

    labels["a"] = "2";

    expect(description.labels).toEqual({ a: "1" });
  });

  test.each([
    [{ capacity: { cpu: "many" } }, 'capacity["cpu"] is "many"'],
    [{ capacity: { cpu: 4 } }, 'capacity["cpu"] is 4'],
    [{ declaredFeatures: ["A b"] }, 'declaredFeatures has "A b", expected names of features'],
    [{ capacity: { cpu: "-1" } }, 'capacity["cpu"] is "-1"'],
    [{ capacity: { "a b": "1" } }, 'capacity["a b"] is "1"'],
    [{ capacity: ["1"] }, "capacity is a list, expected an object"],
    [{ labels: { "a/b/c": "x" } }, 'labels["a/b/c"]'],
    [{ labels: { a: "not a value" } }, 'labels["a"] is "not a value"'],
    [{ labels: { ["a".repeat(64)]: "x" } }, "labels["],
    [{ annotations: { a: 1 } }, 'annotations["a"] is 1'],
    [{ taints: [{ key: "a b", effect: "NoSchedule" }] }, "taints[0] is an object, expected a taint's key"],
    [{ taints: [{ key: "a", effect: "Never" }] }, "taints[0]"],
    [{ taints: [{ key: "a", value: "not a value", effect: "NoSchedule" }] }, "taints[0]"],
    [{ taints: [{ key: "a", value: 1, effect: "NoSchedule" }] }, "taints[0]"],
    [{ addresses: [{ type: "InternalIP" }] }, "addresses[0] is an object, expected a type and an address"],
    [{ addresses: "10.0.0.1" }, 'addresses is "10.0.0.1", expected a list'],
    [{ conditions: [{ type: "Ready", status: "True", reason: "", message: "" }] }, "conditions[0]"],
    [{ conditions: [{ type: "X", status: "yes" }] }, "conditions[0]"],
    [{ operatingSystem: "plan9" }, 'operatingSystem is "plan9", expected linux or windows'],
    [{ providerID: 5 }, "providerID is 5, expected a string"],
    [null, "the description is null, expected an object"],
    ["x", 'the description is "x"'],
  ])("leaves out what the API server would refuse, and says so: %#", (value, problem) => {
    const { description, problems } = checkDescription(value);

    expect(problems).toEqual([expect.stringContaining(problem)]);
    expect(JSON.stringify(description)).not.toMatch(/many|plan9|not a value|Ready/);
  });

  test("keeps what is good beside what is not", () => {
    expect(checkDescription({ capacity: { cpu: "many", memory: "1Gi" } }).description.capacity).toEqual({ memory: "1Gi" });
  });
});

describe("rememberedDescription", () => {
  test("says what a node was described as, so that wanting it again changes nothing", () => {
    const options = { name: "vk", instance: { identity: "a" } };
    const described: NodeDescription = {
      capacity: { cpu: "8", "a.b/gpu": "1" },
      allocatable: { cpu: "7" },
      addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
      operatingSystem: "windows",
      architecture: "arm64",
      labels: { zone: "a" },
      annotations: { note: "y" },
      taints: [{ key: "spot", value: "yes", effect: "NoExecute" }],
      conditions: [{ type: "Backlog", status: "True", reason: "R", message: "M" }],
      providerID: "zun://1",
      containerRuntimeVersion: "docker://28",
      osImage: "An OS",
      kernelVersion: "6.1",
    };
    const state = { health: { kind: "up" }, answered: true, inventoryLoaded: true } as const;
    const wanted = wantedNode(options, described, state);
    const node = planNode(wanted, { nowMs: 0, restrictedLabels: false });
    node.metadata!.labels!["foreign"] = "1";
    node.spec!.taints!.push({ key: "foreign", effect: "NoSchedule" });
    node.status!.capacity!["example.com/dongle"] = "4";

    expect(wantedNode(options, rememberedDescription(node), state)).toEqual(wanted);
  });

  test("says nothing of an empty node", () => {
    expect(
      wantedNode({ name: "vk", instance: { identity: "a" } }, rememberedDescription({}), {
        health: { kind: "unknown" },
        answered: false,
        inventoryLoaded: false,
      }),
    ).toMatchObject({
      nodeInfo: { operatingSystem: "linux", architecture: "amd64" },
      capacity: { pods: "110" },
    });
  });
});

describe("names and values", () => {
  const labelled = (key: string, value = "x"): unknown => checkDescription({ labels: { [key]: value } }).description.labels;

  test.each(["a", "A1", "a-b_c.d", "x".repeat(63), "example.com/a", "a.b-c.d/e", `${"a".repeat(253)}/b`])(
    "a label may be called %s",
    (key) => {
      expect(labelled(key)).toEqual({ [key]: "x" });
    },
  );

  test.each([
    "",
    "-a",
    "a-",
    ".a",
    "a b",
    "x".repeat(64),
    "/a",
    "a/",
    "a/b/c",
    "A.b/c",
    "-a/b",
    "a-/b",
    "a..b/c",
    "a_b/c",
    `${"a".repeat(254)}/b`,
  ])("a label may not be called %j", (key) => {
    expect(labelled(key)).toEqual({});
  });

  test.each(["", "a", "A1", "a-b_c.d", "x".repeat(63)])("a label may have the value %j", (value) => {
    expect(labelled("a", value)).toEqual({ a: value });
  });

  test.each(["-a", "a-", "a b", "x".repeat(64), "a/b"])("a label may not have the value %j", (value) => {
    expect(labelled("a", value)).toEqual({});
  });

  test("annotations and resources are called as labels are", () => {
    expect(checkDescription({ annotations: { "a b": "x", a: "x" } }).description.annotations).toEqual({ a: "x" });
    expect(checkDescription({ capacity: { "a b": "1", a: "0" } }).description.capacity).toEqual({ a: "0" });
  });

  test.each([
    ["A", true],
    ["SomeFeature/Part2", true],
    [`A${"x".repeat(99)}`, true],
    [`A${"x".repeat(100)}`, false],
    ["1A", false],
    ["A-b", false],
    ["", false],
    [5, false],
  ])("a feature may be called %s: %s", (name, isTaken) => {
    expect(checkDescription({ declaredFeatures: [name] }).description.declaredFeatures).toEqual(isTaken ? [name] : []);
  });
});

test.each<[unknown, string]>([
  [{ allocatable: { cpu: "-1" } }, 'allocatable["cpu"] is "-1", expected a resource name and a quantity of zero or more'],
  [{ allocatable: 5 }, "allocatable is 5, expected an object"],
  [{ labels: "x" }, 'labels is "x", expected an object'],
  [{ annotations: [] }, "annotations is a list, expected an object"],
  [{ annotations: { a: null } }, 'annotations["a"] is null, expected an annotation\'s key and a string'],
  [{ addresses: [{ type: "InternalIP", address: "" }] }, "addresses[0] is an object, expected a type and an address"],
  [{ addresses: [{ type: "", address: "x" }] }, "addresses[0] is an object, expected a type and an address"],
  [{ addresses: [{ type: 5, address: "x" }] }, "addresses[0] is an object"],
  [{ addresses: ["x"] }, 'addresses[0] is "x"'],
  [{ conditions: {} }, "conditions is an object, expected a list"],
  [{ conditions: [{ type: "", status: "True" }] }, "conditions[0] is an object, expected a type other than Ready"],
  [{ conditions: [{ type: 5, status: "True" }] }, "conditions[0] is an object"],
  [{ operatingSystem: "" }, 'operatingSystem is "", expected linux or windows'],
  [{ architecture: 5 }, "architecture is 5, expected a string"],
  [{ containerRuntimeVersion: 5 }, "containerRuntimeVersion is 5, expected a string"],
  [{ osImage: 5 }, "osImage is 5, expected a string"],
  [{ kernelVersion: {} }, "kernelVersion is an object, expected a string"],
  [{ machineID: 5 }, "machineID is 5, expected a string"],
  [{ systemUUID: 5 }, "systemUUID is 5, expected a string"],
  [{ bootID: 5 }, "bootID is 5, expected a string"],
  [{ images: [{ names: ["a", 5], sizeBytes: 1 }] }, "images[0] is an object, expected names and sizeBytes"],
  [{ images: [{ names: [], sizeBytes: -1 }] }, "images[0] is an object, expected names and sizeBytes"],
  [{ declaredFeatures: "a b" }, 'declaredFeatures has "a b", expected names of features'],
  [{ labels: { a: "x".repeat(101) } }, `labels["a"] is "${"x".repeat(100)}…"`],
  [undefined, "the description is undefined, expected an object"],
  [[], "the description is a list, expected an object"],
])("what is wrong is said by field, value and what was expected: %#", (value, problem) => {
  const { problems } = checkDescription(value);

  expect(problems).toEqual([expect.stringContaining(problem)]);
});

test("what is absent or null is not said, and is no problem", () => {
  const fields = [
    "capacity",
    "allocatable",
    "labels",
    "annotations",
    "taints",
    "addresses",
    "conditions",
    "operatingSystem",
    "architecture",
    "providerID",
    "containerRuntimeVersion",
    "osImage",
    "kernelVersion",
    "machineID",
    "systemUUID",
    "bootID",
    "images",
    "declaredFeatures",
  ];
  const absent = checkDescription(Object.fromEntries(fields.map((field) => [field, null])));

  expect(absent.problems).toEqual([]);
  expect(Object.values(absent.description).filter((value) => value !== undefined)).toEqual([]);
  expect(checkDescription({ labels: { a: undefined } })).toMatchObject({ description: { labels: {} }, problems: [] });
});

test("operating systems are taken as they are, and one feature alone as well", () => {
  expect(checkDescription({ operatingSystem: "linux" }).description.operatingSystem).toBe("linux");
  expect(checkDescription({ operatingSystem: "windows" }).description.operatingSystem).toBe("windows");
  expect(checkDescription({ declaredFeatures: "A" })).toMatchObject({ description: { declaredFeatures: ["A"] }, problems: [] });
});

test.each(["True", "False", "Unknown"])("a condition may be %s, has texts, and no longer message than the API server takes", (status) => {
  const { conditions } = checkDescription({ conditions: [{ type: "X", status, reason: 5, message: "m".repeat(2_000) }] }).description;

  expect(conditions).toEqual([{ type: "X", status, reason: "", message: "m".repeat(1_024) }]);
});

test("of a node nothing is remembered that is somebody else's, or that the core says itself", () => {
  const description = rememberedDescription({
    metadata: {
      labels: { mine: "1", foreign: "1" },
      annotations: {
        mine: "1",
        foreign: "1",
        "virtual-kubelet.io/owned-keys": JSON.stringify({
          labels: ["mine"],
          annotations: ["mine"],
          resources: ["a.b/gpu"],
          conditions: ["Backlog", "ProviderAvailable"],
        }),
      },
    },
    status: {
      capacity: { cpu: "1", pods: "2", "a.b/gpu": "3", "c.d/foreign": "4" },
      allocatable: { memory: "1Gi", "ephemeral-storage": "1Gi", "c.d/foreign": "4" },
      conditions: [
        { type: "Backlog", status: "True", reason: "R", message: "M" },
        { type: "ProviderAvailable", status: "True" },
        { type: "Foreign", status: "True" },
      ],
      nodeInfo: { operatingSystem: "linux", architecture: "", osImage: "", kernelVersion: "", containerRuntimeVersion: "" } as never,
    },
  });

  expect(description).toMatchObject({
    labels: { mine: "1" },
    annotations: { mine: "1" },
    capacity: { cpu: "1", pods: "2", "a.b/gpu": "3" },
    allocatable: { memory: "1Gi", "ephemeral-storage": "1Gi" },
    conditions: [{ type: "Backlog", status: "True", reason: "R", message: "M" }],
    operatingSystem: "linux",
  });
  expect(Object.keys(description.labels ?? {})).toEqual(["mine"]);
  expect(Object.keys(description.annotations ?? {})).toEqual(["mine"]);
  expect(Object.keys(description.capacity ?? {})).toEqual(["cpu", "pods", "a.b/gpu"]);
  expect([description.architecture, description.osImage, description.kernelVersion, description.containerRuntimeVersion]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
