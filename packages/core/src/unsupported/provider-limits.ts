import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { policyVerdict, type PolicyRefusal, type PolicyVerdict } from "../policy/check-policy.ts";
import type { Capabilities } from "../provider/capabilities.ts";
import type { ProviderDefinition } from "../provider/provider-definition.ts";
import { unsupportedFields } from "./unsupported-fields.ts";

/** Limits for pods: the provider's capabilities, and the policy in its configuration. */
export interface ProviderLimits {
  readonly capabilities: Capabilities;
  /** Judges a pod by the provider's policy. Default: every pod is allowed. */
  readonly judge?: ((pod: DeepReadonly<Pod>) => PolicyVerdict) | undefined;
}

/** Returns the limits of a provider with its parsed configuration. */
export function limitsOf<Config>(definition: ProviderDefinition<Config>, config: Config): ProviderLimits {
  const { capabilities, policyAnnotations: annotations, policyVolumes: volumes } = definition;
  const scope = { annotations, volumes, operatingSystems: capabilities.operatingSystems };
  const policy = definition.policy?.(config);
  return { capabilities, judge: policy && ((pod) => policyVerdict(pod, policy, scope)) };
}

/** Returns the requests of a pod that the policy does not allow. */
export function refusalsOf(pod: DeepReadonly<Pod>, { judge }: ProviderLimits): readonly PolicyRefusal[] {
  const verdict = judge?.(pod);
  return verdict?.kind === "refused" ? verdict.refusals : [];
}

/** Returns the paths of the fields that exceed the limits. */
export function pathsOverLimits(pod: DeepReadonly<Pod>, limits: ProviderLimits): readonly string[] {
  return [...refusalsOf(pod, limits), ...unsupportedFields(pod, limits.capabilities)].map(({ fieldPath }) => fieldPath);
}
