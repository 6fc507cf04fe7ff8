import type { Pod } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { unsupportedChanges } from "./unsupported-changes.ts";

type Spec = NonNullable<Pod["spec"]>;

const container = { name: "app", image: "app:1", resources: { limits: { cpu: "1" } } };
const before: Pod = { metadata: { name: "web" }, spec: { containers: [container], initContainers: [{ name: "init", image: "i" }] } };
const bigger = { resources: { limits: { cpu: "2" } } };
const changed = (spec: Partial<Spec>): Pod => ({ ...before, spec: { containers: [container], ...before.spec, ...spec } });

test.each<[string, Partial<Spec>, readonly string[]]>([
  ["a container's resources", { containers: [{ ...container, ...bigger }] }, ["spec.containers[0].resources"]],
  ["an init container's", { initContainers: [{ name: "init", image: "i", ...bigger }] }, ["spec.initContainers[0].resources"]],
  ["the pod's own", { resources: { limits: { cpu: "2" } } }, ["spec.resources"]],
  ["an ephemeral container", { ephemeralContainers: [{ name: "debug", image: "sh" }] }, ["spec.ephemeralContainers[0]"]],
  ["an image and a toleration", { containers: [{ ...container, image: "app:2" }], tolerations: [{ operator: "Exists" }] }, []],
])("of a provider without a word on it %s cannot change: named by field", (_, spec, fields) => {
  expect(unsupportedChanges(before, changed(spec), { initContainers: true, restarts: true }).map(({ fieldPath }) => fieldPath)).toEqual(
    fields,
  );
});

test("what a provider can change is fine, and so is what was unsupported before", () => {
  const resized = changed({ containers: [{ ...container, ...bigger }], ephemeralContainers: [{ name: "debug", image: "sh" }] });

  expect(unsupportedChanges(before, resized, { resize: true, ephemeralContainers: true })).toEqual([]);
});

test("where it is not known what runs, resources are not compared", () => {
  expect(unsupportedChanges({ ...before, spec: undefined }, changed({ resources: { limits: { cpu: "2" } } }), { restarts: true })).toEqual([
    expect.objectContaining({ fieldPath: "spec.initContainers[0]" }),
  ]);
});
