import type { Pod } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { unsupportedChanges } from "./unsupported-changes.ts";

const before: Pod = { metadata: { name: "web" }, spec: { containers: [{ name: "app" }], initContainers: [{ name: "init" }] } };
const debugged: Pod = { ...before, spec: { containers: [{ name: "app", image: "app:2" }], ephemeralContainers: [{ name: "debug" }] } };

test("a change that no pod of the provider may ask for is named by its field", () => {
  expect(unsupportedChanges(before, debugged, { restarts: true }).map(({ fieldPath }) => fieldPath)).toEqual([
    "spec.ephemeralContainers[0]",
  ]);
});

test("what a provider supports is fine, and so is what was unsupported before", () => {
  expect(unsupportedChanges(before, debugged, { ephemeralContainers: true })).toEqual([]);
  expect(unsupportedChanges(debugged, debugged, {})).toEqual([]);
});
