import { InvalidInputError, isInvalidInput, isTerminal, isUnsupported, messageOf } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { resolveWithPlaceholders, type KnownObjects } from "./placeholder-resolver.ts";
import { refusalText, type PolicyVerdict } from "../policy/check-policy.ts";
import type { PlanContext, PlannedRequest } from "../provider/planned-request.ts";
import { IgnoredFields } from "../unsupported/ignored-fields.ts";
import { limitsOf } from "../unsupported/provider-limits.ts";
import type { ProviderDefinition } from "../provider/provider-definition.ts";
import { unsupportedFields } from "../unsupported/unsupported-fields.ts";

/** A pod, and the provider that would run it. */
export interface PlanPodOptions extends Omit<PlanContext<unknown>, "config"> {
  /** The pod as the API server has it, including defaults and UID. */
  readonly pod: DeepReadonly<Pod>;
  readonly provider: ProviderDefinition;
  /** The provider's configuration before it is parsed. */
  readonly providerConfig: unknown;
  /** Config maps and secrets of the pod's namespace; of secrets only names and keys are read. Default: none. */
  readonly objects?: Partial<KnownObjects> | undefined;
  /** Fields that are omitted if the provider does not support them; see `UnsupportedPolicy.ignore`. Default: none. */
  readonly ignore?: readonly string[] | undefined;
  /** Whether a pod needs its service account's token; see `PodOptions.automountToken`. Default: false. */
  readonly requireToken?: boolean | undefined;
}

/** Reason why a provider does not run a pod. */
export interface PodRefusal {
  /** Path of the field, such as `spec.containers[0].livenessProbe`; absent if no single field is the reason. */
  readonly fieldPath?: string | undefined;
  readonly message: string;
}

/** A provider's plan for a pod. */
export interface PodPlan {
  /** Reasons why it would not run the pod; empty if it would. */
  readonly refused: readonly PodRefusal[];
  /** In order; empty if the pod is refused. */
  readonly requests: readonly PlannedRequest[];
  /** Differences from a cluster, one line each. */
  readonly notes: readonly string[];
}

/**
 * Returns the requests that a provider would send to its back end for a pod, without cluster and back end. Secret values and tokens are not
 * read, but replaced by placeholders such as `[secret NAMESPACE/NAME: KEY]`.
 *
 * @throws InvalidInputError if the provider has no method `plan`, or for a configuration that its schema
 * rejects; errors of the provider other than a refusal
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
    throw new InvalidInputError(`plan a pod with provider ${provider.name}: it cannot show its requests; expected a method "plan"`);
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
