import { untilAborted } from "@virtual-kubelet/async";
import { systemClock, systemRandom, type Clock, type Random } from "@virtual-kubelet/clock";
import { messageOf } from "@virtual-kubelet/errdefs";
import {
  createEventRecorder,
  noMetrics,
  silentLogger,
  type DeepReadonly,
  type EventRecorder,
  type Logger,
  type Metrics,
  type ObjectWatch,
  type Pod,
} from "@virtual-kubelet/kube-client";
import { networkInterfaces } from "node:os";
import { createPodResolver } from "../env/pod-resolver.ts";
import { atEnd } from "./at-end.ts";
import { NodeAccess } from "./node-access.ts";
import { inspectNode, type NodeInspection, type NodeStage } from "../inspection/node-inspection.ts";
import type { PodQuery } from "../inspection/pod-list.ts";
import { NodeController } from "../node/node-controller.ts";
import { reachableAddresses } from "../node/host-addresses.ts";
import { resolveNodeOptions, type ResolvedNodeOptions } from "../node/node-defaults.ts";
import { kubernetesVersion } from "../node/node-object.ts";
import { mustLeave } from "../node/node-shutdown.ts";
import type { NodeOptions, RegisteredNode, VirtualNodeOptions } from "./options.ts";
import { Inventory } from "../pod/inventory/inventory.ts";
import { MassLossBrake } from "../pod/orphans/mass-loss-brake.ts";
import { OrphanSweep } from "../pod/orphans/orphan-sweep.ts";
import { PodController } from "../pod/pod-controller.ts";
import { GivenPods } from "../unsupported/given-pods.ts";
import { podAccess } from "./pod-access.ts";
import type { RunOptions, VirtualNodeHealth } from "./run-options.ts";
import { bindNodeProvider, parseProviderConfig, removeAtBackEnd } from "./provider-binding.ts";
import type { ProviderHost } from "../provider/provider-host.ts";
import { limitsOf, type ProviderLimits } from "../unsupported/provider-limits.ts";
import type { Owner, ProviderPodList } from "../provider/pod-lifecycle.ts";
import type { Provider } from "../provider/provider.ts";
import { redactError } from "../provider-calls/redact-error.ts";
import type { ResolvedPod } from "../provider/resolved-pod.ts";
import { ownCluster, type NodeCluster } from "../shared-cluster/node-cluster.ts";
import { volumeProvisioning } from "../provisioning/volume-provisioning.ts";
import { PodSources } from "../pod-sources/pod-sources.ts";
import { PodVolumes } from "../volumes/pod-volumes.ts";

const defaultClusterDomain = "cluster.local";

/** Default limit on pods that are ended at once without single deletions. */
const defaultMaxPerSweep = 10;

const defaultShutdownTimeoutMs = 30_000;

/**
 * One node of a cluster whose pods a provider runs.
 *
 * @example
 * ```ts
 * const node = new VirtualNode({ client, provider, providerConfig: {}, node: { name: "demo", instance: { identity: "demo" } } });
 * const running = node.run(signal);
 * await node.ready;
 * ```
 *
 * Nothing is global: many nodes run in one process, each with its own controllers, on one client.
 */
export class VirtualNode {
  readonly #options: VirtualNodeOptions;
  readonly #nodeOptions: ResolvedNodeOptions;
  readonly #config: unknown;
  readonly #limits: ProviderLimits;
  readonly #given: GivenPods;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  readonly #ready = Promise.withResolvers<void>();
  /** The node as its HTTPS server uses it. */
  readonly access: NodeAccess;
  #isReady = false;
  #node: NodeController | undefined;
  #pods: PodController | undefined;
  #watch: ObjectWatch<Pod> | undefined;
  #recorder: EventRecorder | undefined;
  #inventory: Inventory | undefined;
  #orphans: OrphanSweep | undefined;
  #brake: MassLossBrake | undefined;
  #signal: AbortSignal | undefined;
  #isEnded = false;

