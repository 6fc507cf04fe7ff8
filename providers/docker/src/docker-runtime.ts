import type {
  AttachIO,
  ContainerLogOptions,
  ContainerLogs,
  ContainerStats,
  ExecResult,
  FsStats,
  NetworkStats,
  RegistryCredentials,
} from "@virtual-kubelet/core";
import { isNotFound, messageOf, UnavailableError, UnsupportedError } from "@virtual-kubelet/errdefs";
import {
  CgroupMeter,
  type ContainerRuntime,
  type ContainerSpec,
  type ResourceLimits,
  type RuntimeContainer,
  type RuntimeEvent,
  type RuntimeImage,
  type RuntimeInventory,
  type RuntimeSandbox,
  type SandboxSpec,
  type StopContainerOptions,
} from "@virtual-kubelet/pod-runtime";
import { isIPv6 } from "node:net";
import type { Duplex } from "node:stream";
import { DockerContainers } from "./container/docker-containers.ts";
import { GpuAllocator } from "./container/gpu-allocator.ts";
import type { DockerEngine } from "./engine/docker-engine.ts";
import { listContainers } from "./engine/engine-queries.ts";
import { readEngineFacts, type EngineFacts } from "./engine/engine-facts.ts";
import { EngineObjects } from "./engine/engine-objects.ts";
import { attachContainer } from "./exec/attach-container.ts";
import { execCommand } from "./exec/exec-command.ts";
import { ImageVolumes } from "./image-volume/image-volumes.ts";
import { EngineImages } from "./image/engine-images.ts";
import { engineEvents } from "./inventory/engine-events.ts";
import { EngineInventory } from "./inventory/engine-inventory.ts";
import type { LogLinks } from "./logs/log-links.ts";
import { containerLogs } from "./logs/container-logs.ts";
import { CniNetwork } from "./network/cni/cni-network.ts";
import { pluginRunner } from "./network/cni/run-plugin.ts";
import { EngineNetwork } from "./network/engine-network.ts";
import type { NetworkFacts, PodNetwork } from "./network/pod-network.ts";
import { dockerLabels } from "./engine/object-names.ts";
import { forwardPort } from "./port-forward/forward-port.ts";
import { NamespaceDialers } from "./port-forward/namespace-dialers.ts";
import type { DockerRuntimeSettings } from "./runtime-settings.ts";
import { DockerSandboxes, type SandboxCredentials } from "./sandbox/docker-sandboxes.ts";
import { StatsReader } from "./stats/stats-reader.ts";
import { isHostProcess } from "./engine/host-process.ts";

/** Deadline of a ping, in milliseconds. */
const pingTimeoutMs = 5_000;

export interface DockerRuntimeOptions {
  readonly engine: DockerEngine;
  readonly settings: DockerRuntimeSettings;
  /** Labels of all the node's objects. Events of other objects are ignored. */
  readonly ownerLabels: Readonly<Record<string, string>>;
  /** Ids of the node's GPUs. */
  readonly gpus: (signal: AbortSignal) => Promise<readonly string[]>;
  /** Default: no links to logs. */
  readonly logLinks?: Pick<LogLinks, "link" | "unlink"> | undefined;
  /** The node's main address, whose IP family is that of a dual-stack pod's main address. Default: IPv4. */
  readonly nodeAddress?: string | undefined;
  /** Credentials of the sandbox image's registry. Default: none. */
  readonly credentials?: SandboxCredentials | undefined;
}

/** Sandboxes and containers on a Docker engine of this machine. */
export class DockerRuntime implements ContainerRuntime, AsyncDisposable {
  readonly name = "docker";
  /** For the collection of unused images. */
  readonly images: EngineImages;
  /** True for every engine: one that cannot mount images gets folders with their files. */
  readonly canMountImages = true;
  readonly #options: DockerRuntimeOptions;
  readonly #inventory: EngineInventory;
  readonly #network: PodNetwork;
  readonly #cni: CniNetwork;
  readonly #sandboxes: DockerSandboxes;
  readonly #containers: DockerContainers;
  readonly #stats: StatsReader;
  readonly #dialers = new NamespaceDialers();
  readonly #imageVolumes: ImageVolumes;
  #facts: EngineFacts | undefined;

