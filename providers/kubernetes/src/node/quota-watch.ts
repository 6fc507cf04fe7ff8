import type { Clock, Random } from "@virtual-kubelet/clock";
import { isForbidden } from "@virtual-kubelet/errdefs";
import { Reflector, resources, type Logger, type Metrics, type ResourceQuota, type Store } from "@virtual-kubelet/kube-client";
import type { FarCluster } from "../far/far-cluster.ts";

/** What {@link watchQuotas} needs. */
export interface QuotaWatchOptions {
  readonly far: Pick<FarCluster, "connection" | "history">;
  readonly namespace: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Quotas of a far namespace that are followed. */
export interface QuotaWatch {
  readonly store: Store<ResourceQuota>;
  /** Ends when the signal has aborted. */
  readonly done: Promise<void>;
}

/**
 * Follows the quotas of a far namespace until the signal aborts. Resolves when they are listed.
 *
 * @returns `undefined` if the rights do not allow to list them
 */
export async function watchQuotas(options: QuotaWatchOptions, signal: AbortSignal): Promise<QuotaWatch | undefined> {
  const { far, namespace } = options;
  const { client } = far.connection;
  try {
    await client.list(resources.resourceQuotas, { namespace, limit: 1 }, { signal });
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
  const reflector = new Reflector({ ...options, client, history: far.history, resource: resources.resourceQuotas, query: { namespace } });
  const done = reflector.run(signal);
  // The first list may fail; then whoever waits hears of it.
  done.catch(() => {});
  await reflector.synced;
  return { store: reflector.store, done };
}
