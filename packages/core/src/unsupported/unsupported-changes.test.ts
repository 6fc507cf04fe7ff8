import type { Pod } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import type { Capabilities } from "../provider/capabilities.ts";
import { unsupportedChanges } from "./unsupported-changes.ts";

const before: Pod = { metadata: { name: "web" }, spec: { containers: [{ name: "app" }], initContainers: [{ name: "init" }] } };
const debugged: Pod = { ...before, spec: { containers: [{ name: "app", image: "app:2" }], ephemeralContainers: [{ name: "debug" }] } };

const changes = (applied: Pod, desired: Pod, capabilities: Capabilities): readonly string[] =>
  unsupportedChanges(applied, desired, { limits: { capabilities }, providerName: "test" });

test("a change that no pod of the provider may ask for is named by its field", () => {
  expect(changes(before, debugged, { restarts: true })).toEqual([
    "provider test does not support spec.ephemeralContainers[0]: ephemeral containers",
  ]);
});

test("what a provider supports is fine, and so is what was unsupported before", () => {
  expect(changes(before, debugged, { ephemeralContainers: true })).toEqual([]);
  expect(changes(debugged, debugged, {})).toEqual([]);
});
