import { expect, test } from "vitest";
import { configOf } from "../test-support/far-nodes.ts";
import { accountName, farManifest } from "./far-manifest.ts";

interface Printed {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[];
}

function printed(input: object, nodeName = "far-1"): readonly Printed[] {
  return farManifest(configOf(input), nodeName).objects.map(({ object }) => object as unknown as Printed);
}

const kinds = (input: object): string[] =>
  printed(input).map(({ kind, metadata }) => [metadata.namespace, kind, metadata.name].filter(Boolean).join(" "));

function resourcesIn(input: object, kind: string): string[] {
  return printed(input)
    .filter((object) => object.kind === kind)
    .flatMap(({ rules = [] }) => rules.flatMap(({ resources }) => resources));
}

const narrow = { namespaces: { mode: "one", name: "vk" }, node: { capacity: "quota" }, usage: "metrics-api" };

test("with quotas and the metrics API everything fits into one namespace", () => {
  expect(kinds(narrow)).toEqual([
    "vk ServiceAccount virtual-kubelet-far-1",
    "vk Role virtual-kubelet:far:virtual-kubelet-far-1",
    "vk RoleBinding virtual-kubelet:far:virtual-kubelet-far-1",
  ]);
  expect(kinds({ ...narrow, node: { capacity: { cpu: "1", memory: "1Gi", pods: "1" } }, usage: "none" })).toHaveLength(3);
});

test("the whole cluster is touched only for what is configured", () => {
  expect(resourcesIn({ ...narrow, node: { capacity: "nodes" } }, "ClusterRole")).toEqual(["nodes"]);
  expect(resourcesIn({ ...narrow, node: { capacity: "nodes", others: "subtract" } }, "ClusterRole")).toEqual(["nodes", "pods"]);
  expect(resourcesIn({ ...narrow, usage: "kubelets" }, "ClusterRole")).toEqual(["nodes/proxy"]);
});

test("what is not configured is not granted", () => {
  const least = { ...narrow, node: { capacity: "nodes" }, events: false, usage: "none" };

  expect(resourcesIn(narrow, "Role")).toEqual(expect.arrayContaining(["resourcequotas", "events"]));
  expect(resourcesIn(least, "Role")).not.toEqual(expect.arrayContaining(["resourcequotas"]));
  expect(resourcesIn(least, "Role")).not.toEqual(expect.arrayContaining(["events"]));
});

test("pods in several namespaces need rights in all, and a namespace for the account", () => {
  const input = { namespaces: { mode: "prefix", prefix: "home-", create: true }, node: { capacity: "nodes" }, usage: "none" };

  expect(kinds(input)).toEqual([
    "Namespace virtual-kubelet",
    "virtual-kubelet ServiceAccount virtual-kubelet-far-1",
    "ClusterRole virtual-kubelet:far:virtual-kubelet:virtual-kubelet-far-1",
    "ClusterRoleBinding virtual-kubelet:far:virtual-kubelet:virtual-kubelet-far-1",
  ]);
  expect(resourcesIn(input, "ClusterRole")).toEqual(expect.arrayContaining(["pods", "secrets", "namespaces", "nodes"]));
});

test("no right is granted with a star, and none to escalate", () => {
  const all = printed({ namespaces: { mode: "same", create: true }, node: { capacity: "nodes", others: "subtract" }, usage: "kubelets" });
  const words = JSON.stringify(all.map(({ rules }) => rules));

  expect(words).not.toMatch(/\*|impersonate|escalate|bind|rolebindings/);
});

test("comments are single lines, and warn where the namespace is a guess", () => {
  const { head, objects } = farManifest(configOf({}), "far-1");

  expect([...head, ...objects.map(({ why }) => why)].join("")).not.toContain("\n");
  expect(head.join(" ")).toContain("namespaces.name is not set");
  expect(farManifest(configOf(narrow), "far-1").head.join(" ")).not.toContain("namespaces.name");
});

test("the account of a node with a very long name has a name that the API accepts", () => {
  expect(accountName("n".repeat(250)).length).toBeLessThan(64);
});
