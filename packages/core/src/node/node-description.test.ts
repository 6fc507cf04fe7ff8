import { describe, expect, test } from "vitest";
import { checkDescription, rememberedDescription } from "./node-description.ts";
import { wantedNode } from "./node-object.ts";
import { planNode } from "./node-patch.ts";
import type { NodeDescription } from "../provider/provider.ts";

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
