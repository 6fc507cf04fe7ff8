import {
  checkPolicy,
  type FsStats,
  type NodeDescription,
  type NodeImage,
  type PodUpdate,
  type Provider,
  type ProviderHost,
  type ProviderPodList,
  type ProvisionedSource,
  type ReleasedVolume,
  type VolumeProvisioner,
  type VolumeWish,
} from "@virtual-kubelet/core";
import { isNotFound, messageOf, UnsupportedError } from "@virtual-kubelet/errdefs";
import {
  CgroupMeter,
  cgroupLimits,
  createPodPreparation,
  fileSystemRoom,
  GarbageCollector,
  hostCgroups,
  hostMachine,
  hostNodeStats,
  LocalPathVolumes,
  ownerLabels,
  PodCgroups,
  PodRuntimeProvider,
  tryPodRef,
  VolumeManager,
  type CgroupDriver,
  type EvictionRules,
  type PodPreparation,
} from "@virtual-kubelet/pod-runtime";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type DockerConfig, dockerEvictionRules } from "./config.ts";
import { hostGpus } from "./node/host-gpus.ts";
import { DockerRuntime } from "./docker-runtime.ts";
import { isAtLeast, oldestApiVersion } from "./engine/api-version.ts";
import { connectEngine } from "./engine/connect-engine.ts";
import type { DockerEngine, EngineEndpoint } from "./engine/docker-engine.ts";
import { resolveEndpoint } from "./engine/engine-endpoint.ts";
import { checkEngineLimits, engineLimits } from "./engine/engine-limits.ts";
import { checkLocality } from "./engine/engine-locality.ts";
import { engineProcess } from "./engine/engine-process.ts";
import { LogLinks } from "./logs/log-links.ts";
import { describeNode, diskSize, nodeResources, type NodeFacts } from "./node/node-description.ts";
import type { DockerRuntimeSettings } from "./runtime-settings.ts";
import { podNetwork, policyAnnotations } from "./network/network-annotation.ts";
import { serviceRouting, serviceRoutingCondition, type NodeCondition } from "./node/service-routing.ts";
import { DockerVolumes } from "./volume/docker-volumes.ts";
import { dockerVolumeDriver, driverVolumeOf } from "./volume/driver-volume.ts";

/** How long after a failure the limit of all pods is written again, in milliseconds. Source: a kubelet. */
const limitAgainMs = 60_000;

/** How often files of images are looked for that no pod mounts any more, and links to logs that are gone, in milliseconds. */
const sweepMs = 60_000;

/** How often it is looked whether network plugins keep anything for sandboxes that are gone, in milliseconds. */
const networksMs = 60_000;

/**
 * How often it is looked whether the engine has other images, or the kernel other settings for networks, in milliseconds.
 * Source: a kubelet's image cache and status updates.
 */
const nodeWatchMs = 60_000;

/** What a {@link DockerProvider} is made of. */
interface DockerProviderParts {
  readonly host: ProviderHost;
  readonly config: DockerConfig;
  readonly engine: DockerEngine & Disposable;
  readonly runtime: DockerRuntime;
  /** Absent where none are wanted. */
  readonly logLinks: LogLinks | undefined;
  readonly preparation: PodPreparation;
  readonly volumes: VolumeManager;
  readonly cgroups: PodCgroups | undefined;
  readonly rules: EvictionRules;
  readonly endpoint: EngineEndpoint;
  readonly localPath: LocalPathVolumes | undefined;
  readonly driverVolumes: DockerVolumes;
}

/**
 * Makes the provider of one node on a Docker engine. Nothing is sent to the engine yet.
 *
 * @throws InvalidInputError for an endpoint that is none, a context that is not there, or settings of eviction that contradict each other
 */
