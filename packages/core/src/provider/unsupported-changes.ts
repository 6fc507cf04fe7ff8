import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { isSameJson } from "../kubernetes/json-equality.ts";
import type { Capabilities } from "./capabilities.ts";
import { unsupportedFields, type UnsupportedField } from "./unsupported.ts";

/**
 * What of a running pod's changes is more than the capabilities offer: other resources, and whatever no pod may ask for, such as an
 * ephemeral container.
 *
 * @param applied - the pod as it runs; without a spec that is not known, and resources are not compared
 */
export function unsupportedChanges(
  applied: DeepReadonly<Pod>,
  desired: DeepReadonly<Pod>,
  capabilities: Capabilities,
): readonly UnsupportedField[] {
  const before = new Set(unsupportedFields(applied, capabilities).map(({ fieldPath }) => fieldPath));
  const asked = unsupportedFields(desired, capabilities).filter(({ fieldPath }) => !before.has(fieldPath));
  return capabilities.resize ? asked : [...asked, ...changedResources(applied, desired)];
}

function changedResources({ spec: before }: DeepReadonly<Pod>, { spec: after }: DeepReadonly<Pod>): UnsupportedField[] {
  if (!before || !after) return [];
  const message = "changes of a running pod's resources";
  const fields: UnsupportedField[] = [];
  for (const list of ["initContainers", "containers"] as const)
    for (const [index, { name, resources = {} }] of (after[list] ?? []).entries()) {
      const known = before[list]?.find((container) => container.name === name);
      if (known && !isSameJson(known.resources ?? {}, resources)) fields.push({ fieldPath: `spec.${list}[${index}].resources`, message });
    }
  if (!isSameJson(before.resources ?? {}, after.resources ?? {})) fields.push({ fieldPath: "spec.resources", message });
  return fields;
}
