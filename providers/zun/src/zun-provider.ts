import {
  ObjectReader,
  podRef,
  type AttachIO,
  type ContainerLogOptions,
  type ContainerLogs,
  type DeepReadonly,
  type DeletePodOptions,
  type ExecResult,
  type MetricFamily,
  type NodeDescription,
  type Owner,
  type Pod,
  type PodRef,
  type PodUpdate,
  type Provider,
  type ProviderHost,
  type ProviderPod,
  type ProviderPodList,
  type ProviderPodStatus,
  type ResolvedPod,
  type StatsSummary,
} from "@virtual-kubelet/core";
import { isNotFound, NotFoundError } from "@virtual-kubelet/errdefs";
import { PodAccess } from "./access/pod-access.ts";
import { StatsReader } from "./access/pod-stats.ts";
import type { SocketSettings } from "./access/terminal-socket.ts";
import type { ZunConfig } from "./config/schema.ts";
import { keptLimits } from "./lifecycle/kept-limits.ts";
import { NetworkUpkeep } from "./lifecycle/network-upkeep.ts";
import { PodCreator } from "./lifecycle/pod-creator.ts";
import { PodEndings } from "./lifecycle/pod-endings.ts";
import { needsLook, PodFinder } from "./lifecycle/pod-finder.ts";
import { PodNetwork } from "./lifecycle/pod-network.ts";
import { translatePod } from "./lifecycle/translate-pod.ts";
import { NeutronApi } from "./neutron/neutron-api.ts";
import { describeNode } from "./node/describe-node.ts";
import type { Session } from "./openstack/session.ts";
import { refuseChange } from "./pod/refused-changes.ts";
import { refuseFields } from "./pod/refused-fields.ts";
import { ContainerEnds } from "./probes/container-ends.ts";
import { PodProbing } from "./probes/pod-probing.ts";
import { oldestFirst, type Observation, type UnreadObject } from "./status/observation.ts";
import { PodRegistry } from "./status/pod-registry.ts";
import { PodWatch } from "./watch/pod-watch.ts";
import { uuidOf, ZunApi, type ZunObjectKind } from "./zun/zun-api.ts";
import type { ZunQuota } from "./zun/zun-objects.ts";

export interface ZunProviderOptions {
  readonly host: ProviderHost;
  readonly config: ZunConfig;
  readonly session: Session;
  readonly socket: SocketSettings;
}

/** Runs pods in OpenStack Zun. docs/adr/0010-zun.md shows how data goes through it. */
export class ZunProvider implements Provider {
  readonly #host: ProviderHost;
  readonly #config: ZunConfig;
  readonly #session: Session;
  readonly #api: ZunApi;
  readonly #owner: Owner;
  readonly #registry: PodRegistry;
  readonly #finder: PodFinder;
  readonly #upkeep: NetworkUpkeep;
  readonly #creator: PodCreator;
  readonly #endings: PodEndings;
  readonly #watch: PodWatch;
  readonly #access: PodAccess;
  readonly #stats: StatsReader;
  readonly #probing: PodProbing;
  readonly #ends: ContainerEnds;
  #listener: ((update: PodUpdate) => void) | undefined;

