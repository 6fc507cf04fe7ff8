import type {
  AttachIO,
  DeepReadonly,
  ExecResult,
  NodeDescription,
  Owner,
  Pod,
  PodRef,
  ProviderHost,
  ResolvedPod,
  StatsSummary,
} from "@virtual-kubelet/core";
import { isForbidden, isInvalidInput, isNotFound, isQuotaExceeded, isUnsupported, messageOf } from "@virtual-kubelet/errdefs";
import type {
  BackendLimits,
  Ending,
  EndStep,
  IdentityReading,
  LogSnapshot,
  Observation,
  ObserveContext,
  PodIdentity,
  RemoteBackend,
  RemoteDescriptions,
  RemoteListing,
  RemoteTarget,
  SnapshotQuery,
} from "@virtual-kubelet/remote-pods";
import { PodAccess } from "./access/pod-access.ts";
import { StatsReader } from "./access/pod-stats.ts";
import type { SocketSettings } from "./access/terminal-socket.ts";
import type { ZunConfig } from "./config/schema.ts";
import { keptLimits } from "./lifecycle/kept-limits.ts";
import { identityIn, objectId } from "./lifecycle/listed-object.ts";
import { PodNetwork } from "./lifecycle/pod-network.ts";
import { requestOf, translatePod, type TranslatedPod } from "./lifecycle/translate-pod.ts";
import { ZunObjects } from "./lifecycle/zun-objects.ts";
import { NeutronApi } from "./neutron/neutron-api.ts";
import { describeNode } from "./node/describe-node.ts";
import type { Session } from "./openstack/session.ts";
import { refuseChange } from "./pod/refused-changes.ts";
import { refuse } from "./pod/refused-fields.ts";
import { ZunProbing } from "./probes/zun-probing.ts";
import { observeObject, type ZunMemory } from "./status/observe-object.ts";
import type { ZunObject } from "./status/zun-object.ts";
import { ZunApi } from "./zun/zun-api.ts";
import type { ZunQuota } from "./zun/zun-objects.ts";

/** Zun creates another object for each request. Its lists are refreshed once a minute, and describe objects that have changed. */
const limits: BackendLimits = { rates: {}, describeBatch: 1, idempotency: "none", visibleAfterMs: 0, listShowsChanges: true };

export interface ZunBackendOptions {
  readonly host: ProviderHost;
  readonly config: ZunConfig;
  readonly session: Session;
  readonly socket: SocketSettings;
}

/** OpenStack Zun as a back end that takes whole pods. docs/adr/0010-zun.md shows how data goes through it. */
export class ZunBackend implements RemoteBackend<TranslatedPod, ZunObject, ZunMemory>, AsyncDisposable {
  readonly name = "Zun";
  readonly shortName = "zun";
  readonly limits: BackendLimits = limits;
  readonly probing: ZunProbing;
  readonly #host: ProviderHost;
  readonly #config: ZunConfig;
  readonly #session: Session;
  readonly #api: ZunApi;
  readonly #objects: ZunObjects;
  readonly #network: PodNetwork;
  readonly #access: PodAccess;
  readonly #stats: StatsReader;

