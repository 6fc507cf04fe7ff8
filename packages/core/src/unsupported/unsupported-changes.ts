import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { refusalMessage } from "../policy/check-policy.ts";
import { refusalsOf, type ProviderLimits } from "./provider-limits.ts";
import { listFields, unsupportedFields } from "./unsupported-fields.ts";

/** Returns messages about fields beyond the limits that a change of a running pod added; empty if there are none. */
export function unsupportedChanges(
  applied: DeepReadonly<Pod>,
  desired: DeepReadonly<Pod>,
  { limits, providerName }: { readonly limits: ProviderLimits; readonly providerName: string },
): readonly string[] {
  if (applied === desired) return [];
  const { capabilities } = limits;
  const refusals = newFields(refusalsOf(applied, limits), refusalsOf(desired, limits));
  const unsupported = newFields(unsupportedFields(applied, capabilities), unsupportedFields(desired, capabilities));
  return [
    ...(refusals.length > 0 ? [refusalMessage(refusals)] : []),
    ...(unsupported.length > 0 ? [`provider ${providerName} does not support ${listFields(unsupported)}`] : []),
  ];
}

function newFields<F extends { readonly fieldPath: string }>(before: readonly F[], after: readonly F[]): readonly F[] {
  const known = new Set(before.map(({ fieldPath }) => fieldPath));
  return after.filter(({ fieldPath }) => !known.has(fieldPath));
}
