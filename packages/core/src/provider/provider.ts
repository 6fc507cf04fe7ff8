import type { DeepReadonly, Pod, PodStatus } from "@virtual-kubelet/kube-client";
import type { PodPart } from "../pod/state/pod-changes.ts";
import type { PodPolicy, PolicyAnnotation, PolicyVolume } from "../policy/pod-policy.ts";
import type { VolumeProvisioner } from "./volume-provisioner.ts";
import type { Capabilities } from "./capabilities.ts";
import type { ContainerAccess } from "./container-access.ts";
import type { PlanContext, PlannedRequest } from "./planned-request.ts";
import type { PodMetricsProvider } from "./pod-metrics.ts";
import type { PodRef } from "./pod-ref.ts";
import type { ProviderHost } from "./provider-host.ts";
import type { ResolvedPod } from "./resolved-pod.ts";

/** Whose a back-end object is. A provider tags what it creates with this and the pod's UID, and reports the tag. */
export interface Owner {
  /** Id of the cluster; see {@link ProviderHost.clusterId}. */
  readonly clusterId: string;
  readonly nodeName: string;
}

/** A pod as the back end holds it. */
export interface ProviderPod {
  readonly ref: PodRef;
  /** The tag found on the back-end object. */
  readonly owner: Owner;
  /** When the back end made it, RFC 3339. Kept in the tag where the back end does not tell it; absent for objects of other programs. */
  readonly createdAt?: string | undefined;
  readonly status: ProviderPodStatus;
}

/**
 * What a provider says of a pod. It reports what it sees: phase, addresses and one container status for each
 * container of the spec. Conditions, start time, host addresses and observedGeneration are the core's: it derives
 * them, and ignores them here, but for PodReadyToStartContainers, which only who has the pod's sandbox knows. Conditions of
 * types the core does not own (readiness gates, say) are passed on. Resources of the pod as a whole stay as they are where
 * nothing is said of them.
 */
export interface ProviderPodStatus extends DeepReadonly<
  Pick<
    PodStatus,
    | "phase"
    | "reason"
    | "message"
    | "podIP"
    | "podIPs"
    | "containerStatuses"
    | "initContainerStatuses"
    | "ephemeralContainerStatuses"
    | "resources"
    | "allocatedResources"
  >
> {
  readonly conditions?: DeepReadonly<PodStatus["conditions"]> | undefined;
  /**
   * Whether a deleted pod has ended only when it is reported as `gone`, or no longer found, rather than with its last container: for a
   * provider that knows when network, ports, volumes and limits of the pod have been released. The pod stays at the API server until
   * then, so that nothing takes its place before. Its phase may be final earlier, once ports and addresses are free; as long as it is not, the
   * pod has not ended, whatever its containers say. The same in all reports of a pod. Default: `false`.
   */
  readonly endsWhenGone?: boolean | undefined;
}

/** The inventory of a provider. */
export interface ProviderPodList {
  readonly pods: readonly ProviderPod[];
  /** Whether this is all there is. `false` (a page failed, a region did not answer) makes every missing pod unknown, never gone. */
  readonly complete: boolean;
}

/** A provider's report on one pod: its status, or that the back end no longer holds it. */
export type PodUpdate = { readonly ref: PodRef; readonly status: ProviderPodStatus } | { readonly ref: PodRef; readonly gone: true };

/** Options of {@link PodLifecycleHandler.deletePod}. */
export interface DeletePodOptions {
  /** Seconds the containers have left to end by themselves, counted from now; 0 is at once. */
  readonly gracePeriodSeconds: number;
}

/** What {@link PodLifecycleHandler.updatePod} is to apply. */
export interface PodChanges {
  /** The pod as the provider was last given it; `undefined` where that is not known, after a restart for instance. */
  readonly previous: DeepReadonly<Pod> | undefined;
  /** The parts that differ, or may differ; see {@link PodPart}. */
  readonly parts: readonly PodPart[];
}

/**
 * The six methods every provider has. All of them may be called for different pods at once, never twice at once for
 * one pod; `getPods`, `getPod` and `getPodStatus` at any time. Errors are matched by their errdefs code; an error
 * without one is tried again with back-off. Every call has a deadline: `signal` aborts then, and at shutdown.
 */
