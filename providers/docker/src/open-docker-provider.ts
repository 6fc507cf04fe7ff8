import type { Provider, ProviderHost } from "@virtual-kubelet/core";
import {
  createPodPreparation,
  LocalPathVolumes,
  ownerLabels,
  PodCgroups,
  VolumeManager,
  type CgroupDriver,
  type PodPreparation,
} from "@virtual-kubelet/pod-runtime";
import { join } from "node:path";
import { dockerEvictionRules, type DockerConfig } from "./config.ts";
import { DockerProvider } from "./docker-provider.ts";
import { DockerRuntime } from "./docker-runtime.ts";
import { isAtLeast, oldestApiVersion } from "./engine/api-version.ts";
import { connectEngine } from "./engine/connect-engine.ts";
import { resolveEndpoint } from "./engine/engine-endpoint.ts";
import { LogLinks } from "./logs/log-links.ts";
import { gpusOf } from "./node/host-gpus.ts";
import type { DockerRuntimeSettings } from "./runtime-settings.ts";
import { DockerVolumes } from "./volume/docker-volumes.ts";
import { driverVolumeOf } from "./volume/driver-volume.ts";

/**
 * Creates the provider of one node on a Docker engine, without a request to the engine.
 *
 * @throws InvalidInputError for a malformed endpoint, a missing context, or eviction settings that contradict each other
 */
export async function openDockerProvider(host: ProviderHost, config: DockerConfig): Promise<Provider> {
  const { clock, logger, random } = host;
  const rules = dockerEvictionRules(config);
  const endpoint = await resolveEndpoint(config);
  const engine = connectEngine({ endpoint, clock, logger });
  // These parts depend on each other, so they are looked up when they are used.
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
    // Read when a container is created. The engine is known by then.
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
