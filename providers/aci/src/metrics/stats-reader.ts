import { Semaphore } from "@virtual-kubelet/async";
import type { Clock, Logger, PodStats, StatsSummary } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { RemoteTarget } from "@virtual-kubelet/remote-pods";
import type { ContainerGroups } from "../azure/container-groups.ts";
import { resourceGroupOf } from "../azure/container-groups.ts";
import type { ContainerGroup } from "../azure/group-schema.ts";
import { monitorSpanMs, monitorStats } from "./azure-monitor.ts";
import { realTimeStats, type ReadRealTime } from "./real-time.ts";

/** Pods that are measured at the same time. */
const atOnce = 8;
/** Pods of which one scrape reads Azure Monitor at most; the others keep their figures until the next scrapes. */
const monitorBatch = 40;
/** Age from which figures of Azure Monitor are read again; it has new ones once a minute. */
const monitorKeepMs = 60_000;
/** Age from which figures of the extension are read again. */
const realTimeKeepMs = 5_000;

export interface StatsReaderOptions {
  readonly groups: Pick<ContainerGroups, "metrics">;
  readonly readRealTime: ReadRealTime;
  /** Whether pods without the extension are measured by Azure Monitor. */
  readonly usesMonitor: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Measures pods by their realtime-metrics extension or by Azure Monitor. */
export class StatsReader {
  readonly #options: StatsReaderOptions;
  readonly #last = new Map<string, { readonly atMs: number; readonly stats: PodStats | undefined }>();

  constructor(options: StatsReaderOptions) {
    this.#options = options;
  }

  /** Returns the pods' figures; of a pod that cannot be measured now the last ones. */
  async read(targets: readonly RemoteTarget<ContainerGroup>[], signal: AbortSignal): Promise<StatsSummary> {
    const { clock, usesMonitor } = this.#options;
    const nowMs = clock.monotonic();
    const running = targets.filter(({ remote }) => remote?.properties.instanceView?.state === "Running");
    const ageOf = (uid: string): number => nowMs - (this.#last.get(uid)?.atMs ?? -Infinity);
    const realTime = running.filter((target) => hasExtension(target) && ageOf(target.identity.ref.uid) >= realTimeKeepMs);
    const monitored = usesMonitor
      ? running
          .filter((target) => !hasExtension(target) && ageOf(target.identity.ref.uid) >= monitorKeepMs)
          .toSorted((one, other) => ageOf(other.identity.ref.uid) - ageOf(one.identity.ref.uid))
      : [];
    const slots = new Semaphore(atOnce);
    await Promise.all(
      [...realTime, ...monitored.slice(0, monitorBatch)].map(async (target) => {
        using _slot = await slots.acquire(signal);
        await this.#measure(target, signal);
      }),
    );
    const uids = new Set(targets.map(({ identity }) => identity.ref.uid));
    for (const uid of this.#last.keys()) if (!uids.has(uid)) this.#last.delete(uid);
    const waiting = Math.max(0, monitored.length - monitorBatch);
    return {
      pods: running.flatMap(({ identity }) => this.#last.get(identity.ref.uid)?.stats ?? []),
      ...(waiting > 0 && { incomplete: `${waiting} pods are measured by the next scrapes, because Azure Monitor limits requests` }),
    };
  }

  async #measure(target: RemoteTarget<ContainerGroup>, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    const { ref } = target.identity;
    try {
      this.#last.set(ref.uid, { atMs: clock.monotonic(), stats: await this.#statsOf(target, signal) });
    } catch (error) {
      signal.throwIfAborted();
      this.#last.set(ref.uid, { atMs: clock.monotonic(), stats: this.#last.get(ref.uid)?.stats });
      logger.debug({ err: messageOf(error), pod: `${ref.namespace}/${ref.name}` }, "a pod could not be measured");
    }
  }

  async #statsOf(target: RemoteTarget<ContainerGroup>, signal: AbortSignal): Promise<PodStats | undefined> {
    const { groups, readRealTime, clock } = this.#options;
    const { remote, identity } = target;
    if (!remote) return undefined;
    const members = remote.properties.containers ?? [];
    const address = remote.properties.ipAddress?.ip;
    if (hasExtension(target)) return address ? realTimeStats(identity.ref, members, await readRealTime(address, signal)) : undefined;
    const nowMs = clock.now();
    const [from, to] = [nowMs - monitorSpanMs, nowMs].map((ms) => new Date(ms).toISOString());
    const place = { resourceGroup: resourceGroupOf(remote.id), name: remote.name, span: `${from}/${to}` };
    return monitorStats(identity.ref, members, { answer: await groups.metrics(place, signal), nowMs });
  }
}

function hasExtension({ remote }: RemoteTarget<ContainerGroup>): boolean {
  return (remote?.properties.extensions ?? []).some(({ properties }) => properties?.extensionType === "realtime-metrics");
}