  constructor(options: DockerRuntimeOptions) {
    const { engine, settings, ownerLabels, gpus, logLinks, credentials = () => Promise.resolve([]) } = options;
    this.#options = options;
    const cni = new CniNetwork({
      settings: settings.cni,
      folder: settings.networkFolder,
      run: pluginRunner(engine.clock),
      namespaceOf: (id, signal) => this.#namespaceOf(id, signal),
    });
    this.#cni = cni;
    this.#network = settings.cni ? cni : new EngineNetwork({ engine, facts: (signal) => this.facts(signal), network: settings.network });
    this.#inventory = new EngineInventory(engine, {
      mainFamily: isIPv6(options.nodeAddress ?? "") ? 6 : 4,
      addressesOf: (id) => cni.addresses(id),
      onLog: logLinks && ((log) => logLinks.link(log)),
      onInspected: (answer) => this.#stats.noteInspected(answer),
    });
    const objects = new EngineObjects(engine, logLinks && ((id) => logLinks.unlink(id)));
    const images = new EngineImages({
      engine,
      parallelPulls: settings.parallelPulls,
      progressTimeoutMs: settings.pullProgressTimeoutMs,
      sandboxImage: settings.sandboxImage,
    });
    const parts = { engine, objects, images, inventory: this.#inventory, settings };
    this.images = images;
    this.#sandboxes = new DockerSandboxes({ ...parts, credentials, network: this.#network, networks: [...new Set([this.#network, cni])] });
    this.#imageVolumes = new ImageVolumes({ engine, objects, images, ownerLabels, folder: settings.imageFolder });
    this.#containers = new DockerContainers({
      ...parts,
      imageVolumes: this.#imageVolumes,
      sandboxes: this.#sandboxes,
      facts: (signal) => this.facts(signal),
      gpus: new GpuAllocator({ gpus, taken: (signal) => this.#labelsWithGpus(signal) }),
    });
    this.#stats = new StatsReader({ engine, meter: new CgroupMeter({ clock: engine.clock }), labels: ownerLabels });
  }

  /** Facts about the engine. Requested once, and again after {@link forgetFacts}. */
  async facts(signal: AbortSignal): Promise<EngineFacts> {
    return (this.#facts ??= await readEngineFacts(this.#options.engine, signal));
  }

  /** Last result of {@link facts}, if there is one. */
  get knownFacts(): EngineFacts | undefined {
    return this.#facts;
  }

  /** Must be called when another engine may answer. */
  forgetFacts(): void {
    this.#facts = undefined;
  }

  /** Finds the network of new pods. @throws NotFoundError or UnavailableError if they cannot be connected */
  findNetwork(signal: AbortSignal): Promise<NetworkFacts> {
    return this.#network.find(signal);
  }

  /** Frees what network plugins keep for sandboxes that are gone. @throws UnavailableError with the plugins' messages, after trying all */
  async collectNetworks(signal: AbortSignal): Promise<void> {
    const connected = await this.#cni.connected();
    if (connected.length === 0) return;
    const listed = new Set((await this.#inventory.listed(this.#options.ownerLabels, signal)).map(({ Id }) => Id));
    const failures: string[] = [];
    let goneCount = 0;
    for (const id of connected.filter((each) => !listed.has(each))) {
      // Inspects each, because the list may be incomplete or older than a sandbox.
      const isGone = await this.#inventory.inspect(id, signal).then(() => false, isNotFoundOrThrow);
      if (!isGone) continue;
      goneCount++;
      await this.#cni.disconnect(id, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        failures.push(messageOf(error));
      });
    }
    if (failures.length === 0) return;
    throw new UnavailableError(`free ${failures.length} of ${goneCount} networks of sandboxes that are gone: ${failures.join("; ")}`);
  }

  /**
   * Checks the networks of the sandboxes that plugins have connected.
   *
   * @param onProblem - called for each network that is not in order, with the sandbox's labels and the plugin's error
   */
  async checkNetworks(onProblem: (labels: Readonly<Record<string, string>>, why: unknown) => void, signal: AbortSignal): Promise<void> {
    const connected = new Set(await this.#cni.connected());
    if (connected.size === 0) return;
    for (const { Id, Labels } of await this.#inventory.listed(this.#options.ownerLabels, signal))
      if (connected.has(Id))
        await this.#cni.check(Id, signal).catch((error: unknown) => {
          signal.throwIfAborted();
          onProblem(Labels, error);
        });
  }

  /** As `ContainerRuntime.ping`. */
  async ping(signal: AbortSignal): Promise<void> {
    await this.#options.engine.json({ method: "GET", path: "/_ping", what: "ping the Docker engine", timeoutMs: pingTimeoutMs }, signal);
  }

  /** As `ContainerRuntime.createSandbox`. */
  createSandbox(spec: SandboxSpec, signal: AbortSignal): Promise<RuntimeSandbox> {
    return this.#sandboxes.create(spec, signal);
  }

  /** As `ContainerRuntime.stopSandbox`. */
  stopSandbox(sandboxId: string, signal: AbortSignal): Promise<void> {
    return this.#sandboxes.stop(sandboxId, signal);
  }

  /** As `ContainerRuntime.removeSandbox`. */
  removeSandbox(sandboxId: string, signal: AbortSignal): Promise<void> {
    return this.#sandboxes.remove(sandboxId, signal);
  }

  /** As `ContainerRuntime.createContainer`. */
  createContainer(sandboxId: string, spec: ContainerSpec, signal: AbortSignal): Promise<string> {
    return this.#containers.create(sandboxId, spec, signal);
  }

  /** As `ContainerRuntime.startContainer`. */
  startContainer(id: string, signal: AbortSignal): Promise<void> {
    return this.#containers.start(id, signal);
  }

  /** As `ContainerRuntime.stopContainer`. */
  stopContainer(id: string, options: StopContainerOptions, signal: AbortSignal): Promise<void> {
    return this.#containers.stop(id, options, signal);
  }

  /** As `ContainerRuntime.killContainer`. */
  killContainer(id: string, signal: AbortSignal): Promise<void> {
    return this.#containers.kill(id, signal);
  }

  /** As `ContainerRuntime.removeContainer`. */
  removeContainer(id: string, signal: AbortSignal): Promise<void> {
    return this.#containers.remove(id, signal);
  }

  /** As `ContainerRuntime.resizeContainer`. */
  resizeContainer(id: string, limits: ResourceLimits, signal: AbortSignal): Promise<void> {
    return this.#containers.resize(id, limits, signal);
  }

  /** As `ContainerRuntime.list`. */
  list(labels: Readonly<Record<string, string>>, signal: AbortSignal): Promise<RuntimeInventory> {
    return this.#inventory.list(labels, signal);
  }

  /** As `ContainerRuntime.inspectContainer`. */
  inspectContainer(id: string, signal: AbortSignal): Promise<RuntimeContainer> {
    return this.#inventory.container(id, signal);
  }

  /** As `ContainerRuntime.inspectSandbox`. */
  inspectSandbox(id: string, signal: AbortSignal): Promise<RuntimeSandbox> {
    return this.#inventory.sandbox(id, signal);
  }

  /** As `ContainerRuntime.events`. */
  events(signal: AbortSignal): AsyncIterable<RuntimeEvent> {
    const { engine, ownerLabels: labels } = this.#options;
    const inventory = this.#inventory;
    return engineEvents({ engine, labels, onChange: (id) => inventory.forget(id), onLost: () => inventory.forgetAll() }, signal);
  }

  /** As `ContainerRuntime.inspectImage`. */
  inspectImage(image: string, signal: AbortSignal): Promise<RuntimeImage> {
    return this.images.inspectImage(image, signal);
  }

  /** As `ContainerRuntime.pullImage`. */
  pullImage(image: string, credentials: readonly RegistryCredentials[], signal: AbortSignal): Promise<RuntimeImage> {
    return this.images.pullImage(image, credentials, signal);
  }

  /** As `ContainerRuntime.exec`. */
  exec(id: string, command: readonly string[], io: AttachIO, signal: AbortSignal): Promise<ExecResult> {
    return execCommand(this.#options.engine, { containerId: id, forgetsProcesses: this.#facts?.isPodman }, command, io, signal);
  }

  /** As `ContainerRuntime.attach`. */
  attach(id: string, io: AttachIO, signal: AbortSignal): Promise<void> {
    return attachContainer(this.#options.engine, id, io, signal);
  }

  /** As `ContainerRuntime.logs`. */
  logs(id: string, options: ContainerLogOptions, signal: AbortSignal): Promise<ContainerLogs> {
    return containerLogs(this.#options.engine, id, options, signal);
  }

  /** As `ContainerRuntime.portForward`. */
  portForward(sandboxId: string, port: number, stream: Duplex, signal: AbortSignal): Promise<void> {
    return forwardPort({ engine: this.#options.engine, dialers: this.#dialers }, sandboxId, port, stream, signal);
  }

  /** As `ContainerRuntime.stats`. */
  stats(id: string, signal: AbortSignal): Promise<ContainerStats> {
    return this.#stats.container(id, signal);
  }

  /** As `ContainerRuntime.network`. */
  network(sandboxId: string, signal: AbortSignal): Promise<NetworkStats> {
    return this.#stats.network(sandboxId, signal);
  }

  /** Size of the engine's images and of their disk, as last measured; `undefined` before. */
  imageFs(): FsStats | undefined {
    return this.#stats.images();
  }

  /** Removes files of images that no container mounts any more. */
  collectImageVolumes(signal: AbortSignal): Promise<void> {
    return this.#imageVolumes.collect(signal);
  }

  /** Ends measurements, files that are being made for volumes, and processes that dial into pods. Containers go on. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#imageVolumes[Symbol.asyncDispose]();
    this.#dialers[Symbol.dispose]();
    await this.#stats[Symbol.asyncDispose]();
  }

  /** Path of a sandbox's network namespace. @throws UnsupportedError for an engine on another machine */
  async #namespaceOf(sandboxId: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const { State } = await this.#inventory.inspect(sandboxId, signal);
      if (!State.Running) return undefined;
      if (await isHostProcess(State.Pid, sandboxId)) return `/proc/${State.Pid}/ns/net`;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
    throw new UnsupportedError(
      `connect sandbox ${sandboxId} by network plugins: its process is not seen here; they need an engine of this machine`,
    );
  }

  /** Labels of all the engine's containers with GPUs, including those of other nodes. */
  async #labelsWithGpus(signal: AbortSignal): Promise<readonly Readonly<Record<string, string>>[]> {
    const filters = { label: [dockerLabels.gpus], status: ["created", "running", "paused", "restarting"] };
    const held = await listContainers(this.#options.engine, filters, signal);
    return held.map(({ Labels }) => Labels).filter((labels) => labels[dockerLabels.gpus] !== "");
  }
}

function isNotFoundOrThrow(error: unknown): true {
  if (isNotFound(error)) return true;
  throw error;
}