  /** @throws InvalidInputError naming each field of the configuration that does not fit the schema, or a field that cannot be ignored */
  constructor(options: VirtualNodeOptions) {
    this.#options = options;
    this.#nodeOptions = resolveNodeOptions(options.node, {
      providerName: options.provider.name,
      hostAddresses: options.hostAddresses ?? reachableAddresses(networkInterfaces()),
    });
    this.#config = parseProviderConfig(options);
    this.#limits = limitsOf(options.provider, this.#config);
    this.#given = new GivenPods(this.#limits, options.pods ?? {});
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#logger = (options.logger ?? silentLogger).child({ node: options.node.name });
    this.#metrics = options.metrics ?? noMetrics;
    this.access = new NodeAccess({ nodeName: options.node.name, providerName: options.provider.name, metrics: this.#metrics });
    // A caller that only awaits run() gets the failure there.
    this.#ready.promise.catch(() => {});
  }

  /** Resolves when the node is registered and the provider's first inventory is complete; rejects if {@link run} ends before. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Port on which the node says that its HTTPS server listens; 0 if it has none. */
  get kubeletPort(): number {
    return this.#nodeOptions.kubeletPort;
  }

  /** The node as last seen at the API server. */
  get node(): RegisteredNode | undefined {
    return this.#node?.node;
  }

  /** Whether the node is ready, and what its readiness depends on. */
  get health(): VirtualNodeHealth {
    const contactMs = this.#watch?.lastContactMs;
    return {
      ready: this.#isReady,
      standingBy: this.#node?.isStandingBy ?? false,
      providerUp: this.#node?.providerUp ?? false,
      lastContactAgeMs: contactMs === undefined ? undefined : this.#clock.monotonic() - contactMs,
      leaseAgeMs: this.#node?.leaseAgeMs,
      pendingPods: this.#pods?.pending ?? 0,
      knownPods: this.#pods?.known ?? 0,
    };
  }

  /**
   * Whether pods keep the node from being removed: one that has not ended, unless a DaemonSet made it, or one whose end at the back end is not
   * confirmed. As with `kubectl drain`, pods that have ended do not count. `true` until the node is ready, because its pods are not known.
   */
  get keepsPods(): boolean {
    if (!this.#isReady || !this.#watch) return true;
    const pods = [...this.#watch.store.list()];
    return pods.some(mustLeave) || (this.#pods?.known ?? 0) > pods.length;
  }

  /**
   * State of the node and of the selected pods at this moment, for people. It looks at each pod once, and costs nothing while it is not called.
   */
  inspect(query: PodQuery): NodeInspection {
    const { provider, node } = this.#options;
    return inspectNode(
      {
        provider: provider.name,
        options: node,
        stage: this.#stage,
        node: this.#node,
        inventory: this.#inventory?.state,
        watch: this.#watch?.inspect(),
        heardAgeMs: this.health.lastContactAgeMs,
        suspected: this.#orphans?.suspected,
        heldBack: this.#brake?.suspicion,
        events: this.#recorder?.counts,
        pods: this.#pods?.inspect(query),
      },
      this.#clock.monotonic(),
    );
  }

  get #stage(): NodeStage {
    if (this.#isEnded) return "ended";
    if (!this.#signal) return "notStarted";
    if (this.#signal.aborted) return "stopping";
    if (this.#isReady) return "running";
    if (!this.#node) return "starting";
    if (!this.#node.leaseState.isOurs) return "waitingForLease";
    return this.#node.node ? "listing" : "registering";
  }

  /**
   * Runs the node until aborted; may be called once. After the abort no new work begins, the node's `onShutdown` policy is
   * performed, calls in progress end or are aborted, and the last statuses are written. Pods keep running at the back end.
   * An instance that has lost the node to another stops at once: its calls are aborted and nothing more is written.
   *
   * @throws NodeHeldError if another instance runs this node, at the start or later.
   */
  async run(signal: AbortSignal, options: RunOptions = {}): Promise<void> {
    const shutdownTimeoutMs = options.shutdownTimeoutMs ?? defaultShutdownTimeoutMs;
    const hard = new AbortController();
    this.#signal = signal;
    let timer: Disposable | undefined;
    const onAbort = (): void => {
      timer = this.#clock.setTimer(shutdownTimeoutMs, () => hard.abort(signal.reason));
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await this.#run(signal, hard.signal, { shutdownTimeoutMs, isRemoved: options.isRemoved ?? (() => false) });
      this.#ready.reject(signal.reason ?? new Error("the node was stopped before it was ready"));
    } catch (error) {
      this.#ready.reject(error);
      if (!signal.aborted || error !== signal.reason) throw error;
    } finally {
      this.#isReady = false;
      this.#isEnded = true;
      signal.removeEventListener("abort", onAbort);
      timer?.[Symbol.dispose]();
    }
  }

  async #run(
    signal: AbortSignal,
    hardSignal: AbortSignal,
    { shutdownTimeoutMs, isRemoved }: { readonly shutdownTimeoutMs: number; readonly isRemoved: () => boolean },
  ): Promise<void> {
    const {
      client,
      shared,
      node: { name: nodeName },
    } = this.#options;
    const outside = { client, clock: this.#clock, random: this.#random, logger: this.#logger, metrics: this.#metrics };
    // Before anything is waited for, so that nodes that are run together are listed together.
    await using cluster = shared?.join(nodeName) ?? ownCluster(nodeName, outside);
    const common = { ...outside, history: cluster.history };
    const owner: Owner = { clusterId: this.#options.clusterId ?? (await cluster.clusterId(signal)), nodeName };

    const waitingWrites = (): number => this.#pods?.unwritten ?? 0;
    const source = { component: "virtual-kubelet", host: owner.nodeName };
    const recorder = createEventRecorder({ ...common, ...source, budget: cluster.events, waitingWrites });
    this.#recorder = recorder;
    const recorderEnd = new AbortController();
    // Aborts everything in progress when another instance has taken the node, or the time limit has passed.
    const hardEnd = new AbortController();
    const recording = recorder.run(recorderEnd.signal, hardEnd.signal);
    // Disposal happens in reverse order of declaration.
    await using _recording = atEnd(async () => {
      recorderEnd.abort();
      await recording;
    });

    const watch = cluster.pods;
    this.#watch = watch;
    const sources = new PodSources({ ...common, store: watch.store });
    await using _sources = atEnd(() => sources.close());
    const resolve = this.#resolver(sources, cluster.services, recorder);

    const host = this.#host(
      owner,
      podAccess({
        nodeName: owner.nodeName,
        store: watch.store,
        sources,
        resolve,
        given: (pod) => this.#given.ofStarted(pod).pod,
        recorder,
      }),
    );
    const place = await cluster.admit(signal);
    using _place = place;
    const provider = await this.#createProvider(host, signal);
    await using _provider = atEnd(async () => {
      await provider[Symbol.asyncDispose]?.();
    });

    const nodeOptions = await this.#versionedOptions(cluster, signal);
    const node = new NodeController({
      ...common,
      provider: bindNodeProvider(provider, this.#options.counterpartProblem ?? (() => undefined)),
      nodeOptions,
      recorder,
      watch: cluster.node,
      isOneOfMany: shared !== undefined,
      // Whoever waits for another instance to go starts nothing meanwhile.
      onWatching: () => cluster.standBy(place),
      onRefused: () => place[Symbol.dispose](),
    });
    this.#node = node;
    node.lost.addEventListener("abort", () => hardEnd.abort(node.lost.reason), { once: true });
    const podsEnd = new AbortController();
    const nodeEnd = new AbortController();
    const nodeSignal = AbortSignal.any([signal, nodeEnd.signal]);
    let overdue: Disposable | undefined;
    using _overdue = { [Symbol.dispose]: () => overdue?.[Symbol.dispose]() };
    // Nothing renews the Lease any more, so that another instance may soon take the node: then no call may be in progress here.
    const endPods = (reason: unknown, limitMs: number): void => {
      const leftMs = Math.min(limitMs, Math.max(0, node.heldForMs));
      if (leftMs < Infinity && !hardEnd.signal.aborted) overdue = this.#clock.setTimer(leftMs, () => hardEnd.abort(reason));
      podsEnd.abort(reason);
    };
    const onNodeFailed = (error: unknown): never => {
      endPods(error, shutdownTimeoutMs);
      throw error;
    };
    // The whole stop has a limit already.
    const running = node.run(nodeSignal, { shutdownTimeoutMs, isRemoved }).then(() => endPods(signal.reason, Infinity), onNodeFailed);
    // The pods below are awaited first; a failure of the node ends them through podsEnd.
    running.catch(() => {});
    const ends = {
      signal: AbortSignal.any([podsEnd.signal, hardEnd.signal]),
      hardSignal: AbortSignal.any([hardSignal, hardEnd.signal]),
    };
    // Also after a failure, because nobody renews the Lease any more.
    await using _lease = atEnd(async () => {
      if (!node.lost.aborted) await node.handOver(ends.hardSignal);
    });
    try {
      await Promise.race([node.registered, running]);
      place[Symbol.dispose]();
      if (!signal.aborted) await this.#runPods({ provider, owner, cluster, recorder, node, sources, resolve, ...ends });
    } catch (error) {
      if (!ends.signal.aborted) {
        this.#logger.error({ err: messageOf(error) }, "the node stops");
        nodeEnd.abort(error);
        await running.catch(() => {});
        throw error;
      }
    }
    await running;
    if (isRemoved() && node.isDeleted) await removeAtBackEnd(provider, this.#logger, ends.hardSignal);
  }

  async #runPods(parts: {
    readonly provider: Provider;
    readonly owner: Owner;
    readonly cluster: NodeCluster;
    readonly recorder: EventRecorder;
    readonly node: NodeController;
    readonly sources: PodSources;
    readonly resolve: (pod: DeepReadonly<Pod>) => ResolvedPod;
    readonly signal: AbortSignal;
    readonly hardSignal: AbortSignal;
  }): Promise<void> {
    const { provider, owner, cluster, recorder, node, sources, resolve, signal, hardSignal } = parts;
    const { history, pods: watch } = cluster;
    const { client, provider: definition, pods: podOptions = {} } = this.#options;
    const common = { client, history, clock: this.#clock, random: this.#random, logger: this.#logger, metrics: this.#metrics };
    const redact = (uid: string, error: unknown): unknown => redactError(error, sources.secretsOf(uid));
    const brake = new MassLossBrake({
      ...common,
      nodeName: owner.nodeName,
      limit: podOptions.orphans?.maxPerSweep ?? defaultMaxPerSweep,
      recorder,
    });
    const pods = new PodController({
      ...common,
      brake,
      store: watch.store,
      isCurrent: () => watch.isCurrent,
      provider,
      providerName: definition.name,
      limits: this.#limits,
      owner,
      resolve,
      redact,
      isHeld: () => node.isHeld,
      node: () => node.node,
      hostIPs: () => node.hostIPs,
      recorder,
      tracer: this.#options.tracer,
      podOptions,
      statusWrites: cluster.statusWrites,
    });
    this.#pods = pods;
    using orphans = new OrphanSweep({
      ...common,
      provider: pods.calls,
      owner,
      isKnown: (uid) => pods.knows(uid),
      brake,
      orphans: podOptions.orphans ?? {},
    });
    const inventory = new Inventory({
      ...common,
      getPods: (inner) => pods.calls.getPods(inner),
      onList: async (list: ProviderPodList, startedMs, inner) => {
        await pods.loadInventory(list, startedMs, inner);
        orphans.observe(list);
      },
      askSingly: provider.notifyPods ? undefined : (inner) => pods.askSingly(inner),
      intervalMs: podOptions.pollIntervalMs ?? (provider.notifyPods ? 300_000 : 5_000),
    });

    this.#brake = brake;
    this.#orphans = orphans;
    this.#inventory = inventory;
    const tasksEnd = new AbortController();
    const tasksSignal = AbortSignal.any([signal, tasksEnd.signal]);
    const reflecting = watch.run(tasksSignal);
    const tasks: Promise<void>[] = [reflecting];
    try {
      await Promise.race([watch.synced, reflecting]);
      using _sources = sources.follow();
      using _access = this.access.open({
        provider,
        listPods: () => [...watch.store.list()],
        statusOf: (pod) => pods.statusOf(pod),
        getPods: (inner) => pods.calls.getPods(inner),
        redact,
      });
      using _following = await pods.follow(signal);
      using _config = sources.onConfigChanged((uid) => pods.configChanged(uid));
      await inventory.load(signal);
      node.markInventoryLoaded();
      using _providerRecovery = node.onProviderRecovered(() => pods.retryNow());
      using _restored = history.onRestored(() => pods.forgetAnswers());
      using _apiServerRecovery = node.onApiServerRecovered(() => {
        watch.wake();
        pods.retryNow();
      });
      this.#isReady = true;
      this.#ready.resolve();
      tasks.push(inventory.run(tasksSignal), orphans.run(tasksSignal));
      const names = definition.provisioners?.(this.#config) ?? [];
      const provisioning = volumeProvisioning(provider, { ...common, recorder, names, node: () => node.node });
      if (provisioning) tasks.push(provisioning.run(tasksSignal));
      await pods.run(signal, hardSignal);
    } finally {
      // After a failure nothing else would end the tasks.
      tasksEnd.abort(signal.reason);
      await Promise.allSettled(tasks);
    }
  }

  async #versionedOptions(cluster: NodeCluster, signal: AbortSignal): Promise<NodeOptions> {
    const node = this.#nodeOptions;
    if (node.kubeletVersion !== undefined) return node;
    const version = (await cluster.apiServerVersion(signal)) ?? kubernetesVersion;
    return { ...node, kubeletVersion: node.kubeletVersionOf?.(version) ?? version };
  }

  /** A slow `create` does not delay the end; a provider that arrives too late is disposed of. */
  async #createProvider(host: ProviderHost, signal: AbortSignal): Promise<Provider> {
    const creating = Promise.resolve(this.#options.provider.create(host, this.#config));
    try {
      return await untilAborted(creating, signal);
    } catch (error) {
      if (signal.aborted) creating.then((late) => late[Symbol.asyncDispose]?.()).catch(() => {});
      throw error;
    }
  }

  #resolver(sources: PodSources, services: NodeCluster["services"], recorder: EventRecorder): (pod: DeepReadonly<Pod>) => ResolvedPod {
    const node = (): RegisteredNode | undefined => this.#node?.node;
    return createPodResolver({
      getSecret: (...call) => sources.getSecret(...call),
      getConfigMap: (...call) => sources.getConfigMap(...call),
      listServices: (namespace, signal) => services.list(namespace, signal),
      volumesOf: (pod) => new PodVolumes(pod, { sources, node, recorder, clock: this.#clock, random: this.#random }),
      apiServerForPods: this.#options.apiServerForPods,
      node,
      hostIPs: () => this.#node?.hostIPs ?? [],
      recorder,
    });
  }

  #host(owner: Owner, access: ReturnType<typeof podAccess>): ProviderHost {
    const node = this.#nodeOptions;
    return {
      ...owner,
      ...access,
      nodeAddress: node.address ?? node.defaultAddress,
      clusterDomain: this.#options.clusterDomain ?? defaultClusterDomain,
      logger: this.#logger.child({ provider: this.#options.provider.name }),
      metrics: this.#metrics,
      clock: this.#clock,
      random: this.#random,
    };
  }
}
