import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { policyVerdict, type PolicyRefusal, type PolicyVerdict } from "../policy/check-policy.ts";
import type { Capabilities } from "../provider/capabilities.ts";
import type { ProviderDefinition } from "../provider/provider-definition.ts";
import { unsupportedFields } from "./unsupported-fields.ts";

/** What a pod may ask of a node: what its provider can do, and what the provider's configuration allows. */
export interface ProviderLimits {
  readonly capabilities: Capabilities;
  /** What the provider's policy says of a pod. Default: all is allowed. */
  readonly judge?: ((pod: DeepReadonly<Pod>) => PolicyVerdict) | undefined;
}

/** The limits of a provider with its parsed configuration. */
export function limitsOf<Config>(definition: ProviderDefinition<Config>, config: Config): ProviderLimits {
  const { capabilities, policyAnnotations: annotations, policyVolumes: volumes } = definition;
  const scope = { annotations, volumes, operatingSystems: capabilities.operatingSystems };
  const policy = definition.policy?.(config);
  return { capabilities, judge: policy && ((pod) => policyVerdict(pod, policy, scope)) };
}

/** What the policy does not allow of what a pod asks for. */
export function refusalsOf(pod: DeepReadonly<Pod>, { judge }: ProviderLimits): readonly PolicyRefusal[] {
  const verdict = judge?.(pod);
  return verdict?.kind === "refused" ? verdict.refusals : [];
}

/** Paths of the fields that ask for more than the limits let a pod have. */
export function pathsOverLimits(pod: DeepReadonly<Pod>, limits: ProviderLimits): readonly string[] {
  return [...refusalsOf(pod, limits), ...unsupportedFields(pod, limits.capabilities)].map(({ fieldPath }) => fieldPath);
}
