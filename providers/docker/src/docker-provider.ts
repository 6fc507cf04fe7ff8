import {
  checkPolicy,
  type FsStats,
  type NodeDescription,
  type PodUpdate,
  type ProviderHost,
  type ProviderPodList,
  type ProvisionedSource,
  type ReleasedVolume,
  type VolumeProvisioner,
  type VolumeWish,
} from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import {
  CgroupMeter,
  fileSystemRoom,
  GarbageCollector,
  hostCgroups,
  hostNodeStats,
  ownerLabels,
  PodRuntimeProvider,
  type EvictionRules,
  type LocalPathVolumes,
  type PodCgroups,
  type PodPreparation,
  type VolumeManager,
} from "@virtual-kubelet/pod-runtime";
import { stat } from "node:fs/promises";
import type { DockerConfig } from "./config.ts";
import type { DockerRuntime } from "./docker-runtime.ts";
import type { DockerEngine, EngineEndpoint } from "./engine/docker-engine.ts";
import { checkEngineLimits, engineLimits } from "./engine/engine-limits.ts";
import { checkLocality } from "./engine/engine-locality.ts";
import { engineProcess } from "./engine/engine-process.ts";
import type { LogLinks } from "./logs/log-links.ts";
import { collectNetworks } from "./maintenance/collect-networks.ts";
import { limitPods } from "./maintenance/limit-pods.ts";
import { sweepLeftovers } from "./maintenance/sweep-leftovers.ts";
import { podNetwork, policyAnnotations } from "./network/network-annotation.ts";
import { DockerNode } from "./node/docker-node.ts";
import type { NodeResourceFacts } from "./node/node-description.ts";
import type { DockerVolumes } from "./volume/docker-volumes.ts";
import { dockerVolumeDriver } from "./volume/driver-volume.ts";

/** Parts of a {@link DockerProvider}. */
export interface DockerProviderParts {
  readonly host: ProviderHost;
  readonly config: DockerConfig;
  readonly engine: DockerEngine & Disposable;
  readonly runtime: DockerRuntime;
  /** `undefined` when links are switched off. */
  readonly logLinks: LogLinks | undefined;
  readonly preparation: PodPreparation;
  readonly volumes: VolumeManager;
  readonly cgroups: PodCgroups | undefined;
  readonly rules: EvictionRules;
  readonly endpoint: EngineEndpoint;
  readonly localPath: LocalPathVolumes | undefined;
  readonly driverVolumes: DockerVolumes;
}

/** Runs pods on a Docker engine of this machine. */
export class DockerProvider extends PodRuntimeProvider {
  readonly #parts: DockerProviderParts;
  readonly #node: DockerNode;
  readonly #collector: GarbageCollector;
  readonly #end = new AbortController();
  #maintenance: Promise<unknown> | undefined;
  #isListed = false;
  /** Id of the engine that was found to be on this machine. */
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
        checkPolicy(pod, config.policy, { annotations: policyAnnotations, operatingSystems: ["linux"] });
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
    this.#node = new DockerNode({ host, config, runtime, rules });
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
   * Checks that the engine answers, is on this machine, and has the pods' network.
   *
   * @throws UnavailableError or NotFoundError with the reason
   */
  async ping(signal: AbortSignal): Promise<void> {
    const { runtime } = this.#parts;
    await runtime.ping(signal);
    await this.#checkLocality(signal);
    await this.#node.checkNetwork(signal);
  }

  /** As `NodeProvider.checkAccess`: without the test of whether the engine sees a new file of this program. */
  async checkAccess(signal: AbortSignal): Promise<readonly string[]> {
    await this.#parts.runtime.ping(signal);
    await this.#node.checkNetwork(signal);
    return [];
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
  configureNode(signal: AbortSignal): Promise<NodeDescription> {
    return this.#node.describe(() => this.pressureConditions, signal);
  }

  /** As `NodeProvider.notifyNodeStatus`: called when images, the kernel's network settings or the node's conditions have changed. */
  override notifyNodeStatus(listener: () => void): void {
    super.notifyNodeStatus(listener);
    this.#node.watch(listener, this.#end.signal);
  }

  /** As `PodNotifier.notifyPods`. Starts the collection of what pods have left behind. */
  override notifyPods(listener: (update: PodUpdate) => void): void {
    super.notifyPods(listener);
    const { host, runtime, config, cgroups, logLinks } = this.#parts;
    const { signal } = this.#end;
    const measureNode = (until: AbortSignal): Promise<NodeResourceFacts> => this.#node.measure(until);
    // They end only when the provider is closed.
    this.#maintenance ??= Promise.allSettled([
      this.#collector.run(signal),
      sweepLeftovers({ host, runtime, logLinks }, signal),
      cgroups && config.enforceNodeAllocatable.includes("pods") && limitPods({ host, cgroups, measureNode }, signal),
      collectNetworks({ host, runtime }, signal),
    ]);
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

  /** Stops managing pods. Their containers go on running. */
  override async [Symbol.asyncDispose](): Promise<void> {
    const { runtime, volumes, engine } = this.#parts;
    this.#end.abort(new Error("the provider was closed"));
    await this.#maintenance;
    await this.#node.ended();
    await super[Symbol.asyncDispose]();
    await volumes[Symbol.asyncDispose]();
    await runtime[Symbol.asyncDispose]();
    engine[Symbol.dispose]();
  }
}

/** Current free space of the images' file system, with the last measured size of the images. */
async function imageFsNow({ runtime, host }: Pick<DockerProviderParts, "runtime" | "host">): Promise<FsStats | undefined> {
  const [known, folder] = [runtime.imageFs(), runtime.knownFacts?.rootDirectory];
  const room = folder === undefined ? undefined : await fileSystemRoom(folder).catch(() => undefined);
  if (!room) return known;
  const { usedBytes: _, ...free } = room;
  return { time: new Date(host.clock.now()).toISOString(), ...known, ...free };
}

/** Whether the engine's data and the pods' volumes are on different file systems. */
async function hasImageFs({ runtime, config }: Pick<DockerProviderParts, "runtime" | "config">): Promise<boolean> {
  const folders = [config.rootDirectory, runtime.knownFacts?.rootDirectory];
  const [own, engine] = await Promise.all(folders.map((folder) => stat(folder ?? "").catch(() => undefined)));
  return own !== undefined && engine !== undefined && own.dev !== engine.dev;
}