export interface PodLifecycleHandler {
  /**
   * Makes the back end run the pod; returns when the back end has accepted it, without waiting for containers to run.
   * Must be idempotent by UID: called again after an unclear outcome, it adopts what it finds. The pod is the
   * controller's own object and must not be changed.
   *
   * @throws UnsupportedError to leave the pod Pending with its field named; InvalidInputError to leave it Pending;
   * TerminalError to make it Failed, with the error's reason if it has one.
   */
  createPod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal): Promise<void>;
  /**
   * Applies a changed spec, labels or annotations. A pod whose update fails keeps its phase. New resources come only once the node has
   * room for them; a resize that is refused, with an UnsupportedError, InvalidInputError or TerminalError, is shown as Infeasible.
   *
   * @param changes - what is different from what the provider was last given
   */
  updatePod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal, changes: PodChanges): Promise<void>;
  /**
   * Ends the pod's containers within the grace period and then frees what it used; returns when the back end has
   * accepted that, without waiting for the containers. The end is reported as a status in which every container has
   * terminated, or as `gone`; where a status has `endsWhenGone`, as `gone` alone. Called again with less grace, it shortens what is left. Must be idempotent.
   *
   * @throws NotFoundError when there is no such pod; that counts as done.
   */
  deletePod(ref: PodRef, options: DeletePodOptions, signal: AbortSignal): Promise<void>;
  /** @throws NotFoundError when the back end holds no pod of that UID. Any other error means "unknown". */
  getPod(ref: PodRef, signal: AbortSignal): Promise<ProviderPod>;
  /**
   * The pod's status alone. Asked for where the state of one pod is unclear: it should have ended and nothing was reported,
   * or `getPods` does not answer.
   *
   * @throws NotFoundError when the back end holds no pod of that UID. Any other error means "unknown".
   */
  getPodStatus(ref: PodRef, signal: AbortSignal): Promise<ProviderPodStatus>;
  /**
   * All pods of this cluster and node. Never called twice at once. Has a minute at most; a provider that does not notify is asked
   * about single pods, through {@link getPodStatus}, where it takes longer than ten seconds.
   */
  getPods(signal: AbortSignal): Promise<ProviderPodList>;
}

/** A provider that says by itself how its pods go. One that does not is polled with one `getPods` an interval. */
export interface PodNotifier {
  /**
   * Called once, before any other method of {@link PodLifecycleHandler}. The listener returns at once, keeps only the
   * latest report of each pod, and may be called at any time, also from inside another call.
   */
  notifyPods(listener: (update: PodUpdate) => void): void;
}

/** An image on the node. */
export interface NodeImage {
  readonly names: readonly string[];
  readonly sizeBytes: number;
}

/** What a provider says of the node; what is absent stays as configured. */
export interface NodeDescription {
  /** Quantities by resource name: `cpu`, `memory`, `pods`, `ephemeral-storage`, `nvidia.com/gpu`, … */
  readonly capacity?: Readonly<Record<string, string>> | undefined;
  /** Default: the capacity. */
  readonly allocatable?: Readonly<Record<string, string>> | undefined;
  readonly addresses?: readonly { readonly type: string; readonly address: string }[] | undefined;
  readonly operatingSystem?: "linux" | "windows" | undefined;
  /** In Go's words: `amd64`, `arm64`, … */
  readonly architecture?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /** Conditions besides Ready, such as MemoryPressure. */
  readonly conditions?:
    | readonly { readonly type: string; readonly status: "True" | "False" | "Unknown"; readonly reason: string; readonly message: string }[]
    | undefined;
  readonly providerID?: string | undefined;
  /** Such as `docker://28.2.2`. */
  readonly containerRuntimeVersion?: string | undefined;
  /** The machine's system, in its own words, such as `Debian GNU/Linux 12 (bookworm)`; of the node's information. */
  readonly osImage?: string | undefined;
  /** Such as `6.1.0-18-amd64`. */
  readonly kernelVersion?: string | undefined;
  /** Ids of the machine, of its firmware and of this boot; of the node's information. */
  readonly machineID?: string | undefined;
  readonly systemUUID?: string | undefined;
  readonly bootID?: string | undefined;
  /** Images on the node, by all their names; of the node's status. The largest 50 are shown, each with 5 names. */
  readonly images?: readonly NodeImage[] | undefined;
  /** What the node can do that an API server asks for by name, besides what the node's options declare; of the node's status. */
  readonly declaredFeatures?: readonly string[] | undefined;
}

/** What a provider knows of its node. All methods are optional but {@link ping}. */
export interface NodeProvider {
  /** Whether the back end answers. Cheap; called every ping interval, never twice at once. @throws if it does not. */
  ping(signal: AbortSignal): Promise<void>;
  /**
   * Milliseconds since the last good ping for which the node stays Ready though the back end cannot be reached: for one whose pods
   * go on while it restarts. Only an UnavailableError or a DeadlineExceededError of {@link ping} is tolerated. Default: 0.
   */
  readonly pingToleranceMs?: number | undefined;
  /** Describes the node. Called before registration, and again after each {@link notifyNodeStatus}. */
  configureNode?(signal: AbortSignal): Promise<NodeDescription>;
  /** Called once, before registration; the listener asks for a new {@link configureNode} soon. */
  notifyNodeStatus?(listener: () => void): void;
}

/** A {@link NodeProvider} whose back end always answers. */
export class NaiveNodeProvider implements NodeProvider {
  ping(): Promise<void> {
    return Promise.resolve();
  }
}

