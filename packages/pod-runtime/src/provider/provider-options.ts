import type { DeepReadonly, NodeStats, Pod, PodRef, ProviderHost, VolumeStats } from "@virtual-kubelet/core";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";
import type { PodPreparation } from "../worker/effect-runner.ts";

/** What a pod has on the node's disk. Everything is idempotent, and survives the program. */
export interface PodStorage {
  /**
   * Makes the pod's volumes ready, and keeps them up to date until {@link release} or the end of the program. Called before
   * a sandbox is made, and again for each pod that is taken over from an earlier program.
   *
   * @throws what leaves the pod waiting as ContainerCreating, with an event FailedMount; it is tried again
   */
  prepare(pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<void>;
  /** Removes all the pod has, also of a pod that an earlier program made and whose spec is not known any more. */
  release(pod: PodRef, signal: AbortSignal): Promise<void>;
  /**
   * What a container that has ended wrote to its `terminationMessagePath`, the last 4096 bytes at most; empty if nothing.
   *
   * @param attempt - the start of the container, from 0
   */
  terminationMessage(pod: PodRef, container: string, attempt: number, signal: AbortSignal): Promise<string>;
  /** What each of the pod's volumes uses; those that cannot be measured are left out. */
  stats(pod: PodRef, signal: AbortSignal): Promise<readonly VolumeStats[]>;
}

/** How long calls of a runtime may take, in milliseconds; logs, exec, attach, port-forward and events may take any time. */
export interface CallDeadlines {
  /** Lists, inspections and figures; default 60,000. */
  readonly readMs?: number | undefined;
  /** Making and removing sandboxes and containers, changing resources; default 120,000. */
  readonly changeMs?: number | undefined;
  /** Starting a container; default 240,000. */
  readonly startMs?: number | undefined;
  /** Stopping a container, besides the grace it is given; default 30,000. */
  readonly stopMs?: number | undefined;
}

/** What a node's administrator settles; all of it has a default. */
export interface PodRuntimeSettings {
  readonly deadlines?: CallDeadlines | undefined;
  /** Sandboxes made at once; a wait for that is no part of the call's deadline. Default: any number. */
  readonly sandboxesAtOnce?: number | undefined;
  /** How often everything is looked at besides what the runtime tells by itself, in milliseconds; default 30,000. */
  readonly relistMs?: number | undefined;
  /** How long figures are kept before they are measured anew, in milliseconds; default 10,000. */
  readonly statsMs?: number | undefined;
  /** Containers measured at once; default 8. */
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
  /** What the node as a whole uses, as `hostNodeStats` measures it on this machine. Default: the pods' sum. */
  readonly nodeStats?: ((signal: AbortSignal) => Promise<NodeStats>) | undefined;
  readonly settings?: PodRuntimeSettings | undefined;
}
