import type {
  AttachIO,
  ContainerLogOptions,
  ContainerLogs,
  DeepReadonly,
  DeletePodOptions,
  ExecResult,
  Pod,
  PodRef,
  PodUpdate,
  Provider,
  ProviderPod,
  ProviderPodList,
  ProviderPodStatus,
  ResolvedPod,
  StatsSummary,
} from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { Duplex } from "node:stream";
import type { PodRuntimeProviderOptions } from "./provider-options.ts";

/**
 * All of a provider but its node, over a container runtime: workers by UID, adoption of what an earlier program began,
 * access to containers, figures. A provider extends it with `ping`, `configureNode` and what else it has.
 *
 * What runs goes on when it is disposed.
 */
export class PodRuntimeProvider implements Omit<Provider, "ping" | "configureNode" | "notifyNodeStatus"> {
  /** What it was made with. */
  protected readonly options: PodRuntimeProviderOptions;

  constructor(options: PodRuntimeProviderOptions) {
    this.options = options;
  }

  /** As `PodNotifier.notifyPods`. From then on the runtime is listened to. */
  notifyPods(_listener: (update: PodUpdate) => void): void {
    throw notYet();
  }

  /** As `PodLifecycleHandler.createPod`: what the runtime holds of the pod is taken over, and the rest begun. */
  createPod(_pod: DeepReadonly<Pod>, _resolved: ResolvedPod, _signal: AbortSignal): Promise<void> {
    return Promise.reject(notYet());
  }

  /** As `PodLifecycleHandler.updatePod`. */
  updatePod(_pod: DeepReadonly<Pod>, _resolved: ResolvedPod, _signal: AbortSignal): Promise<void> {
    return Promise.reject(notYet());
  }

  /** As `PodLifecycleHandler.deletePod`; also for a pod of which nothing but its containers' labels is known. */
  deletePod(_ref: PodRef, _options: DeletePodOptions, _signal: AbortSignal): Promise<void> {
    return Promise.reject(notYet());
  }

  /** As `PodLifecycleHandler.getPod`. */
  getPod(_ref: PodRef, _signal: AbortSignal): Promise<ProviderPod> {
    return Promise.reject(notYet());
  }

  /** As `PodLifecycleHandler.getPodStatus`. */
  async getPodStatus(ref: PodRef, signal: AbortSignal): Promise<ProviderPodStatus> {
    return (await this.getPod(ref, signal)).status;
  }

  /** As `PodLifecycleHandler.getPods`; throws rather than give a part. Takes over what it finds of the node's pods. */
  getPods(_signal: AbortSignal): Promise<ProviderPodList> {
    return Promise.reject(notYet());
  }

  /** As `ContainerAccess.getContainerLogs`. */
  getContainerLogs(_ref: PodRef, _container: string, _options: ContainerLogOptions, _signal: AbortSignal): Promise<ContainerLogs> {
    return Promise.reject(notYet());
  }

  /** As `ContainerAccess.runInContainer`. */
  runInContainer(_ref: PodRef, _container: string, _command: readonly string[], _io: AttachIO, _signal: AbortSignal): Promise<ExecResult> {
    return Promise.reject(notYet());
  }

  /** As `ContainerAccess.attachToContainer`. */
  attachToContainer(_ref: PodRef, _container: string, _io: AttachIO, _signal: AbortSignal): Promise<void> {
    return Promise.reject(notYet());
  }

  /** As `ContainerAccess.portForward`. */
  portForward(_ref: PodRef, _port: number, _stream: Duplex, _signal: AbortSignal): Promise<void> {
    return Promise.reject(notYet());
  }

  /** As `PodMetricsProvider.getStatsSummary`. */
  getStatsSummary(_signal: AbortSignal): Promise<StatsSummary> {
    return Promise.reject(notYet());
  }

  /** Lets go of all pods, whose containers go on. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

function notYet(): UnsupportedError {
  return new UnsupportedError("run a pod on a container runtime: not yet");
}
