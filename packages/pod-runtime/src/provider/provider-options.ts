import type { DeepReadonly, NodeStats, Pod, ProviderHost } from "@virtual-kubelet/core";
import type { PodCgroups } from "../cgroup/pod-cgroups.ts";
import type { EvictionRules } from "../eviction/eviction-thresholds.ts";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";
import type { PodCgroupKeeper } from "../worker/pod-cgroup-keeper.ts";
import type { PodStorage } from "../worker/pod-storage.ts";
import type { PodPreparation } from "../worker/preparation.ts";

/** How long calls of a runtime may take, in milliseconds; logs, exec, attach, port-forward and events may take any time. */
export interface CallDeadlines {
  /** A sign of life; default 5,000. */
  readonly pingMs?: number | undefined;
  /** Lists, inspections and figures; default 60,000. */
  readonly readMs?: number | undefined;
  /** Making and removing sandboxes and containers, changing resources; default 120,000. */
  readonly changeMs?: number | undefined;
  /** Starting a container; default 240,000. */
  readonly startMs?: number | undefined;
  /** Stopping a container, besides the grace it is given; default 30,000. */
  readonly stopMs?: number | undefined;
}

/** Tells what the cgroup of a pod has used, as `PodCgroups` does. */
export type PodCgroupMeter = Pick<PodCgroups, "usage">;

/** What a node's administrator settles; all of it has a default. */
export interface PodRuntimeSettings {
  readonly deadlines?: CallDeadlines | undefined;
  /** Sandboxes made at once; a wait for that is no part of the call's deadline. Default: any number. */
  readonly sandboxesAtOnce?: number | undefined;
  /** How often everything is looked at besides what the runtime tells by itself, in milliseconds; default 30,000. */
  readonly relistMs?: number | undefined;
  /** How long figures are kept before they are measured anew, in milliseconds; default 10,000. */
  readonly statsMs?: number | undefined;
  /**
   * Containers measured at once; default 256. An engine of Docker 20.10 takes up to two seconds for each answer, and no longer for
   * all of them at once.
   */
  readonly statsConcurrency?: number | undefined;
}

/** What {@link PodRuntimeProvider} needs. */
export interface PodRuntimeProviderOptions {
  readonly host: ProviderHost;
  readonly runtime: ContainerRuntime;
  /** Turns the specs of all the node's pods into what the runtime takes. */
  readonly preparation: PodPreparation;
  /**
   * Refuses a pod before anything of it is made, and what has changed of one since: it is asked again for each sandbox and each
   * start of a container, then with the names alone of the pod's other containers. Default: none is.
   *
   * @throws UnsupportedError naming the field: the pod stays Pending; TerminalError: it is Failed
   */
  readonly checkPod?: ((pod: DeepReadonly<Pod>) => void) | undefined;
  /** Default: pods have nothing on the disk, and write no termination messages. */
  readonly storage?: PodStorage | undefined;
  /**
   * A cgroup for each pod, as `PodCgroups` makes them. Default: pods have none, and no limits as a whole. Where it tells what a
   * pod uses, that is the pod's figure; else it is the sum of the containers'.
   */
  readonly cgroups?: (PodCgroupKeeper & Partial<PodCgroupMeter>) | undefined;
  /** What the node as a whole uses, as `hostNodeStats` measures it on this machine. Default: the pods' sum. */
  readonly nodeStats?: ((signal: AbortSignal) => Promise<NodeStats>) | undefined;
  /**
   * When pods are evicted because the node runs out of something, by what {@link nodeStats} measures. Default: never, and the node tells
   * no pressure.
   */
  readonly eviction?: EvictionOptions | undefined;
  readonly settings?: PodRuntimeSettings | undefined;
}

/** How a provider's node evicts pods. */
export interface EvictionOptions {
  readonly rules: EvictionRules;
  /** Removes images that nobody uses. Default: they stay, and pods are evicted at once. */
  readonly reclaimImages?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  /** Whether images and writable layers are on a file system of their own. Default: they are on the node's. */
  readonly hasImageFs?: ((signal: AbortSignal) => Promise<boolean>) | undefined;
}
