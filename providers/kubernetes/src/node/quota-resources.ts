import type { DeepReadonly, ResourceQuota } from "@virtual-kubelet/kube-client";
import { compareQuantities, tryParseQuantity, type Quantity, type ResourceQuantities } from "@virtual-kubelet/kubernetes";

/** Limits that the quotas of a far namespace set for pods together. */
export interface QuotaResources {
  readonly capacity: ResourceQuantities;
  /** Quotas that are not counted, each with the reason, such as `jobs: it limits only pods with activeDeadlineSeconds`. */
  readonly ignored: readonly string[];
}

/**
 * Reads the limits of resource quotas as a node's capacity: the smallest of several. Requests never exceed limits, so that a quota for limits
 * bounds requests, too.
 * Source of the names: kubernetes v1.36.3 pkg/quota/v1/evaluator/core/pods.go.
 */
export function quotaResources(quotas: Iterable<DeepReadonly<ResourceQuota>>): QuotaResources {
  const capacity = new Map<string, Quantity>();
  const ignored: string[] = [];
  for (const quota of Array.from(quotas).toSorted(byName)) {
    const { counts, reason } = scopeOf(quota);
    if (reason !== undefined) ignored.push(`${quota.metadata?.name}: ${reason}`);
    for (const [key, text] of Object.entries(quota.status?.hard ?? quota.spec?.hard ?? {})) {
      const name = resourceOf(key);
      const limit = tryParseQuantity(text);
      if (name === undefined || limit === undefined || !counts(name)) continue;
      const known = capacity.get(name);
      if (!known || compareQuantities(limit, known) < 0) capacity.set(name, limit);
    }
  }
  return { capacity, ignored };
}

/** Resources of a node that a quota may name without a prefix. */
const plainResources = ["cpu", "memory", "ephemeral-storage", "pods"];

/** The node's resource that a key of a quota limits; `undefined` for other things, such as claims and services. */
function resourceOf(key: string): string | undefined {
  if (plainResources.includes(key) || key.startsWith("hugepages-")) return key;
  if (key === "count/pods") return "pods";
  const name = /^(?:requests|limits)\.(.+)$/.exec(key)?.[1];
  return name === "storage" ? undefined : name;
}

interface Scope {
  /** Whether the quota's limit of this resource counts. */
  counts(name: string): boolean;
  /** Why the quota does not count, or only in part. */
  readonly reason?: string | undefined;
}

/** Why a quota that covers only some pods says nothing about the others. */
const narrowScopes: Readonly<Record<string, string>> = {
  Terminating: "limits only pods with activeDeadlineSeconds",
  BestEffort: "limits only pods without requests",
  CrossNamespacePodAffinity: "limits only pods with affinity to other namespaces",
};

function scopeOf({ spec }: DeepReadonly<ResourceQuota>): Scope {
  const selected = spec?.scopeSelector?.matchExpressions ?? [];
  const names = [...(spec?.scopes ?? []), ...selected.map(({ scopeName }) => scopeName)];
  const narrow = names.find((name) => name !== "NotTerminating" && name !== "NotBestEffort");
  if (narrow !== undefined) {
    const words = narrowScopes[narrow] ?? `limits only pods of scope ${narrow}`;
    return { counts: () => false, reason: `it ${words}` };
  }
  // Whatever requests a resource is not best-effort; only the number of pods is that of some.
  if (names.includes("NotBestEffort"))
    return { counts: (name) => name !== "pods", reason: "its number of pods does not limit those without requests" };
  return { counts: () => true };
}

function byName(a: DeepReadonly<ResourceQuota>, b: DeepReadonly<ResourceQuota>): number {
  return (a.metadata?.name ?? "") < (b.metadata?.name ?? "") ? -1 : 1;
}
