import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { Capabilities } from "./capabilities.ts";
import { unsupportedFields, type UnsupportedField } from "./unsupported.ts";

/** Fields of a running pod's change that no pod of the provider may ask for, such as an ephemeral container. */
export function unsupportedChanges(
  applied: DeepReadonly<Pod>,
  desired: DeepReadonly<Pod>,
  capabilities: Capabilities,
): readonly UnsupportedField[] {
  const before = new Set(unsupportedFields(applied, capabilities).map(({ fieldPath }) => fieldPath));
  return unsupportedFields(desired, capabilities).filter(({ fieldPath }) => !before.has(fieldPath));
}
