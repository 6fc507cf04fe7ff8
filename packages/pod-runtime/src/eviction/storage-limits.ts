import type { DeepReadonly, Pod, PodStats } from "@virtual-kubelet/core";
import { formatQuantity, parseQuantity, podLimits, wholeUnits } from "@virtual-kubelet/kubernetes";

const resource = "ephemeral-storage";

/** Whether the pod or one of its containers limits ephemeral storage. */
export function hasStorageLimit({ spec }: DeepReadonly<Pod>): boolean {
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].some(
    ({ resources }) => resources?.limits?.[resource] !== undefined,
  );
}

/** A limit that a pod exceeds. */
export interface ExceededLimit {
  /** Label `eviction_signal` of the metric `kubelet_evictions`. */
  readonly signal: "ephemeralpodfs.limit" | "ephemeralcontainerfs.limit";
  /** In a kubelet's words. */
  readonly message: string;
}

/**
 * The ephemeral-storage limit that a pod exceeds: of all its containers (writable layers, logs and volumes on the node's disk), or of one
 * container (writable layer and logs). `undefined`: none.
 *
 * Source: podEphemeralStorageLimitEviction and containerEphemeralStorageLimitEviction in kubernetes v1.36.3
 * pkg/kubelet/eviction/eviction_manager.go. Limits of emptyDir volumes are checked by the volume manager.
 *
 * @param options - `hasImageFs`: writable layers have a file system of their own, and do not count for a container
 */
export function exceededStorageLimit(
  pod: DeepReadonly<Pod>,
  stats: PodStats,
  { hasImageFs }: { readonly hasImageFs: boolean },
): ExceededLimit | undefined {
  const limit = podLimits(pod.spec).get(resource);
  const used = stats[resource]?.usedBytes ?? 0;
  if (limit !== undefined && BigInt(used) > wholeUnits(limit)) {
    const amount = formatQuantity(limit);
    const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${amount}. `;
    return { signal: "ephemeralpodfs.limit", message };
  }
  for (const { name, resources } of pod.spec?.containers ?? []) {
    const text = resources?.limits?.[resource];
    const measured = stats.containers.find((container) => container.name === name);
    if (text === undefined || !measured) continue;
    const own = parseQuantity(text);
    const usedBytes = (measured.logs?.usedBytes ?? 0) + (hasImageFs ? 0 : (measured.rootfs?.usedBytes ?? 0));
    if (own.nano === 0n || BigInt(usedBytes) * 1_000_000_000n <= own.nano) continue;
    const message = `Container ${name} exceeded its local ephemeral storage limit "${formatQuantity(own)}". `;
    return { signal: "ephemeralcontainerfs.limit", message };
  }
  return undefined;
}
