import { InvalidInputError, isInvalidInput, isTerminal, isUnsupported, messageOf } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { resolveWithPlaceholders, type KnownObjects } from "./placeholder-resolver.ts";
import { refusalText, type PolicyVerdict } from "../policy/check-policy.ts";
import type { PlanContext, PlannedRequest } from "../provider/planned-request.ts";
import { IgnoredFields } from "../unsupported/ignored-fields.ts";
import { limitsOf } from "../unsupported/provider-limits.ts";
import type { ProviderDefinition } from "../provider/provider-definition.ts";
import { unsupportedFields } from "../unsupported/unsupported-fields.ts";

export interface PlanPodOptions extends Omit<PlanContext<unknown>, "config"> {
  /** The pod as the API server holds it, defaults and UID included. */
  readonly pod: DeepReadonly<Pod>;
  readonly provider: ProviderDefinition;
  /** The provider's configuration as users write it. */
  readonly providerConfig: unknown;
  /** Config maps and secrets of the pod's namespace; of secrets only names and keys are looked at. Default: none. */
  readonly objects?: Partial<KnownObjects> | undefined;
  /** Fields that are left out of the pod where the provider does not support them; see `UnsupportedPolicy.ignore`. Default: none. */
  readonly ignore?: readonly string[] | undefined;
  /** Whether a pod needs its service account's token; see `PodOptions.automountToken`. Default: false. */
  readonly requireToken?: boolean | undefined;
}

/** Why a provider does not run a pod. */
export interface PodRefusal {
  /** Path of the field, such as `spec.containers[0].livenessProbe`; absent where no single field is to blame. */
  readonly fieldPath?: string | undefined;
  readonly message: string;
}

/** What a provider would do for a pod. */
export interface PodPlan {
  /** Why it would not run it; empty if it would. */
  readonly refused: readonly PodRefusal[];
  /** In their order; none if it is refused. */
  readonly requests: readonly PlannedRequest[];
  /** What would be otherwise in a cluster, each a line. */
  readonly notes: readonly string[];
}

/**
 * What a provider would send to its back end for a pod, without cluster and back end. Secret values and tokens are not
 * read: in their place stands `[secret NAMESPACE/NAME: KEY]` and the like.
 *
 * @throws InvalidInputError if the provider does not tell what it would send, or for a configuration that its schema
 * does not take; what the provider throws besides a refusal
 */
export async function planPod(options: PlanPodOptions, signal: AbortSignal): Promise<PodPlan> {
  const { pod: asked, provider, providerConfig, objects, ignore, requireToken = false, nodeName, clusterId, clusterDomain } = options;
  const parsed = provider.configSchema.safeParse(providerConfig);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    throw new InvalidInputError(`plan a pod with provider ${provider.name}: its configuration: ${problems.join("; ")}`);
  }
  const ignored = new IgnoredFields(ignore);
  const limits = limitsOf(provider, parsed.data);
  const given = ignored.omitAll({ pod: asked, paths: [] }, limits);
  const verdict = limits.judge?.(given.pod);
  if (verdict && verdict.kind !== "allowed") return { refused: refusalsOf(verdict), requests: [], notes: [] };
  const refused = unsupportedFields(given.pod, provider.capabilities, { requireToken }).map(({ fieldPath, message }) => ({
    fieldPath,
    message: `provider ${provider.name} does not support ${message}`,
  }));
  if (refused.length > 0) return { refused, requests: [], notes: [] };
  const { plan } = provider;
  if (!plan)
    throw new InvalidInputError(`plan a pod with provider ${provider.name}: it does not tell what it would send; expected a method "plan"`);
  const { resolved, notes } = resolveWithPlaceholders(asked, { configMaps: [], secrets: [], ...objects });
  try {
    const context = { nodeName, clusterId, clusterDomain, config: parsed.data };
    return await ignored.tell(given, async ({ pod, paths }) => ({
      refused: [],
      requests: await plan.call(provider, pod, resolved, context, signal),
      notes: [...notes, ...paths.map((path) => `${path} is left out: provider ${provider.name} does not support it`)],
    }));
  } catch (error) {
    signal.throwIfAborted();
    if (!isUnsupported(error) && !isInvalidInput(error) && !isTerminal(error)) throw error;
    const { fieldPath } = error as { readonly fieldPath?: unknown };
    return { refused: [{ ...(typeof fieldPath === "string" && { fieldPath }), message: messageOf(error) }], requests: [], notes: [] };
  }
}

function refusalsOf(verdict: Exclude<PolicyVerdict, { kind: "allowed" }>): readonly PodRefusal[] {
  if (verdict.kind === "rejected") return [{ message: verdict.message }];
  return verdict.refusals.map((refusal) => ({ fieldPath: refusal.fieldPath, message: refusalText(refusal) }));
}