  constructor({ host, config, session, socket }: ZunBackendOptions) {
    const { clock, logger, random, nodeName, clusterId } = host;
    const owner: Owner = { clusterId, nodeName };
    const api = new ZunApi(session);
    this.#host = host;
    this.#config = config;
    this.#session = session;
    this.#api = api;
    this.#objects = new ZunObjects({ api, owner, clock, logger });
    this.#network = new PodNetwork({
      neutron: new NeutronApi(session),
      owner,
      logger,
      floatingNetwork: config.floatingNetwork,
      onFloatingIp: (ref, address) =>
        host.recordEvent(ref, { type: "Normal", reason: "FloatingIP", message: `The pod has floating IP ${address}` }),
    });
    this.#access = new PodAccess({ api, socket, clock, random, logger });
    this.#stats = new StatsReader({ api, host, cpuIntervalMs: config.cpuIntervalMs });
    this.probing = new ZunProbing({ api, clock });
  }

  /** Settles what becomes of a pod; the networks are prepared by {@link create}. */
  translate(pod: DeepReadonly<Pod>, resolved: ResolvedPod, identity: PodIdentity, signal: AbortSignal): Promise<TranslatedPod> {
    return translatePod(pod, resolved, { config: this.#config, identity }, signal);
  }

  identityOf({ labels }: ZunObject): IdentityReading {
    return { kind: "pod", identity: identityIn(labels) };
  }

  observe(object: ZunObject, context: ObserveContext<ZunMemory>): Observation<ZunMemory> {
    return observeObject(object, context, this.probing.rebootedAtMs(objectId(object.kind, object.uuid)));
  }

  /** Makes the pod's ports, and the container or capsule on them. The ports of a pod that is refused are deleted. */
  async create(
    translated: TranslatedPod,
    { ref }: PodIdentity,
    signal: AbortSignal,
  ): Promise<{ readonly id: string; readonly remote: ZunObject }> {
    const { kind, labels, settings } = translated;
    try {
      const nets = kind === "container" ? await this.#network.prepare(labels, settings, signal) : [];
      const { body } = requestOf(translated, { config: this.#config, nets, minor: await this.#api.minor(signal) });
      const created = await this.#objects.create(kind, body, labels, signal);
      for (const limit of keptLimits(translated)) this.#host.recordEvent(ref, { type: "Warning", ...limit });
      return created;
    } catch (error) {
      if ([isInvalidInput, isForbidden, isQuotaExceeded, isUnsupported, isNotFound].some((isRefusal) => isRefusal(error)))
        await this.#network
          .release(labels, signal)
          .catch((err: unknown) => this.#host.logger.warn({ err }, "ports of a refused pod could not be deleted yet"));
      throw error;
    }
  }

  discardIncomplete(target: RemoteTarget<ZunObject>, signal: AbortSignal): Promise<boolean> {
    return this.#objects.discardIncomplete(target, signal);
  }

  list(signal: AbortSignal): Promise<RemoteListing<ZunObject>> {
    return this.#objects.list(signal);
  }

  async describe([id = ""]: readonly string[], signal: AbortSignal): Promise<RemoteDescriptions<ZunObject>> {
    const described = await this.#objects.describe(id, signal);
    for (const missing of described.missing) this.probing.forget(missing);
    return described;
  }

  end(target: RemoteTarget<ZunObject>, ending: Ending, signal: AbortSignal): Promise<EndStep> {
    return this.#objects.end(target, ending, signal);
  }

  /** Labels and annotations are Kubernetes' alone; a changed image, and a deadline, are refused. */
  async update({ remote }: RemoteTarget<ZunObject>, { pod }: { readonly pod: DeepReadonly<Pod> }): Promise<void> {
    refuse(pod);
    if (remote) refuseChange(remote, pod);
  }

  logSnapshot(target: RemoteTarget<ZunObject>, container: string, query: SnapshotQuery, signal: AbortSignal): Promise<LogSnapshot> {
    return this.#access.logSnapshot(target, container, query, signal);
  }

  exec(
    target: RemoteTarget<ZunObject>,
    container: string,
    command: readonly string[],
    io: AttachIO,
    signal: AbortSignal,
  ): Promise<ExecResult> {
    return this.#access.exec(target, container, command, io, signal);
  }

  attach(target: RemoteTarget<ZunObject>, container: string, io: AttachIO, signal: AbortSignal): Promise<void> {
    return this.#access.attach(target, container, io, signal);
  }

  stats(targets: readonly RemoteTarget<ZunObject>[], signal: AbortSignal): Promise<StatsSummary> {
    return this.#stats.read(targets, signal);
  }

  ping(signal: AbortSignal): Promise<void> {
    return this.#api.ping(signal);
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

  /** Sets security groups and floating IP of a pod whose ports Zun has made; a failure is an event of the pod. */
  async settle({ identity: { ref }, remote }: RemoteTarget<ZunObject>, signal: AbortSignal): Promise<void> {
    try {
      if (remote) await this.#network.settle(remote, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#host.recordEvent(ref, { type: "Warning", reason: "NetworkNotReady", message: messageOf(error) });
      throw error;
    }
  }

  /** Frees the pod's ports and floating IP. What belongs to a pod that was never read is found by {@link sweep}. */
  async release(_ref: PodRef, remote: ZunObject | undefined, signal: AbortSignal): Promise<void> {
    try {
      if (remote) await this.#network.release(remote.labels, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Deletes ports and floating IPs whose pods are gone; not without a cluster's id, because nothing would tell whose a port is. */
  async sweep(uids: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    if (this.#host.clusterId !== "") await this.#network.sweep(uids, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#access[Symbol.asyncDispose]();
    await this.#session[Symbol.asyncDispose]();
  }
}
