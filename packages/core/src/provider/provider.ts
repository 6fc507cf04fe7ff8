import type { ContainerAccess } from "./container-access.ts";
import type { NodeProvider } from "./node-provider.ts";
import type { PodLifecycleHandler, PodNotifier } from "./pod-lifecycle.ts";
import type { PodMetricsProvider } from "./pod-metrics.ts";
import type { VolumeProvisioner } from "./volume-provisioner.ts";

/** All methods of a provider. A request that needs an absent optional method is answered with "not supported". */
export interface Provider
  extends
    PodLifecycleHandler,
    Partial<PodNotifier>,
    Partial<NodeProvider>,
    Partial<ContainerAccess>,
    Partial<PodMetricsProvider>,
    Partial<VolumeProvisioner>,
    Partial<AsyncDisposable> {
  /** Reads a container's output; see {@link ContainerAccess.getContainerLogs}. */
  getContainerLogs?: ContainerAccess["getContainerLogs"];
  /** Runs a command in a container; see {@link ContainerAccess.runInContainer}. */
  runInContainer?: ContainerAccess["runInContainer"];
  /** Attaches to a container's streams; see {@link ContainerAccess.attachToContainer}. */
  attachToContainer?: ContainerAccess["attachToContainer"];
  /** Connects a stream to a port of a pod; see {@link ContainerAccess.portForward}. */
  portForward?: ContainerAccess["portForward"];
  /** Measures the pods; see {@link PodMetricsProvider.getStatsSummary}. */
  getStatsSummary?: PodMetricsProvider["getStatsSummary"];
  /** Returns figures for `/metrics/resource`; see {@link PodMetricsProvider.getMetricsResource}. */
  getMetricsResource?: NonNullable<PodMetricsProvider["getMetricsResource"]>;
  /** Creates a volume for a claim; see {@link VolumeProvisioner.provisionVolume}. */
  provisionVolume?: VolumeProvisioner["provisionVolume"];
  /** Removes a volume whose claim is gone; see {@link VolumeProvisioner.removeVolume}. */
  removeVolume?: VolumeProvisioner["removeVolume"];
  /** Returns results of probes; see {@link PodMetricsProvider.getMetricsProbes}. */
  getMetricsProbes?: NonNullable<PodMetricsProvider["getMetricsProbes"]>;
  /** Removes what the node as a whole owns at the back end; see {@link NodeProvider.removeNode}. */
  removeNode?: NonNullable<NodeProvider["removeNode"]>;
}
