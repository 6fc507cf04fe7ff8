import type {
  AttachIO,
  ContainerAccess,
  ContainerLogOptions,
  ContainerLogs,
  DeletePodOptions,
  ExecResult,
  NodeDescription,
  PodChanges,
  PodRef,
  PodUpdate,
  Provider,
  ProviderPod,
  ProviderPodList,
  ProviderPodStatus,
  ProvisionedSource,
  ReleasedVolume,
  ResolvedPod,
  StatsSummary,
  VolumeWish,
} from "@virtual-kubelet/core";
import { isNotFound, isUnauthorized } from "@virtual-kubelet/errdefs";
import { resources, type DeepReadonly, type Pod } from "@virtual-kubelet/kube-client";
import type { Duplex } from "node:stream";
import type { SharedEvents } from "./events/far-events.ts";
import type { KubernetesReason } from "./reasons.ts";
import { createPodAccess } from "./access/pod-access.ts";
import { Carrier } from "./carry/carrier.ts";
import { FarClaims } from "./claims/far-claims.ts";
import type { FarNode } from "./far/far-node.ts";
import { ownerObjectName } from "./identity/names.ts";
import { NodeWatch } from "./node/node-watch.ts";
import type { SharedSelections } from "./node/shared-selections.ts";
import { removeFarNode } from "./far/remove-node.ts";
import { notTheFarCluster } from "./far/not-the-far-cluster.ts";
import { refusedCredentials } from "./far/refused-credentials.ts";
import { sameClusterProblem } from "./far/same-cluster.ts";
import { PodKeeper } from "./pods/pod-keeper.ts";
import { checkRights } from "./rights/check-rights.ts";
import type { ServiceMirrors } from "./services/service-mirrors.ts";
import type { SharedFigures } from "./usage/far-figures.ts";
import { FarUsage } from "./usage/far-usage.ts";
import { usageProblem } from "./usage/usage-source.ts";

/** Time for which pods run on while the far API server restarts. */
const pingToleranceMs = 40_000;

/** What the virtual nodes of a process share, besides their connections. */
export interface SharedByNodes {
  readonly selections: SharedSelections;
  readonly mirrors: ServiceMirrors;
  readonly figures: SharedFigures;
  readonly events: SharedEvents;
}

/** Runs pods in another cluster; `docs/adr/0024-another-cluster-as-a-node.md` shows the parts. */
export class KubernetesProvider implements Provider, AsyncDisposable {
  readonly pingToleranceMs: number = pingToleranceMs;
  readonly #node: FarNode;
  readonly #share: AsyncDisposable;
  readonly #carrier: Carrier;
  readonly #claims: FarClaims;
  readonly #keeper: PodKeeper;
  readonly #access: ContainerAccess;
  readonly #usage: FarUsage;
  readonly #watch: NodeWatch;
  readonly #mirrors: ServiceMirrors;
  readonly #events: SharedEvents;
  #mirror: AsyncDisposable | undefined;
  #reading: AsyncDisposable | undefined;

  /**
   * @param share - of the connection, which is let go at the end
   * @param shared - what all nodes of the process share
   */
  constructor(node: FarNode, share: AsyncDisposable, shared: SharedByNodes) {
    this.#node = node;
    this.#share = share;
    this.#carrier = new Carrier(node);
    this.#claims = new FarClaims(node);
    this.#keeper = new PodKeeper(node, this.#carrier);
    this.#watch = new NodeWatch(node, shared.selections);
    this.#mirrors = shared.mirrors;
    this.#events = shared.events;
    this.#access = createPodAccess(node);
    this.#usage = new FarUsage(node, shared.figures.of(node.far, node.host.clock));
  }

