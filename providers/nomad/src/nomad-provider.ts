import {
  podRef,
  pullSecretEntries,
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
import { isConflict, isInvalidInput, isNotFound, isQuotaExceeded, NotFoundError } from "@virtual-kubelet/errdefs";
import { BackgroundWork } from "@virtual-kubelet/remote-pods";
import type { Duplex } from "node:stream";
import { execInTask } from "./access/exec.ts";
import { LogTimes } from "./access/arrival-times.ts";
import { LogStreams } from "./access/log-streams.ts";
import { containerLogs } from "./access/logs.ts";
import { forwardPort } from "./access/port-forward.ts";
import type { NomadClient } from "./api/nomad-client.ts";
import type { ObjectReader } from "./api/object-reader.ts";
import { nomadNamespaceOf, nomadNamespacesOf, streamShares, type NomadConfig } from "./config.ts";
import { ContainerHooks } from "./hooks/container-hooks.ts";
import { jobIdOf, ownerFilter } from "./job/job-id.ts";
import { jobOf } from "./job/job-of.ts";
import { readPodContent } from "./job/pod-content.ts";
import { refuseChange } from "./job/refused-changes.ts";
import { jobSettingsOf } from "./job/settings.ts";
import { NodeWatch } from "./node/node-watch.ts";
import { PodMeter } from "./node/pod-meter.ts";
import { FileRefresh } from "./pods/file-refresh.ts";
import type { PodEntry } from "./pods/pod-entry.ts";
import { PodFinder } from "./pods/pod-finder.ts";
import { PodKeeper } from "./pods/pod-keeper.ts";
import { PodRegistry } from "./pods/pod-registry.ts";
import { VariableSweep } from "./pods/variable-sweep.ts";
import { PodProbing } from "./probes/pod-probing.ts";
import { PodWatch } from "./watch/pod-watch.ts";
import { strayJobs } from "./watch/stray-jobs.ts";

/** The parts of {@link ProviderHost} that the provider uses. */
export type NomadHost = Pick<
  ProviderHost,
  "nodeName" | "clusterId" | "clock" | "random" | "logger" | "resolvePod" | "findPod" | "getSecret" | "recordEvent"
>;

export interface NomadProviderOptions {
  readonly host: NomadHost;
  readonly config: NomadConfig;
  readonly client: NomadClient;
  readonly reader: ObjectReader;
  /** Closes the connections. */
  readonly close: () => Promise<void>;
}

/** Runs pods as jobs of Nomad; `docs/adr/0009-nomad.md` shows the flow of data. */
export class NomadProvider implements Provider, AsyncDisposable {
  readonly #host: NomadHost;
  readonly #config: NomadConfig;
  readonly #client: NomadClient;
  /** One for each namespace of Nomad that pods' jobs may be in. */
  readonly #clients: readonly NomadClient[];
  readonly #close: () => Promise<void>;
  readonly #owner: Owner;
  readonly #registry: PodRegistry;
  readonly #background: BackgroundWork;
  readonly #nodes: NodeWatch;
  readonly #hooks: ContainerHooks;
  readonly #probing: PodProbing;
  readonly #keeper: PodKeeper;
  readonly #files: FileRefresh;
  readonly #meter: PodMeter;
  readonly #watch: PodWatch;
  readonly #finder: PodFinder;
  readonly #sweeps: readonly VariableSweep[];
  readonly #logTimes = new LogTimes();
  readonly #logStreams: LogStreams;
  #following: Promise<void> | undefined;
  #areNamespacesKnown = false;

  constructor({ host, config, client, reader, close }: NomadProviderOptions) {
    const { clock, logger } = host;
    this.#host = host;
    this.#config = config;
    this.#client = client;
    this.#close = close;
    this.#owner = { clusterId: host.clusterId, nodeName: host.nodeName };
    const namespaceOf = (pod: Pick<PodRef, "namespace">): string => nomadNamespaceOf(config, pod);
    const clientOf = (ref: PodRef): NomadClient => this.#clientOf(ref);
    this.#clients = nomadNamespacesOf(config).map((namespace) => client.in(namespace));
    this.#registry = new PodRegistry({ owner: this.#owner, namespaceOf, reader });
    this.#background = new BackgroundWork({ clock, logger, backEnd: "Nomad" });
    this.#nodes = new NodeWatch({
      client,
      config,
      clock,
      logger,
      signal: this.#background.signal,
      onAddresses: () => this.#registry.entries.forEach((entry) => this.#keeper.onChange(entry)),
    });
    this.#hooks = new ContainerHooks({
      clientOf,
      clock,
      random: host.random,
      logger,
      background: this.#background,
      findPod: (ref) => host.findPod(ref),
      recordEvent: (ref, event) => host.recordEvent(ref, event),
      onChange: (entry) => this.#keeper.onChange(entry),
    });
    this.#probing = new PodProbing({
      clientOf,
      clock,
      random: host.random,
      logger,
      background: this.#background,
      maxCommands: streamShares(config).probes,
      findPod: (ref) => host.findPod(ref),
      recordEvent: (ref, event) => host.recordEvent(ref, event),
      addressOf: (nodeId) => this.#nodes.addressOf(nodeId),
      onChange: (entry) => this.#keeper.onChange(entry),
    });
    this.#keeper = new PodKeeper({
      hooks: this.#hooks,
      clientOf,
      clock,
      registry: this.#registry,
      background: this.#background,
      owner: this.#owner,
      namespaceOf,
      purgeAfterMs: config.purgeAfter,
      startDelayMs: config.restart.delay,
      recordEvent: (ref, event) => host.recordEvent(ref, event),
      addressOf: (nodeId) => this.#nodes.addressOf(nodeId),
      probing: this.#probing,
      onGone: (entry) => this.#files.stop(entry.shape.ref.uid),
    });
    this.#files = new FileRefresh({ clientOf, clock, logger, resolvePod: (ref) => host.resolvePod(ref) });
    this.#meter = new PodMeter({ client, clock, nodeName: host.nodeName, mhzPerCore: () => this.#nodes.mhzPerCore });
    this.#watch = new PodWatch({
      clients: this.#clients,
      reader,
      clock,
      logger,
      config,
      owner: this.#owner,
      registry: this.#registry,
      keeper: this.#keeper,
      files: this.#files,
      probing: this.#probing,
      recordEvent: (ref, event) => host.recordEvent(ref, event),
    });
    this.#finder = new PodFinder({
      clientOf,
      owner: this.#owner,
      namespaceOf,
      registry: this.#registry,
      keeper: this.#keeper,
      isFollowing: () => this.#watch.connected,
    });
    this.#sweeps = this.#clients.map((each) => new VariableSweep({ client: each, clock, logger }));
    this.#logStreams = new LogStreams({ client, clock });
  }

  /**
   * Registers the pod's job, or adopts the job of an earlier call whose outcome is unknown.
   *
   * @throws UnsupportedError naming the field; ConflictError where the job's id is somebody else's
   */
  async createPod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    const ref = podRef(pod);
    const jobId = jobIdOf(this.#owner, ref.uid);
    if ((this.#registry.get(ref.uid)?.createIndex ?? 0) > 0) return;
    const settings = jobSettingsOf(pod, this.#config, await this.#nodes.readFacts(signal));
    const content = await readPodContent(
      pod,
      settings,
      { resolved, pullSecrets: (until) => pullSecretEntries(this.#host, pod, until) },
      signal,
    );
    const plan = jobOf(pod, content, this.#owner, settings);
    if (plan.isReadable)
      this.#host.recordEvent(ref, {
        type: "Warning",
        reason: "SecretsInJob",
        message: "The contents of secrets and config maps are readable in the pod's Nomad job, for secrets is inline",
      });
    // After a restart of the program a list may have found the job meanwhile.
    if ((this.#registry.get(ref.uid)?.createIndex ?? 0) > 0) return;
    this.#hooks.begin(ref.uid);
    const entry = this.#registry.expect(jobId, plan.shape);
    try {
      const client = this.#clientOf(ref);
      for (const variable of plan.variables) await client.writeVariable(variable, signal);
      const { index, warnings } = await client.registerJob(plan.job, 0, signal);
      if (warnings !== "") this.#host.logger.warn({ pod: `${ref.namespace}/${ref.name}`, warnings }, "Nomad warns of a pod's job");
      entry.createIndex = index;
      entry.createdAt = new Date(this.#host.clock.now()).toISOString();
    } catch (error) {
      // The outcome is unknown unless Nomad refused the job; later calls ask Nomad.
      this.#registry.remove(entry);
      if (!isConflict(error)) {
        if (isInvalidInput(error) || isQuotaExceeded(error)) this.#keeper.cleanUp(entry);
        throw error;
      }
      await this.#finder.adopt(ref, signal);
    }
    this.#files.watch(plan.shape, content.files);
    this.#keeper.onChange(this.#registry.get(ref.uid) ?? entry);
  }

  /** Labels and annotations are Kubernetes' alone; a changed image would be another pod to Nomad, and is refused. */
  async updatePod(pod: DeepReadonly<Pod>, _resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    const ref = podRef(pod);
    refuseChange((await this.#finder.find(ref, signal)).shape, pod);
  }

  async deletePod(ref: PodRef, { gracePeriodSeconds }: DeletePodOptions, signal: AbortSignal): Promise<void> {
    let entry: PodEntry;
    try {
      entry = await this.#finder.find(ref, signal);
    } catch (error) {
      const jobId = jobIdOf(this.#owner, ref.uid);
      if (isInvalidInput(error)) return this.#keeper.endUnread({ jobId, ref }, signal);
      this.#hooks.forget(ref.uid);
      // The variables may have been written although the job was never registered.
      if (isNotFound(error)) this.#keeper.cleanUp({ jobId, shape: { ref } });
      throw error;
    }
    this.#files.stop(ref.uid);
    await this.#keeper.end(entry, gracePeriodSeconds, signal);
  }

  async getPod(ref: PodRef, signal: AbortSignal): Promise<ProviderPod> {
    return this.#keeper.describe(await this.#finder.look(ref, signal));
  }

  async getPodStatus(ref: PodRef, signal: AbortSignal): Promise<ProviderPodStatus> {
    return this.#keeper.statusOf(await this.#finder.look(ref, signal));
  }

  /** Reads two lists, whatever the number of pods. Throws unless both are complete. */
  async getPods(signal: AbortSignal): Promise<ProviderPodList> {
    await this.#watch.relist(signal);
    return {
      pods: this.#registry.entries.filter(({ createIndex }) => createIndex > 0).map((entry) => this.#keeper.describe(entry)),
      complete: true,
    };
  }

  notifyPods(listener: (update: PodUpdate) => void): void {
    this.#keeper.listen(listener);
    this.#following ??= this.#follow(this.#background.signal);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { secrets } = this.#config;
    const sweeps = secrets === "variables" ? this.#sweeps : [];
    await Promise.all([this.#watch.run(signal), ...sweeps.map((sweep) => sweep.run(signal))]);
  }

  async getContainerLogs(ref: PodRef, container: string, options: ContainerLogOptions, signal: AbortSignal): Promise<ContainerLogs> {
    const entry = await this.#finder.find(ref, signal);
    const { clock } = this.#host;
    return containerLogs(
      { client: this.#client, clock, times: this.#logTimes, streams: this.#logStreams, entry, container, options },
      signal,
    );
  }

  async runInContainer(ref: PodRef, container: string, command: readonly string[], io: AttachIO, signal: AbortSignal): Promise<ExecResult> {
    const entry = await this.#finder.find(ref, signal);
    const { clock, random } = this.#host;
    return execInTask({ client: this.#clientOf(ref), clock, random, entry, container, command, io }, signal);
  }

  async portForward(ref: PodRef, port: number, stream: Duplex, signal: AbortSignal): Promise<void> {
    const { podIP } = this.#keeper.statusOf(await this.#finder.find(ref, signal));
    await forwardPort({ ref, address: podIP, port, stream }, signal);
  }

  async getStatsSummary(signal: AbortSignal): Promise<StatsSummary> {
    return this.#meter.summary(this.#registry.entries, signal);
  }

  async getMetricsProbes(signal: AbortSignal): Promise<readonly MetricFamily[]> {
    signal.throwIfAborted();
    return this.#probing.metrics();
  }

  /**
   * Asks for a leader, and whether the token is good for each namespace. The first time it also asks whether they are there, and warns of the
   * node's jobs in others.
   */
  async ping(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#clients.map((client) => this.#checkNamespace(client, signal)));
    if (!this.#areNamespacesKnown) await this.#warnOfStrayJobs(signal);
    this.#areNamespacesKnown = true;
  }

  /** Only warns, because anybody who may submit jobs to a namespace can create a job there that looks like a pod's. */
  async #warnOfStrayJobs(signal: AbortSignal): Promise<void> {
    const { logger } = this.#host;
    const namespaces = nomadNamespacesOf(this.#config);
    try {
      // Nomad leaves out what the token may not read.
      const { items } = await this.#client.in("*").listJobs(ownerFilter(this.#owner), signal);
      for (const [namespace, jobs] of strayJobs(items, { owner: this.#owner, namespaces }))
        logger.warn(
          {
            namespace,
            namespaces,
            jobs: jobs.map(({ ID }) => ID),
            pods: jobs.map(({ Meta }) => `${Meta?.["vk.namespace"]}/${Meta?.["vk.pod"]}`),
          },
          "jobs of this node's pods run in a namespace of Nomad that the configuration does not name; name it in namespaces again until their pods are deleted, or stop the jobs",
        );
    } catch (error) {
      signal.throwIfAborted();
      logger.debug(
        { err: error },
        "Nomad does not list the jobs of all namespaces: this node's jobs in namespaces that are not configured are not found",
      );
    }
  }

  async #checkNamespace(client: NomadClient, signal: AbortSignal): Promise<void> {
    await client.ping(signal);
    if (this.#areNamespacesKnown) return;
    try {
      await client.readNamespace(signal);
    } catch (cause) {
      if (!isNotFound(cause)) throw cause;
      throw new NotFoundError(`namespace ${client.namespace} does not exist in Nomad; create it, or change namespace or namespaces`, {
        cause,
      });
    }
  }

  #clientOf(ref: PodRef): NomadClient {
    return this.#client.in(nomadNamespaceOf(this.#config, ref));
  }

  configureNode(signal: AbortSignal): Promise<NodeDescription> {
    return this.#nodes.describe(signal);
  }

  notifyNodeStatus(listener: () => void): void {
    this.#nodes.listen(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#keeper.dispose();
    this.#hooks[Symbol.dispose]();
    this.#probing[Symbol.dispose]();
    await this.#background[Symbol.asyncDispose]();
    await Promise.all([this.#following, this.#nodes.done, this.#files[Symbol.asyncDispose]()]);
    await this.#close();
  }
}