/** All a provider can do. What is optional and absent answers "not supported". */
export interface Provider
  extends
    PodLifecycleHandler,
    Partial<PodNotifier>,
    Partial<NodeProvider>,
    Partial<ContainerAccess>,
    Partial<PodMetricsProvider>,
    Partial<VolumeProvisioner>,
    Partial<AsyncDisposable> {
  /** A container's output; see {@link ContainerAccess.getContainerLogs}. */
  getContainerLogs?: ContainerAccess["getContainerLogs"];
  /** Runs a command in a container; see {@link ContainerAccess.runInContainer}. */
  runInContainer?: ContainerAccess["runInContainer"];
  /** Joins a container's streams; see {@link ContainerAccess.attachToContainer}. */
  attachToContainer?: ContainerAccess["attachToContainer"];
  /** Joins a stream with a port of a pod; see {@link ContainerAccess.portForward}. */
  portForward?: ContainerAccess["portForward"];
  /** What pods use; see {@link PodMetricsProvider.getStatsSummary}. */
  getStatsSummary?: PodMetricsProvider["getStatsSummary"];
  /** Figures of its own for `/metrics/resource`; see {@link PodMetricsProvider.getMetricsResource}. */
  getMetricsResource?: NonNullable<PodMetricsProvider["getMetricsResource"]>;
  /** Makes a volume for a claim; see {@link VolumeProvisioner.provisionVolume}. */
  provisionVolume?: VolumeProvisioner["provisionVolume"];
  /** Removes one whose claim is gone; see {@link VolumeProvisioner.removeVolume}. */
  removeVolume?: VolumeProvisioner["removeVolume"];
  /** How its probes have gone; see {@link PodMetricsProvider.getMetricsProbes}. */
  getMetricsProbes?: NonNullable<PodMetricsProvider["getMetricsProbes"]>;
}

/**
 * What a provider package exports as `provider`.
 *
 * @typeParam Config - the parsed configuration
 */
export interface ProviderDefinition<Config = unknown> {
  /** The name `--provider` takes. */
  readonly name: string;
  /** Other names it takes. */
  readonly aliases?: readonly string[] | undefined;
  readonly capabilities: Capabilities;
  /** Schema of the configuration; a zod schema is one. */
  readonly configSchema: ConfigSchema<Config>;
  /**
   * What the configuration lets pods ask of their node. A pod that asks for more never reaches the provider. Absent, or `undefined`: pods
   * may ask for all that the capabilities offer.
   */
  policy?(config: Config): PodPolicy | undefined;
  /** Annotations by which a pod chooses how the provider runs it; the policy has to allow their values. Default: none. */
  readonly policyAnnotations?: readonly PolicyAnnotation[] | undefined;
  /** Fields by which a pod names volumes of the back end; the policy has to allow their ids. Default: none. */
  readonly policyVolumes?: readonly PolicyVolume[] | undefined;
  /**
   * Names of provisioners, as StorageClasses have them, whose volumes the provider makes and removes with this configuration; see
   * {@link VolumeProvisioner}. The program's rights gain what that takes. Default: none.
   */
  provisioners?(config: Config): readonly string[];
  /**
   * Makes the provider of one node. Must not wait for the back end: that is `ping`'s business.
   *
   * @param config - what {@link configSchema} returned
   * @throws InvalidInputError for a configuration that can never work; the program ends with 78 then. So it does for a system's error about
   * a file that is not there or cannot be read. Any other error ends it with 1
   */
  create(host: ProviderHost, config: Config): Provider | Promise<Provider>;
  /**
   * The requests that {@link PodLifecycleHandler.createPod} would send for a pod, in their order, made by the same code. Contacts
   * no back end: what an answer would decide is taken as usual, and said in the request's note. For
   * `virtual-kubelet plan`, and for tests.
   *
   * @throws what `createPod` would throw for the pod: UnsupportedError, InvalidInputError, TerminalError
   */
  plan?(
    pod: DeepReadonly<Pod>,
    resolved: ResolvedPod,
    context: PlanContext<Config>,
    signal: AbortSignal,
  ): Promise<readonly PlannedRequest[]>;
}

/** The part of a zod schema the program uses. */
export interface ConfigSchema<Config> {
  /** JSON Schema of the input, for documents and for naming the nearest right key; every zod 4 schema has it. */
  toJSONSchema?(options?: { io?: "input" | "output" }): object;
  /** Parses the input without throwing; each issue names its field by path. */
  safeParse(input: unknown):
    | { readonly success: true; readonly data: Config }
    | {
        readonly success: false;
        readonly error: {
          readonly issues: readonly {
            readonly path: readonly PropertyKey[];
            readonly message: string;
            readonly code?: string | undefined;
          }[];
        };
      };
}
