import type { Container, DeepReadonly, Pod, ProviderHost, ResolvedEnvVar } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { PodPreparation } from "../worker/effect-runner.ts";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";
import type { ContainerMount } from "../runtime/runtime-spec.ts";

/** The pods' volumes on the node's disk, and their folders. A pod's folder is there before its sandbox, and goes with the pod. */
export interface PreparedVolumes {
  /**
   * Fills the pod's volumes; returns at once where they are. What it throws leaves the pod waiting as ContainerCreating,
   * and is tried again.
   */
  prepare(pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<void>;
  /**
   * What the container mounts of them, in the order of its spec.
   *
   * @param environment - for `subPathExpr`
   * @throws InvalidInputError
   */
  mounts(
    pod: DeepReadonly<Pod>,
    container: DeepReadonly<Container>,
    environment: readonly ResolvedEnvVar[],
    signal: AbortSignal,
  ): Promise<readonly ContainerMount[]>;
  /** The pod's folder on the node: `etc-hosts` is in it, and `containers/NAME/ATTEMPT` is a container's termination message. */
  podFolder(pod: DeepReadonly<Pod>): string;
}

/** What a node's administrator settles about its pods. */
export interface PodPreparationSettings {
  /** Addresses of the cluster's DNS. Default: none, and pods with dnsPolicy ClusterFirst get the node's. A kubelet's `--cluster-dns`. */
  readonly clusterDNS?: readonly string[] | undefined;
  /**
   * The file that tells of the node's DNS; empty: there is none. Default `/etc/resolv.conf`, and where that names
   * systemd-resolved's own address, the servers behind it. A kubelet's `--resolv-conf`.
   */
  readonly resolvConf?: string | undefined;
  /** The node's own hosts file, for pods on its network. Default `/etc/hosts`. */
  readonly hostsFile?: string | undefined;
  /** The node's memory, which the order in which the kernel kills follows from. */
  readonly memoryBytes: number;
  /** Whether CPU limits are enforced. Default `true`. A kubelet's `--cpu-cfs-quota`. */
  readonly cpuQuota?: boolean | undefined;
  /**
   * A docker configuration file, `config.json`, with the node's own credentials for registries; helpers it names are run.
   * Default: none.
   */
  readonly registryConfig?: string | undefined;
}

/** What {@link createPodPreparation} needs. */
export interface PodPreparationOptions {
  readonly host: ProviderHost;
  readonly runtime: Pick<ContainerRuntime, "inspectImage">;
  readonly volumes: PreparedVolumes;
  readonly settings: PodPreparationSettings;
}

/** What turns pods' specs into what a runtime takes, for all pods of a node. */
export function createPodPreparation(options: PodPreparationOptions): PodPreparation {
  const { host } = options;
  const missing = (): Promise<never> => Promise.reject(new UnsupportedError(`prepare a pod of node ${host.nodeName}: not yet`));
  return { sandbox: missing, container: missing, limits: () => ({}), credentials: missing };
}