export async function openDockerProvider(host: ProviderHost, config: DockerConfig): Promise<Provider> {
  const { clock, logger, random } = host;
  const rules = dockerEvictionRules(config);
  const endpoint = await resolveEndpoint(config);
  const engine = await connectEngine({ endpoint, clock, logger });
  // Parts that need each other find each other when they are asked.
  const late: { provider?: DockerProvider; preparation?: PodPreparation } = {};
  const { links: wantsLinks, folder } = config.log;
  const logLinks = wantsLinks === false ? undefined : new LogLinks({ folder, isRequired: wantsLinks === true, clock, logger });
  const runtime = new DockerRuntime({
    engine,
    logLinks,
    settings: runtimeSettings(config),
    ownerLabels: ownerLabels(host),
    nodeAddress: host.nodeAddress,
    gpus: () => gpusOf(config),
    credentials: async (pod, image, signal) => (await late.preparation?.credentials(pod, image, signal)) ?? [],
  });
  const volumes = new VolumeManager({
    root: config.rootDirectory,
    clock,
    random,
    logger,
    policy: config.policy,
    // Asked when a container is made, and then the engine is known.
    get recursiveReadOnly() {
      return isAtLeast(runtime.knownFacts?.apiVersion ?? oldestApiVersion, "1.44");
    },
    driverVolume: (claimed) => driverVolumeOf(claimed, config.volumeDrivers),
    resolvePod: (ref) => host.resolvePod(ref),
    recordEvent: (ref, event) => host.recordEvent(ref, event),
    evict: (ref, message) => void late.provider?.evictPod(ref, { message }),
  });
  const { clusterDNS, resolvConf, registryConfig } = config;
  const preparation = createPodPreparation({ host, runtime, volumes, settings: { clusterDNS, resolvConf, registryConfig } });
  late.preparation = preparation;
  const cgroups = openCgroups(host, config, runtime);
  const localPath = openLocalPath(host, config, volumes);
  const driverVolumes = new DockerVolumes({ engine, owner: host, drivers: config.volumeDrivers });
  late.provider = new DockerProvider({
    host,
    config,
    engine,
    runtime,
    logLinks,
    preparation,
    volumes,
    cgroups,
    rules,
    endpoint,
    localPath,
    driverVolumes,
  });
  return late.provider;
}

/** Pods on a Docker engine of this machine. */
class DockerProvider extends PodRuntimeProvider {
  readonly #parts: DockerProviderParts;
  readonly #collector: GarbageCollector;
  readonly #end = new AbortController();
  #collecting: Promise<unknown> | undefined;
  #watchingNode: Promise<void> | undefined;
  /** Images and conditions as they were last described. */
  #described: string | undefined;
  /** What was last logged of the kernel's settings for networks. */
  #loggedRouting: string | undefined;
  #isListed = false;
  /** Why pods have no network; `undefined` while there is one, as far as anybody knows. */
  #networkProblem: string | undefined;
  #onNodeChanged: (() => void) | undefined;
  /** Id of the engine that was found to be this machine's. */
  #localEngine: string | undefined;

