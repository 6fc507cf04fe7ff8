import { expect, test } from "vitest";
import type { Capabilities } from "../provider/capabilities.ts";
import { ignorableFields } from "./ignored-fields.ts";
import { refusableFields, supportsField } from "./refusable-fields.ts";

const fields = refusableFields();

/** The field of a path. */
function fieldOf(fieldPath: string, scope?: Parameters<typeof refusableFields>[0]) {
  const found = refusableFields(scope).find((field) => field.fieldPath === fieldPath);
  if (!found) throw new Error(`there is no field ${fieldPath}`);
  return found;
}

test("every capability but resize has a field that needs it", () => {
  const needed = new Set(fields.map(({ capability }) => capability));
  const capabilities: Readonly<Record<keyof Capabilities, boolean>> = {
    initContainers: true,
    sidecarContainers: true,
    ephemeralContainers: true,
    multipleContainers: true,
    env: true,
    probes: true,
    lifecycleHooks: true,
    restarts: true,
    hostNetwork: true,
    hostPorts: true,
    sharedNamespaces: true,
    securityContext: true,
    privileged: true,
    gpus: true,
    volumes: true,
    operatingSystems: true,
    resize: false,
  };

  for (const [capability, has] of Object.entries(capabilities))
    expect([capability, needed.has(capability as keyof Capabilities)]).toEqual([capability, has]);
});

test("every field that may be ignored is one that may be refused", () => {
  const paths = new Set(fields.map(({ fieldPath }) => fieldPath));

  expect(ignorableFields.filter((path) => !paths.has(path))).toEqual([]);
  expect(fields.filter(({ isIgnorable }) => isIgnorable)).toHaveLength(ignorableFields.length);
});

test("a field that both a capability and a policy decide about is one field", () => {
  expect(fieldOf("spec.hostNetwork")).toEqual({
    fieldPath: "spec.hostNetwork",
    feature: "the host's network",
    capability: "hostNetwork",
    policy: { setting: "hostNetwork" },
    isIgnorable: true,
  });
});

test("a field that no setting of a policy allows says so", () => {
  expect(fieldOf("spec.hostUsers")).toMatchObject({ capability: undefined, policy: { setting: undefined }, isIgnorable: false });
});

test("annotations that a provider's policy judges are fields, too", () => {
  const path = "metadata.annotations['acme.example/size']";

  expect(fieldOf(path, { annotations: [{ name: "acme.example/size" }] })).toMatchObject({ policy: { setting: "annotations" } });
  expect(fields.map(({ fieldPath }) => fieldPath)).not.toContain(path);
});

test("capabilities support a field, do not, or have no say", () => {
  expect(supportsField(fieldOf("spec.containers[*].env"), { env: true })).toBe(true);
  expect(supportsField(fieldOf("spec.containers[*].env"), {})).toBe(false);
  expect(supportsField(fieldOf("spec.volumes[*].secret"), { volumes: ["secret"] })).toBe(true);
  expect(supportsField(fieldOf("spec.volumes[*].nfs"), { volumes: ["secret"] })).toBe(false);
  expect(supportsField(fieldOf("spec.hostUsers"), {})).toBeUndefined();
});
