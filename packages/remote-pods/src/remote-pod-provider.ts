import { untilAborted } from "@virtual-kubelet/async";
import type {
  ContainerAccess,
  ContainerLogOptions,
  ContainerLogs,
  DeepReadonly,
  DeletePodOptions,
  MetricFamily,
  NodeDescription,
  Owner,
  Pod,
  PodChanges,
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
import { podRef } from "@virtual-kubelet/core";
import { isNotFound, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import type { LogSnapshot, RemoteBackend, SnapshotQuery } from "./backend/remote-backend.ts";
import type { RemoteTarget } from "./backend/remote-target.ts";
import { isThrottled } from "./calls/throttled-error.ts";
import { followSnapshots } from "./logs/follow-snapshots.ts";
import { SnapshotPollers } from "./logs/snapshot-pollers.ts";
import { outputStateOf, type SnapshotSource } from "./logs/snapshot-source.ts";
import { refuseUpdate } from "./pods/refuse-update.ts";
import { ObjectObserver } from "./pods/object-observer.ts";
import { PodCreator } from "./pods/pod-creator.ts";
import { PodEndings } from "./pods/pod-endings.ts";
import { PodFinder } from "./pods/pod-finder.ts";
import { PodTable } from "./pods/pod-table.ts";
import { identityOf } from "./state/pod-state.ts";
import { RemoteProbes } from "./probes/remote-probes.ts";
import { statusOf } from "./state/pod-status.ts";
import { previousObjectOf } from "./state/previous-object.ts";
import { PodWatch } from "./watch/pod-watch.ts";

/** Milliseconds since the last successful ping during which the node stays ready, so that three pings have failed. */
const pingToleranceMs = 40_000;

/** Options of a {@link RemotePodProvider}. */
export interface RemotePodProviderOptions<Request, Remote, Memory> {
  readonly host: ProviderHost;
  readonly backend: RemoteBackend<Request, Remote, Memory>;
  /** Milliseconds between lists while something changes, 1 or more; six times as much while nothing does. Default: 5,000. */
  readonly pollIntervalMs?: number | undefined;
}

/**
 * Provider of a {@link RemoteBackend}. Optional methods exist only if the back end has the call that they need, so that the program answers
 * all other requests with "not supported".
 */
export class RemotePodProvider<Request, Remote, Memory = undefined> implements Provider {
  readonly #backend: RemoteBackend<Request, Remote, Memory>;
  readonly #host: ProviderHost;
  readonly #owner: Owner;
  readonly #table: PodTable<Remote, Memory>;
  readonly #finder: PodFinder<Request, Remote, Memory>;
  readonly #creator: PodCreator<Request, Remote, Memory>;
  readonly #endings: PodEndings<Request, Remote, Memory>;
  readonly #watch: PodWatch<Request, Remote, Memory>;
  readonly #probes: RemoteProbes<Remote> | undefined;
  readonly #pollers: SnapshotPollers;
  readonly #pollIntervalMs: number;
  /** Pods run on while the back end's API cannot be reached; a node that is not ready for long loses them. */
  readonly pingToleranceMs: number = pingToleranceMs;
  readonly getContainerLogs?: ContainerAccess["getContainerLogs"];
  readonly runInContainer?: ContainerAccess["runInContainer"];
  readonly attachToContainer?: ContainerAccess["attachToContainer"];
  readonly portForward?: ContainerAccess["portForward"];
  readonly getStatsSummary?: (signal: AbortSignal) => Promise<StatsSummary>;
  readonly getMetricsProbes?: (signal: AbortSignal) => Promise<readonly MetricFamily[]>;

  constructor({ host, backend, pollIntervalMs = 5_000 }: RemotePodProviderOptions<Request, Remote, Memory>) {
    const { clock, logger, clusterId, nodeName } = host;
    const owner: Owner = { clusterId, nodeName };
    const table = new PodTable<Remote, Memory>({
      clock,
      limits: backend.limits,
      complete: (ref, status) => this.#probes?.apply(ref, status) ?? status,
      onChange: (uid, after, before) => {
        this.#watch.noteChange(uid, after, before);
        if (after && after.kind !== "gone") this.#probes?.watch(identityOf(after).ref, after.kind === "deleting");
        else this.#probes?.stop(uid);
        if (after?.kind !== "gone") return;
        this.#creator.forget(uid);
        this.#endings.release(after.identity.ref, before && "object" in before ? before.object?.remote : undefined);
      },
    });
    const observer = new ObjectObserver({
      backend,
      table,
      host,
      owner,
      onSurplus: (id, identity, remote) => this.#endings.removeSurplus(id, identity, remote),
    });
    const finder = new PodFinder({ backend, table, observer, owner, logger });
    this.#backend = backend;
    this.#host = host;
    this.#owner = owner;
    this.#table = table;
    this.#finder = finder;
    this.#creator = new PodCreator({ backend, table, finder, observer, host, owner });
    this.#endings = new PodEndings({ backend, table, finder, clock, logger, onStep: (uid) => this.#watch.lookSoon(uid) });
    const onListed = (): void => {
      for (const [, state] of table.all()) if (state.kind === "present") this.#probes?.resume(identityOf(state).ref);
    };
    this.#watch = new PodWatch({ backend, table, finder, creator: this.#creator, endings: this.#endings, host, pollIntervalMs, onListed });
    this.#pollIntervalMs = pollIntervalMs;
    this.#pollers = new SnapshotPollers({ clock, random: host.random, logDelayMs: backend.limits.logDelayMs });
    const { probing } = backend;
    this.#probes =
      probing &&
      new RemoteProbes<Remote>({
        probing,
        host,
        targetOf: (uid) => (table.get(uid)?.kind === "present" ? table.objectOf(uid) : undefined),
        statusOf: (uid) => {
          const state = table.get(uid);
          return state && statusOf(state);
        },
        look: ({ id }, signal) => finder.look(id, signal),
        onChange: (uid) => table.report(uid),
      });
    this.#addAccess();
  }

  /** Creates the pod's object, or adopts an existing one. */
  async createPod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    await this.#creator.create(pod, resolved, signal);
    this.#watch.lookSoon(podRef(pod).uid);
  }

  /** Passes a change to a back end that can apply it; otherwise refuses changed containers and ignores the rest. */
  async updatePod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal, changes: PodChanges): Promise<void> {
    if (!this.#backend.update) return refuseUpdate(pod, changes, this.#backend.name);
    await this.#backend.update(await this.#target(podRef(pod), signal), { pod, resolved, changes }, signal);
    this.#watch.lookSoon(podRef(pod).uid);
  }

  /** Begins the pod's deletion, or shortens what is left of its grace. */
  async deletePod(ref: PodRef, options: DeletePodOptions, signal: AbortSignal): Promise<void> {
    // The steps of a deletion are taken whether or not anybody listens.
    this.#watch.start();
    await untilAborted(this.#creator.settled(ref.uid), signal);
    try {
      await this.#endings.delete(ref, options, signal);
    } catch (error) {
      // A pod that never had an object leaves no state that would end.
      if (isNotFound(error)) this.#creator.forget(ref.uid);
      throw error;
    }
    this.#watch.lookSoon(ref.uid);
  }

  /** The pod as the back end has it now; a pod that has ended as it was last seen. */
  async getPod(ref: PodRef, signal: AbortSignal): Promise<ProviderPod> {
    const state = this.#table.get(ref.uid);
    const isFinal = state?.kind === "ended" && state.isForgotten;
    if (!isFinal && state?.kind !== "waiting") await this.#finder.find(ref, signal);
    const pod = this.#table.pod(ref.uid);
    if (pod) return pod;
    const after = this.#table.get(ref.uid);
    const attempted = `find pod ${ref.namespace}/${ref.name}`;
    if (after === undefined || after.kind === "gone") throw new NotFoundError(`${attempted}: ${this.#backend.name} has no object of it`);
    throw new UnavailableError(`${attempted}: its state at ${this.#backend.name} is not known yet`);
  }

  /** The status of {@link getPod}. */
  async getPodStatus(ref: PodRef, signal: AbortSignal): Promise<ProviderPodStatus> {
    return (await this.getPod(ref, signal)).status;
  }

  /** All pods of this cluster and node, as the back end has them now. Pods that cannot be read are listed in their last known state. */
  async getPods(signal: AbortSignal): Promise<ProviderPodList> {
    // A list that began before the call may lack what has happened since.
    this.#finder.expireLists();
    const { unreadable, isComplete, versions } = await this.#finder.list(signal);
    const undescribed = [...this.#table.all()].flatMap(([, state]) =>
      state.kind === "present" && state.object.observation === undefined ? [state.object.id] : [],
    );
    this.#watch.noteVersions(undescribed, versions);
    await this.#finder.describe(undescribed, signal);
    const pods = new Map<string, ProviderPod>();
    for (const [uid, state] of this.#table.all()) {
      if (state.kind === "gone") continue;
      const pod = this.#table.pod(uid) ?? (state.kind === "present" ? this.#lastKnown(identityOf(state).ref) : undefined);
      if (pod) pods.set(uid, pod);
    }
    for (const { ref } of unreadable) if (!pods.has(ref.uid)) pods.set(ref.uid, this.#lastKnown(ref));
    return { pods: [...pods.values()], complete: isComplete };
  }

  /** Starts to follow the pods. */
  notifyPods(listener: (update: PodUpdate) => void): void {
    this.#table.listen(listener);
    this.#watch.start();
  }

  /** Whether the back end answers and accepts the credentials. One that throttles answers. */
  async ping(signal: AbortSignal): Promise<void> {
    try {
      await this.#backend.ping(signal);
    } catch (error) {
      if (!isThrottled(error)) throw error;
    }
  }

  /** The node as the back end describes it. */
  configureNode(signal: AbortSignal): Promise<NodeDescription> {
    return this.#backend.configureNode(signal);
  }

  /** Stops all background work; the pods run on. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#table.listen(undefined);
    const parts = [this.#watch, this.#endings, this.#creator, ...(this.#probes ? [this.#probes] : [])];
    await Promise.all(parts.map((part) => part[Symbol.asyncDispose]()));
  }

  #addAccess(): void {
    const backend = this.#backend;
    const own = this as {
      -readonly [Key in keyof ContainerAccess | "getStatsSummary" | "getMetricsProbes"]?: RemotePodProvider<Request, Remote, Memory>[Key];
    };
    const { logs, logSnapshot, exec, attach, portForward, stats } = backend;
    if (logs)
      own.getContainerLogs = async (ref, container, options, signal) =>
        logs.call(backend, await this.#target(ref, signal, container), container, options, signal);
    else if (logSnapshot) own.getContainerLogs = (ref, container, options, signal) => this.#snapshotLogs(ref, container, options, signal);
    if (exec)
      own.runInContainer = async (ref, container, command, io, signal) =>
        exec.call(backend, await this.#target(ref, signal, container), container, command, io, signal);
    if (attach)
      own.attachToContainer = async (ref, container, io, signal) =>
        attach.call(backend, await this.#target(ref, signal, container), container, io, signal);
    if (portForward)
      own.portForward = async (ref, port, stream, signal) =>
        portForward.call(backend, await this.#target(ref, signal), port, stream, signal);
    const probes = this.#probes;
    if (probes) own.getMetricsProbes = async () => probes.metrics();
    if (stats) own.getStatsSummary = (signal) => stats.call(backend, this.#present(), signal);
  }

  async #snapshotLogs(ref: PodRef, container: string, options: ContainerLogOptions, signal: AbortSignal): Promise<ContainerLogs> {
    const key = `${ref.uid}/${container}`;
    if (options.previous) {
      const source = await this.#previousOutput(ref, container, signal);
      return followSnapshots(this.#pollers, `${key}/previous`, source, options, signal);
    }
    await this.#target(ref, signal, container);
    const { clock } = this.#host;
    let lookedMs = clock.monotonic();
    const source: SnapshotSource = {
      read: async (query, reading) => {
        const snapshot = await this.#readSnapshot(await this.#target(ref, reading), container, query, reading);
        // A followed container's end is to be seen soon.
        if (options.follow && clock.monotonic() - lookedMs >= this.#pollIntervalMs) {
          lookedMs = clock.monotonic();
          this.#watch.lookSoon(ref.uid);
        }
        return snapshot;
      },
      state: () => outputStateOf(this.#table.pod(ref.uid)?.status, container),
    };
    return followSnapshots(this.#pollers, key, source, options, signal);
  }

  /**
   * The output of a container's previous run, if that was in an object of its own.
   *
   * @throws NotFoundError if there is no such run, or if its output is not known
   */
  async #previousOutput(ref: PodRef, container: string, signal: AbortSignal): Promise<SnapshotSource> {
    if (this.#table.get(ref.uid) === undefined) await this.#target(ref, signal, container);
    const object = previousObjectOf(this.#table.get(ref.uid), container);
    if (!object) {
      const attempted = `read the output of the previous run of container ${container} of pod ${ref.namespace}/${ref.name}`;
      throw new NotFoundError(
        `${attempted}: there was none, or ${this.#backend.name} does not keep it, or it ended before this program started`,
      );
    }
    return {
      read: (query, reading) => this.#readSnapshot(object, container, query, reading),
      state: () => outputStateOf(object.observation?.status, container),
    };
  }

  async #readSnapshot(target: RemoteTarget<Remote>, container: string, query: SnapshotQuery, signal: AbortSignal): Promise<LogSnapshot> {
    return (await this.#backend.logSnapshot?.(target, container, query, signal)) ?? { text: "", hasTimestamps: false };
  }

  /**
   * The pod's object, for a call that needs one.
   *
   * @param container - must be a container of the object
   * @throws NotFoundError
   */
  async #target(ref: PodRef, signal: AbortSignal, container?: string): Promise<RemoteTarget<Remote>> {
    if (this.#table.objectOf(ref.uid)?.remote === undefined) await this.#finder.find(ref, signal);
    const found = this.#table.objectOf(ref.uid);
    const { containerStatuses = [], initContainerStatuses = [] } = found?.observation?.status ?? {};
    const names = [...containerStatuses, ...initContainerStatuses].map(({ name }) => name);
    if (found && container !== undefined && !names.includes(container))
      throw new NotFoundError(
        `find container ${container} of pod ${ref.namespace}/${ref.name}: ${this.#backend.name} has only ${names.join(", ")}`,
      );
    if (!found) throw new NotFoundError(`find pod ${ref.namespace}/${ref.name}: ${this.#backend.name} has no object of it yet`);
    return found;
  }

  #present(): readonly RemoteTarget<Remote>[] {
    return [...this.#table.all()].flatMap(([, state]) => (state.kind === "present" ? [state.object] : []));
  }

  /** A pod that exists but cannot be read, in the state last reported to Kubernetes. */
  #lastKnown(ref: PodRef): ProviderPod {
    const { phase, reason, message, podIP, podIPs, containerStatuses, initContainerStatuses } = this.#host.findPod(ref)?.status ?? {};
    const status = { phase, reason, message, podIP, podIPs, containerStatuses, initContainerStatuses };
    return { ref, owner: this.#owner, status };
  }
}
