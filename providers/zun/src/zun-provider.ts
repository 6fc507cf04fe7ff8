import type {
  AttachIO,
  ContainerLogOptions,
  ContainerLogs,
  DeepReadonly,
  DeletePodOptions,
  ExecResult,
  NodeDescription,
  Owner,
  Pod,
  PodRef,
  PodUpdate,
  Provider,
  ProviderHost,
  ProviderPod,
  ProviderPodList,
  ProviderPodStatus,
  ResolvedPod,
  StatsSummary,
} from "@virtual-kubelet/core";
import { isNotFound, messageOf, NotFoundError, UnsupportedError } from "@virtual-kubelet/errdefs";
import { attachStreams } from "./access/attach-streams.ts";
import { openLogs } from "./access/container-logs.ts";
import { ExecRunner } from "./access/exec-runner.ts";
import { writeTo } from "./access/stream-input.ts";
import { StatsReader } from "./access/pod-stats.ts";
import type { SocketSettings } from "./access/terminal-socket.ts";
import type { ZunConfig } from "./config/schema.ts";
import { PodCreator } from "./lifecycle/pod-creator.ts";
import { PodEndings } from "./lifecycle/pod-endings.ts";
import { oldestFirst, PodFinder } from "./lifecycle/pod-finder.ts";
import { PodNetwork } from "./lifecycle/pod-network.ts";
import { planPod, type PodPlan } from "./lifecycle/pod-plan.ts";
import { NeutronApi } from "./neutron/neutron-api.ts";
import { describeNode } from "./node/describe-node.ts";
import type { Session } from "./openstack/session.ts";
import type { Observation } from "./status/observation.ts";
import { PodBook } from "./status/pod-book.ts";
import { PodWatch } from "./watch/pod-watch.ts";
import type { ZunQuota } from "./zun/zun-objects.ts";
import { ZunApi } from "./zun/zun-api.ts";

/** Milliseconds between two looks for ports and floating IPs whose pods are gone. */
const sweepIntervalMs = 600_000;

/** What {@link ZunProvider} needs. */
export interface ZunProviderDeps {
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
  readonly #socket: SocketSettings;
  readonly #api: ZunApi;
  readonly #owner: Owner;
  readonly #book: PodBook;
  readonly #finder: PodFinder;
  readonly #network: PodNetwork;
  readonly #creator: PodCreator;
  readonly #endings: PodEndings;
  readonly #watch: PodWatch;
  readonly #exec: ExecRunner;
  readonly #stats: StatsReader;
  #listener: ((update: PodUpdate) => void) | undefined;
  #sweepAtMs: number = Number.NEGATIVE_INFINITY;