  createPod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    return this.#keeper.createPod(pod, resolved, signal);
  }

  updatePod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal, changes: PodChanges): Promise<void> {
    return this.#keeper.updatePod(pod, resolved, signal, changes);
  }

  deletePod(ref: PodRef, options: DeletePodOptions, signal: AbortSignal): Promise<void> {
    return this.#keeper.deletePod(ref, options, signal);
  }

  getPod(ref: PodRef, signal: AbortSignal): Promise<ProviderPod> {
    return this.#keeper.getPod(ref, signal);
  }

  getPodStatus(ref: PodRef, signal: AbortSignal): Promise<ProviderPodStatus> {
    return this.#keeper.getPodStatus(ref, signal);
  }

  getPods(signal: AbortSignal): Promise<ProviderPodList> {
    return this.#keeper.getPods(signal);
  }

  notifyPods(listener: (update: PodUpdate) => void): void {
    // Called once, when the node's lease is ours: a copy of the program that stands by changes nothing in the far cluster.
    this.#carrier.start();
    this.#keeper.notifyPods(listener);
    this.#mirror ??= this.#mirrors.start(this.#node);
    if (this.#node.config.events) this.#reading ??= this.#readEvents();
  }

  getContainerLogs(ref: PodRef, container: string, options: ContainerLogOptions, signal: AbortSignal): Promise<ContainerLogs> {
    return this.#access.getContainerLogs(ref, container, options, signal);
  }

  runInContainer(ref: PodRef, container: string, command: readonly string[], io: AttachIO, signal: AbortSignal): Promise<ExecResult> {
    return this.#access.runInContainer(ref, container, command, io, signal);
  }

  attachToContainer(ref: PodRef, container: string, io: AttachIO, signal: AbortSignal): Promise<void> {
    return this.#access.attachToContainer(ref, container, io, signal);
  }

  portForward(ref: PodRef, port: number, stream: Duplex, signal: AbortSignal): Promise<void> {
    return this.#access.portForward(ref, port, stream, signal);
  }

  provisionVolume(wish: VolumeWish, signal: AbortSignal): Promise<ProvisionedSource> {
    return this.#claims.provisionVolume(wish, signal);
  }

  removeVolume(volume: ReleasedVolume, signal: AbortSignal): Promise<void> {
    return this.#claims.removeVolume(volume, signal);
  }

  getStatsSummary(signal: AbortSignal): Promise<StatsSummary> {
    return this.#usage.summary(signal);
  }

  /** Lists the node's owner object, one small object that may be missing, with the credentials and the rights that pods need. */
  async ping(signal: AbortSignal): Promise<void> {
    const { far, owner, namespaces } = this.#node;
    const query = { namespace: namespaces.only ?? namespaces.toFar("default"), fieldSelector: `metadata.name=${ownerObjectName(owner)}` };
    const list = async (until: AbortSignal): Promise<string> => {
      try {
        return (await far.connection.client.list(resources.configMaps, query, { signal: until })).resourceVersion;
      } catch (error) {
        if (isUnauthorized(error)) throw refusedCredentials(error);
        throw isNotFound(error) ? notTheFarCluster(error) : error;
      }
    };
    await far.ping(list, signal);
    far.wake();
    await this.#watch.checkFarNode(signal);
  }

  /** Only reads: asks the far cluster about each right, whether the capacity is known, where figures come from, and which cluster it is. */
  async checkAccess(signal: AbortSignal): Promise<readonly string[]> {
    const { far, config, namespaces, owner } = this.#node;
    const { client } = far.connection;
    await checkRights(client, config, namespaces.only, signal);
    await this.#watch.checkFarNode(signal);
    await this.#watch.checkCapacity(signal);
    const warnings = await Promise.all([
      sameClusterProblem(client, owner.clusterId, signal),
      usageProblem(client, config, namespaces.only, signal),
    ]);
    return warnings.filter((warning) => warning !== undefined);
  }

  configureNode(signal: AbortSignal): Promise<NodeDescription> {
    return this.#watch.describe(signal);
  }

  notifyNodeStatus(listener: () => void): void {
    this.#watch.listen(listener);
  }

  removeNode(signal: AbortSignal): Promise<void> {
    const { far, owner, namespaces } = this.#node;
    return removeFarNode(far.connection.client, owner, namespaces.only, signal);
  }

  #readEvents(): AsyncDisposable {
    const { far, owner, namespaces, host } = this.#node;
    const { clock, random, logger } = host;
    return this.#events.of({ far, namespace: namespaces.only, clock, random, logger }).read({
      owner,
      onEvent: (pod, event) => host.recordEvent(pod, event),
      onForbidden: (why) => {
        const reason: KubernetesReason = "FarEventsForbidden";
        host.recordNodeEvent?.({ type: "Warning", reason, message: why });
        logger.warn({ err: why }, "events of far pods are not shown, because the far cluster does not allow to read them");
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reading?.[Symbol.asyncDispose]();
    await this.#mirror?.[Symbol.asyncDispose]();
    await this.#keeper[Symbol.asyncDispose]();
    await this.#watch[Symbol.asyncDispose]();
    await this.#carrier[Symbol.asyncDispose]();
    await this.#share[Symbol.asyncDispose]();
  }
}
