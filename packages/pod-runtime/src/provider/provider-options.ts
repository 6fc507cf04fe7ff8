import type { DeepReadonly, NodeStats, Pod, ProviderHost } from "@virtual-kubelet/core";
import type { PodCgroups } from "../cgroup/pod-cgroups.ts";
import type { EvictionRules } from "../eviction/eviction-thresholds.ts";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";
import type { PodCgroupKeeper } from "../worker/pod-cgroup-keeper.ts";
import type { PodStorage } from "../worker/pod-storage.ts";
import type { PodPreparation } from "../worker/preparation.ts";

/** Deadlines of a runtime's calls, in milliseconds. Logs, exec, attach, port-forward and events have none. */
export interface CallDeadlines {
  /** For a ping. Default: 5,000. */
  readonly pingMs?: number | undefined;
  /** For lists, inspections and figures. Default: 60,000. */
  readonly readMs?: number | undefined;
  /** For creating and removing sandboxes and containers, and for changing resources. Default: 120,000. */
  readonly changeMs?: number | undefined;
  /** For starting a container. Default: 240,000. */
  readonly startMs?: number | undefined;
  /** For stopping a container, in addition to its grace period. Default: 30,000. */
  readonly stopMs?: number | undefined;
}

/** Measures a pod's cgroup, as `PodCgroups` does. */
export type PodCgroupMeter = Pick<PodCgroups, "usage">;

/** Settings of a node's administrator. */
export interface PodRuntimeSettings {
  readonly deadlines?: CallDeadlines | undefined;
  /** Maximum number of sandboxes that are created at once; the wait does not count for the call's deadline. Default: no maximum. */
  readonly sandboxesAtOnce?: number | undefined;
  /** Interval of complete lists, in addition to the runtime's events, in milliseconds. Default: 30,000. */
  readonly relistMs?: number | undefined;
  /** Maximum age of figures before they are measured again, in milliseconds. Default: 10,000. */
  readonly statsMs?: number | undefined;
  /**
   * Maximum number of containers that are measured at once. Default: 256, because Docker 20.10 takes up to two seconds for one answer, and
   * no longer for many requests at once.
   */
  readonly statsConcurrency?: number | undefined;
}

/** Options of a provider on a container runtime. */
export interface PodRuntimeProviderOptions {
  readonly host: ProviderHost;
  readonly runtime: ContainerRuntime;
  /** Translates the specs of all the node's pods into the runtime's specs. */
  readonly preparation: PodPreparation;
  /**
   * Refuses pods. Called before anything of a pod is created, and again before each sandbox and each start of a container, then with only
   * the names of the pod's other containers. Default: none are refused.
   *
   * @throws UnsupportedError naming the field: the pod stays Pending; TerminalError: it is Failed
   */
  readonly checkPod?: ((pod: DeepReadonly<Pod>) => void) | undefined;
  /** Default: pods have no volumes, and write no termination messages. */
  readonly storage?: PodStorage | undefined;
  /**
   * A cgroup for each pod, from `PodCgroups`. Default: no cgroups, and no pod-level limits. If it measures a pod's usage, that is the pod's
   * figure, else the sum of its containers'.
   */
  readonly cgroups?: (PodCgroupKeeper & Partial<PodCgroupMeter>) | undefined;
  /** Measures the node, such as `hostNodeStats` for this machine. Default: the sum of the pods. */
  readonly nodeStats?: ((signal: AbortSignal) => Promise<NodeStats>) | undefined;
  /** Eviction under node pressure, according to {@link nodeStats}. Default: none, and no pressure conditions. */
  readonly eviction?: EvictionOptions | undefined;
  readonly settings?: PodRuntimeSettings | undefined;
}

/** When pods are evicted, and what is reclaimed first. */
export interface EvictionOptions {
  readonly rules: EvictionRules;
  /** Removes unused images. Default: images are kept, and pods are evicted at once. */
  readonly reclaimImages?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  /** Whether images and writable layers have a file system of their own. Default: they share the node's. */
  readonly hasImageFs?: ((signal: AbortSignal) => Promise<boolean>) | undefined;
}