  constructor({ host, config, session, socket }: ZunProviderOptions) {
    const { clock, logger, metrics, nodeName, clusterId } = host;
    const owner: Owner = { clusterId, nodeName };
    const reader = new ObjectReader<ZunObjectKind>({ logger, metrics, backEnd: "Zun", idOf: uuidOf });
    const api = new ZunApi(session, reader);
    const probing = new PodProbing({
      api,
      clock,
      logger,
      findPod: (ref) => host.findPod(ref),
      recordEvent: (ref, event) => host.recordEvent(ref, event),
      onChange: (uid) => this.#watch.tell(uid),
      onFailed: (uid, container) => this.#ends.end(uid, container),
    });
    const registry = new PodRegistry(clock, probing);
    const finder = new PodFinder({ api, registry, owner, reader });
    const network = new PodNetwork({
      neutron: new NeutronApi(session),
      owner,
      logger,
      floatingNetwork: config.floatingNetwork,
      onFloatingIp: (ref, address) =>
        host.recordEvent(ref, { type: "Normal", reason: "FloatingIP", message: `The pod has floating IP ${address}` }),
    });
    this.#host = host;
    this.#config = config;
    this.#session = session;
    this.#api = api;
    this.#owner = owner;
    this.#registry = registry;
    this.#probing = probing;
    this.#finder = finder;
    this.#upkeep = new NetworkUpkeep(network, host);
    this.#creator = new PodCreator({ api, finder, registry, network, config, logger });
    this.#endings = new PodEndings({
      api,
      finder,
      registry,
      network,
      clock,
      logger,
      onChange: (uid) => this.#watch.tell(uid),
      onGone: (ref) => this.#watch.tellGone(ref),
    });
    this.#ends = new ContainerEnds({
      api,
      finder,
      registry,
      clock,
      logger,
      isEnding: (uid) => this.#endings.has(uid),
      onChange: (uid) => {
        this.#watch.tell(uid);
        this.#watch.kick();
      },
    });
    this.#watch = new PodWatch({
      finder,
      registry,
      clock,
      logger,
      intervalMs: config.pollIntervalMs,
      random: host.random,
      isBusy: (uid) => this.#endings.has(uid) || this.#ends.has(uid) || this.#creator.underWay.has(uid),
      onUpdate: (update) => this.#listener?.(update),
      onSeen: (observed, signal) => this.#upkeep.settle(observed, signal),
      onDuplicate: (observed, signal) => this.#endings.removeDuplicate(observed, signal),
      onListed: (unread, signal) => this.#noteListed(unread, signal),
    });
    this.#access = new PodAccess({ api, finder, registry, socket, clock, random: host.random, logger });
    this.#stats = new StatsReader({ api, registry, clock, logger, cpuIntervalMs: config.cpuIntervalMs });
  }

  /** Makes a container or a capsule of the pod. */
  async createPod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    const translated = await translatePod(pod, resolved, { config: this.#config, owner: this.#owner }, signal);
    const isNew = this.#registry.observed(translated.labels.ref.uid) === undefined;
    await this.#creator.create(translated, signal);
    if (isNew) for (const limit of keptLimits(translated)) this.#host.recordEvent(translated.labels.ref, { type: "Warning", ...limit });
    this.#watch.tell(translated.labels.ref.uid);
    this.#watch.kick();
  }

  /** Labels and annotations are Kubernetes' alone; a changed image, and a deadline, are refused. */
  async updatePod(pod: DeepReadonly<Pod>): Promise<void> {
    refuseFields(pod);
    const observed = this.#registry.observed(podRef(pod).uid);
    if (observed) refuseChange(observed, pod);
  }

  /** Ends the pod, and frees what it had. */
  async deletePod(ref: PodRef, options: DeletePodOptions, signal: AbortSignal): Promise<void> {
    await this.#creator.settled(ref.uid);
    await this.#endings.end(ref, options, signal);
  }

  /** The pod as Zun has it now. */
  async getPod(ref: PodRef, signal: AbortSignal): Promise<ProviderPod> {
    await this.#lookAt(ref, signal);
    const pod = this.#registry.pod(ref.uid);
    if (!pod) throw gone(ref);
    return pod;
  }

  /** The pod's status as Zun has it now. */
  async getPodStatus(ref: PodRef, signal: AbortSignal): Promise<ProviderPodStatus> {
    return (await this.getPod(ref, signal)).status;
  }

  /**
   * All pods of this node, from Zun's lists; a list that cannot be read to its end throws. An unreadable pod is listed in its
   * last known state. An object that may be a pod of this node but does not tell which makes the list incomplete.
   */
  async getPods(signal: AbortSignal): Promise<ProviderPodList> {
    const { pods: listed, unread } = await this.#finder.list(signal, { withCapsules: true });
    const pods = new Map<string, ProviderPod>();
    for (const observed of oldestFirst(listed)) {
      const { ref } = observed.labels;
      if (pods.has(ref.uid)) continue;
      const pod = await this.#podOf(observed, signal);
      if (pod) pods.set(ref.uid, pod);
    }
    for (const { ref } of unread) if (ref && !pods.has(ref.uid)) pods.set(ref.uid, this.#lastKnown(ref));
    const complete = areKnown(unread);
    if (complete) this.#creator.noteListed();
    return { pods: [...pods.values()], complete };
  }

  /** Starts to watch the pods. */
  notifyPods(listener: (update: PodUpdate) => void): void {
    this.#listener = listener;
    this.#watch.start();
  }

  /** Whether Zun answers, and takes our token. */
  async ping(signal: AbortSignal): Promise<void> {
    await this.#api.ping(signal);
  }

  /** The node's size: as configured, and no larger than the project's quota. */
  async configureNode(signal: AbortSignal): Promise<NodeDescription> {
    let quota: ZunQuota | undefined;
    try {
      quota = await this.#api.quota(signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#host.logger.debug({ err: error }, "the project's quota cannot be read; the node has its configured size");
    }
    return describeNode(this.#config, quota);
  }

  /** A container's output. */
  getContainerLogs(ref: PodRef, container: string, options: ContainerLogOptions, signal: AbortSignal): Promise<ContainerLogs> {
    return this.#access.logs(ref, container, options, signal);
  }

  /** Runs a command in a container. */
  runInContainer(ref: PodRef, container: string, command: readonly string[], io: AttachIO, signal: AbortSignal): Promise<ExecResult> {
    return this.#access.run(ref, container, command, io, signal);
  }

  /** Joins a container's streams. */
  attachToContainer(ref: PodRef, container: string, io: AttachIO, signal: AbortSignal): Promise<void> {
    return this.#access.attach(ref, container, io, signal);
  }

  /** Resource usage of pods that are containers. */
  getStatsSummary(signal: AbortSignal): Promise<StatsSummary> {
    return this.#stats.read(signal);
  }

  /** How the pods' probes have gone. */
  async getMetricsProbes(signal: AbortSignal): Promise<readonly MetricFamily[]> {
    signal.throwIfAborted();
    return this.#probing.metrics();
  }

  /** Stops all background work; the pods run on. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener = undefined;
    this.#probing[Symbol.dispose]();
    await this.#ends[Symbol.asyncDispose]();
    await this.#access[Symbol.asyncDispose]();
    await Promise.all([this.#watch[Symbol.asyncDispose](), this.#endings[Symbol.asyncDispose](), this.#creator[Symbol.asyncDispose]()]);
    await this.#session[Symbol.asyncDispose]();
  }

  /** A pod of the list; `undefined` if it is gone by now. */
  async #podOf(observed: Observation, signal: AbortSignal): Promise<ProviderPod | undefined> {
    const { ref } = observed.labels;
    // The registry is at least as recent as the list.
    const known = this.#registry.pod(ref.uid);
    if (known) return known;
    if (!needsLook(observed)) this.#registry.note(observed);
    else
      try {
        const looked = await this.#finder.look(observed, signal);
        if (!looked) return undefined;
        this.#registry.note(looked);
      } catch (error) {
        signal.throwIfAborted();
        this.#host.logger.debug({ err: error, pod: `${ref.namespace}/${ref.name}` }, "a pod could not be read; the next list tries again");
        return this.#lastKnown(ref);
      }
    return this.#registry.pod(ref.uid);
  }

  /** A pod that exists but cannot be read, in the state last known to the registry, else last reported to Kubernetes. */
  #lastKnown(ref: PodRef): ProviderPod {
    const { phase, reason, message, podIP, podIPs, containerStatuses, initContainerStatuses } = this.#host.findPod(ref)?.status ?? {};
    const status = { phase, reason, message, podIP, podIPs, containerStatuses, initContainerStatuses };
    return this.#registry.pod(ref.uid) ?? { ref, owner: this.#owner, status };
  }

  async #lookAt(ref: PodRef, signal: AbortSignal): Promise<Observation> {
    const { uid } = ref;
    try {
      const observed = await this.#finder.find(ref, signal);
      this.#watch.tell(uid);
      return observed;
    } catch (error) {
      // The deletion reports its own end.
      if (isNotFound(error) && !this.#endings.has(uid) && this.#registry.observed(uid)) {
        this.#registry.forget(uid);
        this.#watch.tellGone(ref);
      }
      throw error;
    }
  }

  async #noteListed(unread: readonly UnreadObject[], signal: AbortSignal): Promise<void> {
    // An unidentified pod may own any of the ports.
    if (!areKnown(unread)) return;
    this.#creator.noteListed();
    const unreadUids = unread.flatMap(({ ref }) => ref?.uid ?? []);
    const uids = new Set([...this.#registry.all().map(({ labels }) => labels.ref.uid), ...unreadUids, ...this.#creator.underWay]);
    await this.#upkeep.sweep(uids, signal);
  }
}

/** Whether all unreadable objects are known to be pods of the node. */
function areKnown(unread: readonly UnreadObject[]): boolean {
  return unread.every(({ ref }) => ref !== undefined);
}

function gone({ namespace, name, uid }: PodRef): NotFoundError {
  return new NotFoundError(`find pod ${namespace}/${name}: Zun has no container and no capsule labeled with UID ${uid}`);
}