  constructor({ host, config, session, socket }: ZunProviderDeps) {
    const { clock, logger, nodeName, clusterId } = host;
    const owner: Owner = { clusterId, nodeName };
    const api = new ZunApi(session);
    const book = new PodBook(clock);
    const finder = new PodFinder({ api, book, owner });
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
    this.#socket = socket;
    this.#api = api;
    this.#owner = owner;
    this.#book = book;
    this.#finder = finder;
    this.#network = network;
    this.#creator = new PodCreator({ api, finder, book, network, config, logger });
    this.#endings = new PodEndings({
      api,
      finder,
      book,
      network,
      clock,
      logger,
      onChange: (uid) => this.#watch.tell(uid),
      onGone: (ref) => this.#watch.tellGone(ref),
    });
    this.#watch = new PodWatch({
      finder,
      book,
      clock,
      logger,
      intervalMs: config.pollIntervalMs,
      random: host.random,
      isBusy: (uid) => this.#endings.has(uid) || this.#creator.underWay.has(uid),
      onUpdate: (update) => this.#listener?.(update),
      onSeen: (observed, signal) => this.#settleNetwork(observed, signal),
      onDuplicate: (observed, signal) => this.#removeDuplicate(observed, signal),
      onListed: (signal) => this.#sweep(signal),
    });
    this.#exec = new ExecRunner({ api, clock, random: host.random, logger, socket });
    this.#stats = new StatsReader({ api, book, clock, logger });
  }

  /** Makes a container or a capsule of the pod. */
  async createPod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    const plan = await planPod(pod, resolved, { config: this.#config, owner: this.#owner }, signal);
    const isNew = this.#book.observed(plan.labels.ref.uid) === undefined;
    await this.#creator.create(plan, signal);
    if (isNew) this.#tellLimits(plan);
    this.#watch.tell(plan.labels.ref.uid);
    this.#watch.kick();
  }

  /** Nothing of a container can be changed that Kubernetes lets change: labels and annotations are Kubernetes' own. */
  updatePod(): Promise<void> {
    return Promise.resolve();
  }

  /** Ends the pod, and frees what it had. */
  async deletePod(ref: PodRef, options: DeletePodOptions, signal: AbortSignal): Promise<void> {
    await this.#creator.settled(ref.uid);
    await this.#endings.end(ref, options, signal);
  }

  /** The pod as Zun has it now. */
  async getPod(ref: PodRef, signal: AbortSignal): Promise<ProviderPod> {
    await this.#lookAt(ref, signal);
    const pod = this.#book.pod(ref.uid);
    if (!pod) throw gone(ref);
    return pod;
  }

  /** The pod's status as Zun has it now. */
  async getPodStatus(ref: PodRef, signal: AbortSignal): Promise<ProviderPodStatus> {
    return (await this.getPod(ref, signal)).status;
  }

  /** All pods of this node, from Zun's lists; one that cannot be read to its end throws. */
  async getPods(signal: AbortSignal): Promise<ProviderPodList> {
    const listed = await this.#finder.list(signal, { withCapsules: true });
    const pods = new Map<string, ProviderPod>();
    for (const observed of oldestFirst(listed)) {
      const { uid } = observed.labels.ref;
      if (pods.has(uid)) continue;
      // What is known is no older than the list.
      if (!this.#book.observed(uid))
        this.#book.note(observed.status === "Stopped" ? ((await this.#finder.look(observed, signal)) ?? observed) : observed);
      const pod = this.#book.pod(uid);
      if (pod) pods.set(uid, pod);
    }
    this.#creator.noteListed();
    return { pods: [...pods.values()], complete: true };
  }

  /** Begins to look after the pods. */
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
      this.#host.logger.debug({ err: error }, "the project's quota cannot be read; the node is as large as it is configured");
    }
    return describeNode(this.#config, quota);
  }

  /** A container's output. */
  async getContainerLogs(ref: PodRef, container: string, options: ContainerLogOptions, signal: AbortSignal): Promise<ContainerLogs> {
    const { uuid } = await this.#containerOf(ref, container, "logs", signal);
    if (options.previous)
      throw new NotFoundError(
        `read the logs of container ${container} before its last start: Zun keeps them in one log with the present ones`,
      );
    const status = async (inner: AbortSignal): Promise<string | undefined> => (await this.#tryFind(ref, inner))?.status;
    return openLogs(uuid, options, { api: this.#api, clock: this.#host.clock, status }, signal);
  }

  /** Runs a command in a container. */
  async runInContainer(ref: PodRef, container: string, command: readonly string[], io: AttachIO, signal: AbortSignal): Promise<ExecResult> {
    const { uuid } = await this.#containerOf(ref, container, "exec", signal);
    return this.#exec.run({ uuid, command, io }, signal);
  }

  /** Joins a container's streams. One that has no input is followed by its log, which Zun allows and its attach does not. */
  async attachToContainer(ref: PodRef, container: string, io: AttachIO, signal: AbortSignal): Promise<void> {
    const { uuid, interactive } = await this.#containerOf(ref, container, "attach", signal);
    if (interactive) return attachStreams(uuid, io, { api: this.#api, socket: this.#socket }, signal);
    const options = { follow: true, previous: false, timestamps: false, tailLines: 0 };
    const logs = await this.getContainerLogs(ref, container, options, signal);
    for await (const chunk of logs.live ?? []) await writeTo(io.stdout, String(chunk).replaceAll(/^\S+ /gm, ""), signal);
  }

  /** What the pods use that are containers. */
  getStatsSummary(signal: AbortSignal): Promise<StatsSummary> {
    return this.#stats.read(signal);
  }

  /** Ends what runs here; the pods run on. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener = undefined;
    await this.#exec[Symbol.asyncDispose]();
    await Promise.all([this.#watch[Symbol.asyncDispose](), this.#endings[Symbol.asyncDispose](), this.#creator[Symbol.asyncDispose]()]);
    await this.#session[Symbol.asyncDispose]();
  }

  async #lookAt(ref: PodRef, signal: AbortSignal): Promise<Observation> {
    const { uid } = ref;
    try {
      const observed = await this.#finder.find(ref, signal);
      this.#watch.tell(uid);
      return observed;
    } catch (error) {
      // Its end is told by who ends it.
      if (isNotFound(error) && !this.#endings.has(uid) && this.#book.observed(uid)) {
        this.#book.forget(uid);
        this.#watch.tellGone(ref);
      }
      throw error;
    }
  }

  async #tryFind(ref: PodRef, signal: AbortSignal): Promise<Observation | undefined> {
    try {
      return await this.#finder.find(ref, signal);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** The pod's only container. @throws NotFoundError for another name; UnsupportedError for a capsule's members */
  async #containerOf(ref: PodRef, container: string, what: "logs" | "exec" | "attach", signal: AbortSignal): Promise<Observation> {
    const observed = this.#book.observed(ref.uid) ?? (await this.#finder.find(ref, signal));
    const { containers, initContainers } = observed.labels;
    if (![...containers, ...initContainers].includes(container))
      throw new NotFoundError(`${what} of container ${container}: pod ${ref.namespace}/${ref.name} has only ${containers.join(", ")}`);
    if (observed.kind === "capsule")
      throw new UnsupportedError(
        `${what} of container ${container}: a pod of several containers is a capsule of Zun's, and Zun gives no access to a capsule's containers`,
      );
    return observed;
  }

  /** What a pod asks for and Zun cannot keep, told once. */
  #tellLimits({ kind, pod, labels }: PodPlan): void {
    if (kind !== "capsule") return;
    const warn = (reason: string, message: string): void => this.#host.recordEvent(labels.ref, { type: "Warning", reason, message });
    if (labels.restartPolicy !== "Always")
      warn(
        "EndNotSeen",
        "Zun does not tell when a container of a pod of several containers ends: this pod is said to run until it is deleted",
      );
    if (pod.spec?.containers.some(({ command = [] }) => command.length > 0))
      warn("EntryPointStays", "Zun runs the command of a pod of several containers as arguments of the image's entry point, if it has one");
  }

  async #settleNetwork(observed: Observation, signal: AbortSignal): Promise<void> {
    try {
      await this.#network.settle(observed, signal);
    } catch (error) {
      signal.throwIfAborted();
      const { ref } = observed.labels;
      this.#host.recordEvent(ref, { type: "Warning", reason: "NetworkNotReady", message: messageOf(error) });
      this.#host.logger.warn(
        { err: error, pod: `${ref.namespace}/${ref.name}` },
        "a pod's security groups or floating IP are not settled; it is tried again",
      );
    }
  }

  /** Two creates of one pod came through: the later is no pod of ours. */
  async #removeDuplicate({ kind, uuid, labels }: Observation, signal: AbortSignal): Promise<void> {
    this.#host.logger.warn({ pod: `${labels.ref.namespace}/${labels.ref.name}`, uuid }, "deleting a second container of one pod");
    try {
      if (kind === "container") await this.#api.deleteContainer(uuid, signal);
      else await this.#api.deleteCapsule(uuid, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#host.logger.debug({ err: error }, "deleting a second container failed; it is tried again");
    }
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#host;
    this.#creator.noteListed();
    if (this.#owner.clusterId === "" || clock.monotonic() < this.#sweepAtMs) return;
    this.#sweepAtMs = clock.monotonic() + sweepIntervalMs;
    const uids = new Set([...this.#book.all().map(({ labels }) => labels.ref.uid), ...this.#creator.underWay]);
    try {
      await this.#network.sweep(uids, signal);
    } catch (error) {
      signal.throwIfAborted();
      logger.debug({ err: error }, "looking for ports that were left failed; it is tried again");
    }
  }
}

function gone({ namespace, name, uid }: PodRef): NotFoundError {
  return new NotFoundError(`find pod ${namespace}/${name}: Zun holds no container and no capsule labelled with UID ${uid}`);
}