  constructor(parts: DockerProviderParts) {
    const { host, config, runtime, preparation, volumes, cgroups, rules } = parts;
    const { clock, logger, nodeName } = host;
    const late: { collector?: GarbageCollector } = {};
    super({
      host,
      runtime,
      preparation,
      storage: volumes,
      cgroups,
      checkPod: (pod) => {
        checkPolicy(pod, config.policy, policyAnnotations, ["linux"]);
        checkEngineLimits(pod, runtime.knownFacts);
        podNetwork(pod, config);
      },
      settings: { sandboxesAtOnce: config.sandboxesAtOnce },
      nodeStats: hostNodeStats({
        nodeName,
        clock,
        directory: config.rootDirectory,
        imageFs: () => imageFsNow(parts),
        cgroups: hostCgroups({
          clock,
          meter: new CgroupMeter({ clock }),
          pods: cgroups && ((signal) => cgroups.totalUsage(signal)),
          runtime: async () => config.runtimeCgroups ?? engineProcess(parts.endpoint),
          misc: config.systemCgroups,
        }),
      }),
      eviction: {
        rules,
        hasImageFs: () => hasImageFs(parts),
        ...(config.imageCollection && { reclaimImages: async (signal) => late.collector?.removeUnusedImages?.(signal) }),
      },
    });
    this.#parts = parts;
    const { imageCollection: images } = config;
    this.#collector = new GarbageCollector({
      runtime,
      labels: ownerLabels(host),
      volumes,
      cgroups,
      clock,
      logger,
      isListed: () => this.#isListed,
      isKnown: (uid) => this.isKnown(uid),
      images: images && { ...images, minAgeMs: images.minAgeSeconds * 1000, keep: [config.sandboxImage] },
    });
    late.collector = this.#collector;
  }

  /**
   * Whether the engine answers, is this machine's, and has the pods' network.
   *
   * @throws UnavailableError or NotFoundError that says what is wrong
   */
  async ping(signal: AbortSignal): Promise<void> {
    const { runtime } = this.#parts;
    await runtime.ping(signal);
    await this.#checkLocality(signal);
    try {
      await runtime.findNetwork(signal);
      this.#noteNetwork(undefined);
    } catch (error) {
      if (isNotFound(error)) this.#noteNetwork(messageOf(error));
      throw error;
    }
  }

  #noteNetwork(problem: string | undefined): void {
    if (problem === this.#networkProblem) return;
    this.#networkProblem = problem;
    this.#onNodeChanged?.();
  }

  async #checkLocality(signal: AbortSignal): Promise<void> {
    if (this.#localEngine !== undefined) return;
    const { runtime, config, host, volumes, logLinks } = this.#parts;
    runtime.forgetFacts();
    await logLinks?.check();
    const { rootDirectory, network } = config;
    await checkLocality(
      { engine: this.#parts.engine, rootDirectory, network, mountAnew: () => volumes.mountAnew(), random: host.random },
      signal,
    );
    const facts = await runtime.facts(signal);
    this.#localEngine = facts.id;
    const { serverVersion: version, isPodman, isRootless, cgroupVersion, cgroupDriver } = facts;
    const engine = `${isRootless ? "rootless " : ""}${isPodman ? "podman" : "docker"}`;
    const limits = engineLimits(facts);
    const message = "pods run on the Docker engine of this machine";
    if (limits.length > 0) host.logger.warn({ engine, version, cgroupVersion, cgroupDriver, limits }, `${message}, within its limits`);
    else host.logger.info({ engine, version, cgroupVersion, cgroupDriver }, message);
  }

  /** As `NodeProvider.configureNode`. */
  async configureNode(signal: AbortSignal): Promise<NodeDescription> {
    const { config, host } = this.#parts;
    const measured = await this.#measureNode(signal);
    const watched = await this.#watched(signal);
    this.#described = JSON.stringify(watched);
    const [{ status, message }] = watched.conditions;
    if (status === "False" && message !== this.#loggedRouting) host.logger.warn({ network: config.network }, message);
    this.#loggedRouting = message;
    const conditions = [...this.pressureConditions, this.#networkCondition(), ...watched.conditions];
    return describeNode({ ...measured, images: watched.images, conditions });
  }

  async #measureNode(signal: AbortSignal): Promise<Omit<NodeFacts, "images" | "conditions">> {
    const { runtime, config, rules } = this.#parts;
    const facts = await runtime.facts(signal);
    const [gpus, diskBytes, machine] = await Promise.all([gpusOf(config), diskSize(facts.rootDirectory), hostMachine()]);
    return { facts, config, gpus, diskBytes, machine, thresholds: rules.thresholds };
  }

  #networkCondition(): NodeCondition {
    const type = "NetworkUnavailable";
    const problem = this.#networkProblem;
    if (problem !== undefined) return { type, status: "True", reason: "NetworkNotFound", message: problem };
    const { cni, network } = this.#parts.config;
    const message = cni ? `network plugins of ${cni.confDir} connect pods` : `the engine has the pods' network "${network}"`;
    return { type, status: "False", reason: "NetworkFound", message };
  }

  /** What of the node's description changes while it runs. */
  async #watched(signal: AbortSignal): Promise<{ readonly images: readonly NodeImage[]; readonly conditions: readonly [NodeCondition] }> {
    const images = await this.#parts.runtime.images.nodeImages(signal);
    return { images, conditions: [await this.#routing(signal)] };
  }

  /** A network that is not there keeps the node from being Ready, and is no reason not to describe it. */
  async #routing(signal: AbortSignal): Promise<NodeCondition> {
    try {
      return await serviceRouting(await this.#parts.runtime.findNetwork(signal));
    } catch (error) {
      signal.throwIfAborted();
      return { type: serviceRoutingCondition, status: "Unknown", reason: "NetworkUnknown", message: messageOf(error) };
    }
  }

  /** As `NodeProvider.notifyNodeStatus`: images come and go, settings of the kernel change, and so do the conditions of the node. */
  override notifyNodeStatus(listener: () => void): void {
    super.notifyNodeStatus(listener);
    this.#onNodeChanged = listener;
    this.#watchingNode ??= this.#watchNode(listener, this.#end.signal).catch(() => {});
  }

  /** @throws only by the signal */
  async #watchNode(onChanged: () => void, signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#parts.host.clock.sleep(nodeWatchMs, signal);
      // While the engine is away nothing is known to have changed.
      const watched = await this.#watched(signal).catch(() => undefined);
      signal.throwIfAborted();
      if (watched && this.#described !== undefined && JSON.stringify(watched) !== this.#described) onChanged();
    }
  }

  /** As `PodNotifier.notifyPods`. What pods have left behind is collected from then on. */
  override notifyPods(listener: (update: PodUpdate) => void): void {
    super.notifyPods(listener);
    // It ends only by our signal.
    const { signal } = this.#end;
    this.#collecting ??= Promise.allSettled([
      this.#collector.run(signal),
      this.#sweepAgain(signal),
      this.#limitPods(signal),
      this.#collectNetworks(signal),
    ]);
  }

  /**
   * Limits all pods together to what is allocatable, until the kernel has taken that.
   *
   * Source: enforceNodeAllocatableCgroups in kubernetes v1.36.3 pkg/kubelet/cm/node_container_manager_linux.go.
   *
   * @throws only by the signal
   */
  async #limitPods(signal: AbortSignal): Promise<void> {
    const { cgroups, config, host } = this.#parts;
    if (!cgroups || !config.enforceNodeAllocatable.includes("pods")) return;
    for (;;) {
      try {
        const limits = cgroupLimits(nodeResources(await this.#measureNode(signal)).enforced);
        if (await cgroups.limit(limits, signal)) host.logger.info({ ...limits }, "all pods together are limited to what is allocatable");
        return;
      } catch (error) {
        signal.throwIfAborted();
        host.logger.warn({ err: error }, "all pods together are not limited to what is allocatable; tried again");
      }
      await host.clock.sleep(limitAgainMs, signal);
    }
  }

  /** At once, for what a program that was killed has left, and then from time to time. @throws only by the signal */
  async #sweepAgain(signal: AbortSignal): Promise<void> {
    const { runtime, host, logLinks } = this.#parts;
    for (;;) {
      try {
        const removed = (await logLinks?.sweep(signal)) ?? 0;
        if (removed > 0) host.logger.info({ removed }, "links to logs of containers that are gone were removed");
      } catch (error) {
        signal.throwIfAborted();
        host.logger.warn({ err: error }, "links to logs of containers that are gone could not be removed");
      }
      try {
        await runtime.collectImageVolumes(signal);
      } catch (error) {
        signal.throwIfAborted();
        host.logger.warn({ err: error }, "files of images that were volumes could not be collected");
      }
      await host.clock.sleep(sweepMs, signal);
    }
  }

  /** Looks once after pods of an earlier program, and from time to time for sandboxes that are gone. @throws only by the signal */
  async #collectNetworks(signal: AbortSignal): Promise<void> {
    const { runtime, host } = this.#parts;
    const onProblem = (labels: Readonly<Record<string, string>>, why: unknown): void => {
      const ref = tryPodRef(labels);
      const message = `the pod's network is not as it was made: ${messageOf(why)}`;
      if (ref) host.recordEvent(ref, { type: "Warning", reason: "NetworkNotReady", message });
    };
    for (let isChecked = false; ;) {
      try {
        await runtime.collectNetworks(signal);
        if (!isChecked) await runtime.checkNetworks(onProblem, signal);
        isChecked = true;
      } catch (error) {
        signal.throwIfAborted();
        host.logger.warn({ err: error }, "what network plugins keep for pods that are gone could not be freed");
      }
      await host.clock.sleep(networksMs, signal);
    }
  }

  /** As `PodLifecycleHandler.getPods`. */
  override async getPods(signal: AbortSignal): Promise<ProviderPodList> {
    const list = await super.getPods(signal);
    this.#isListed = true;
    return list;
  }

  /** As `VolumeProvisioner.provisionVolume`. */
  async provisionVolume(wish: VolumeWish, signal: AbortSignal): Promise<ProvisionedSource> {
    return this.#provisionerOf(wish).provisionVolume(wish, signal);
  }

  /** As `VolumeProvisioner.removeVolume`. */
  async removeVolume(volume: ReleasedVolume, signal: AbortSignal): Promise<void> {
    return this.#provisionerOf(volume).removeVolume(volume, signal);
  }

  #provisionerOf({ name, provisioner }: Pick<VolumeWish, "name" | "provisioner">): VolumeProvisioner {
    const { localPath, driverVolumes, config } = this.#parts;
    if (provisioner === dockerVolumeDriver && config.volumeDrivers.length > 0) return driverVolumes;
    if (localPath && provisioner === config.localPath?.provisioner) return localPath;
    throw new UnsupportedError(`volume ${name}: provisioner ${provisioner} is not configured on this node`);
  }

  /** Lets go of all pods, whose containers go on. */
  override async [Symbol.asyncDispose](): Promise<void> {
    const { runtime, volumes, engine } = this.#parts;
    this.#end.abort(new Error("the provider was closed"));
    await this.#collecting;
    await this.#watchingNode;
    await super[Symbol.asyncDispose]();
    await volumes[Symbol.asyncDispose]();
    await runtime[Symbol.asyncDispose]();
    engine[Symbol.dispose]();
  }
}

/** The images' file system as it is now, with what images took up when that was last measured. */
async function imageFsNow({ runtime, host }: Pick<DockerProviderParts, "runtime" | "host">): Promise<FsStats | undefined> {
  const [known, folder] = [runtime.imageFs(), runtime.knownFacts?.rootDirectory];
  const room = folder === undefined ? undefined : await fileSystemRoom(folder).catch(() => undefined);
  if (!room) return known;
  const { usedBytes: _, ...free } = room;
  return { time: new Date(host.clock.now()).toISOString(), ...known, ...free };
}

/** Whether the engine's data is on another file system than pods' volumes. */
async function hasImageFs({ runtime, config }: Pick<DockerProviderParts, "runtime" | "config">): Promise<boolean> {
  const folders = [config.rootDirectory, runtime.knownFacts?.rootDirectory];
  const [own, engine] = await Promise.all(folders.map((folder) => stat(folder ?? "").catch(() => undefined)));
  return own !== undefined && engine !== undefined && own.dev !== engine.dev;
}

function openLocalPath(
  { clusterId, nodeName, logger }: ProviderHost,
  { localPath, rootDirectory }: DockerConfig,
  volumes: VolumeManager,
): LocalPathVolumes | undefined {
  if (!localPath) return undefined;
  const { root = join(rootDirectory, "local-path") } = localPath;
  return new LocalPathVolumes({ root, owner: { clusterId, nodeName }, logger, usersOf: (volume) => volumes.usersOf(volume) });
}

function openCgroups({ clock, logger }: ProviderHost, config: DockerConfig, runtime: DockerRuntime): PodCgroups | undefined {
  if (!config.cgroupsPerQOS) return undefined;
  const driver = async (signal: AbortSignal): Promise<CgroupDriver | undefined> => {
    const { cgroupDriver, isPodman } = await runtime.facts(signal);
    return !isPodman && (cgroupDriver === "cgroupfs" || cgroupDriver === "systemd") ? cgroupDriver : undefined;
  };
  return new PodCgroups({ driver, prefix: config.cgroupParent, clock, logger });
}

function runtimeSettings(config: DockerConfig): DockerRuntimeSettings {
  const { pulls, rootDirectory, seccompFolder = join(rootDirectory, "seccomp") } = config;
  return {
    ...config,
    seccompFolder,
    imageFolder: join(rootDirectory, "images"),
    networkFolder: join(rootDirectory, "cni"),
    parallelPulls: pulls.parallel,
    pullProgressTimeoutMs: pulls.progressTimeoutSeconds * 1000,
  };
}

async function gpusOf({ gpus }: Pick<DockerConfig, "gpus">): Promise<readonly string[]> {
  return gpus === "auto" ? hostGpus() : gpus;
}
