import { readFile } from "node:fs/promises";
import { totalmem } from "node:os";
import { podRef, type Container, type DeepReadonly, type Pod, type ProviderHost } from "@virtual-kubelet/core";
import type { PodState } from "../pod/pod-state.ts";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";
import type { ContainerSpec, SandboxSpec } from "../runtime/runtime-spec.ts";
import { allMounts } from "./container-mounts.ts";
import { hostNetworkHostsFile, podHostsFile } from "./hosts-file.ts";
import { readNodeDns } from "./node-dns.ts";
import { oomScoreAdjustment } from "./oom-score.ts";
import { podDns, type PodDns } from "./pod-dns.ts";
import { PodFiles } from "./pod-files.ts";
import { podHostname } from "./pod-hostname.ts";
import { RegistryKeychain } from "./registry/registry-keychain.ts";
import { formatResolvConf } from "./resolv-conf.ts";
import { resourceLimits } from "./resource-limits.ts";
import { checkRunAsNonRoot, needsImageUser } from "./run-as-non-root.ts";
import { targetContainerId } from "./target-container.ts";
import type { PreparedVolumes } from "../volumes/prepared-volumes.ts";
import type { ContainerStart, PodPreparation } from "../worker/preparation.ts";

/** Settings of a node's administrator. */
export interface PodPreparationSettings {
  /**
   * Addresses of the cluster's DNS, as a kubelet's `--cluster-dns`. Default: none, and pods with dnsPolicy ClusterFirst get the node's DNS.
   */
  readonly clusterDNS?: readonly string[] | undefined;
  /**
   * The node's `resolv.conf`, as a kubelet's `--resolv-conf`; empty: the node has no DNS. Default: `/etc/resolv.conf`; if that names only
   * systemd-resolved's stub address, the upstream servers.
   */
  readonly resolvConf?: string | undefined;
  /** The node's own hosts file, for pods on its network. Default: `/etc/hosts`. */
  readonly hostsFile?: string | undefined;
  /** The node's memory, for the OOM scores. Default: this machine's. */
  readonly memoryBytes?: number | undefined;
  /** Whether CPU limits are enforced, as a kubelet's `--cpu-cfs-quota`. Default: true. */
  readonly cpuQuota?: boolean | undefined;
  /** A docker `config.json` with the node's registry credentials. Credential helpers that it names are run. Default: none. */
  readonly registryConfig?: string | undefined;
}

/** The part of a provider's host that prepares pods. */
export type PreparationHost = Pick<ProviderHost, "clusterDomain" | "logger" | "clock" | "getSecret" | "resolvePod" | "recordEvent">;

/** Options of the preparation of pods. */
export interface PodPreparationOptions {
  readonly host: PreparationHost;
  readonly runtime: Pick<ContainerRuntime, "inspectImage">;
  readonly volumes: PreparedVolumes;
  readonly settings?: PodPreparationSettings | undefined;
}

/** Creates the preparation of all pods of a node. */
export function createPodPreparation(options: PodPreparationOptions): PodPreparation {
  return new KubeletPreparation(options);
}

/** Prepares pods like a kubelet. The worker adds labels. */
class KubeletPreparation implements PodPreparation {
  readonly #host: PreparationHost;
  readonly #runtime: Pick<ContainerRuntime, "inspectImage">;
  readonly #volumes: PreparedVolumes;
  readonly #settings: PodPreparationSettings;
  readonly #files = new PodFiles();
  readonly #keychain: RegistryKeychain;

  constructor({ host, runtime, volumes, settings = {} }: PodPreparationOptions) {
    this.#host = host;
    this.#runtime = runtime;
    this.#volumes = volumes;
    this.#settings = settings;
    this.#keychain = new RegistryKeychain({ host, configFile: settings.registryConfig });
  }

  async sandbox({ desired: { pod } }: PodState, _attempt: number, signal: AbortSignal): Promise<SandboxSpec> {
    const hostname = pod.spec?.hostNetwork ? "" : podHostname(pod, this.#host.clusterDomain).kernelHostname;
    const { dns, warnings } = await this.#dns(pod, signal);
    for (const warning of warnings) this.#host.recordEvent(podRef(pod), warning);
    await this.#files.write(this.#volumes.podFolder(pod), resolvConfName, formatResolvConf(dns));
    return { labels: {}, hostname, dns, hosts: hostAliases(pod), pod };
  }

  async container({ state, desired, attempt, imageId, volumeImages }: ContainerStart, signal: AbortSignal): Promise<ContainerSpec> {
    const { pod } = state.desired;
    const { container, name } = desired;
    const podIPs = state.stage.kind === "up" ? state.stage.ips : [];
    const resolved = this.#host.resolvePod(podRef(pod));
    const known = podIPs.length > 0 ? { podIPs } : undefined;
    const environment = await resolved.environment(name, signal, known);
    const volumes = await this.#volumes.mounts(pod, container, { environment, volumeImages }, signal);
    const imageUser = needsImageUser(pod, container) ? (await this.#runtime.inspectImage(imageId, signal)).user : undefined;
    checkRunAsNonRoot(pod, container, imageUser);
    const { command, args } = await resolved.commandLine(name, signal, known);
    const files = {
      hosts: await this.#hostsFile(pod, podIPs, signal),
      resolvConf: await this.#resolvConf(pod, signal),
      terminationLog: container.terminationMessagePath ? await this.#volumes.createTerminationLog(podRef(pod), name, attempt) : undefined,
    };
    return {
      labels: {},
      imageId,
      command,
      args,
      environment,
      mounts: allMounts(container, volumes, files),
      limits: this.limits(pod, container),
      oomScoreAdjustment: oomScoreAdjustment(pod, container, this.#settings.memoryBytes ?? totalmem()),
      pod,
      container,
      targetContainerId: targetContainerId(state, name),
    };
  }

  limits(pod: DeepReadonly<Pod>, container: DeepReadonly<Container>): ReturnType<PodPreparation["limits"]> {
    return resourceLimits(pod, container, { cpuQuota: this.#settings.cpuQuota });
  }

  credentials(pod: DeepReadonly<Pod>, image: string, signal: AbortSignal): ReturnType<PodPreparation["credentials"]> {
    return this.#keychain.credentials(pod, image, signal);
  }

  async #dns(pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<PodDns> {
    const { clusterDNS = [], resolvConf } = this.#settings;
    return podDns(pod, { nodeDns: await readNodeDns(resolvConf, signal), clusterDNS, clusterDomain: this.#host.clusterDomain });
  }

  /** Path of the file that was written for the sandbox. Written anew if an earlier program created the sandbox. */
  async #resolvConf(pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<string> {
    const folder = this.#volumes.podFolder(pod);
    const content = (await this.#files.tryRead(folder, resolvConfName)) ?? formatResolvConf((await this.#dns(pod, signal)).dns);
    return this.#files.write(folder, resolvConfName, content);
  }

  /** `undefined` while the pod has no address, as with a kubelet. */
  async #hostsFile(pod: DeepReadonly<Pod>, podIPs: readonly string[], signal: AbortSignal): Promise<string | undefined> {
    const onHost = pod.spec?.hostNetwork === true;
    if (!onHost && podIPs.length === 0) return undefined;
    const { hostsFile = "/etc/hosts" } = this.#settings;
    const content = onHost
      ? hostNetworkHostsFile(await readFile(hostsFile, { encoding: "utf8", signal }), hostAliases(pod))
      : podHostsFile(podIPs, podHostname(pod, this.#host.clusterDomain), hostAliases(pod));
    return this.#files.write(this.#volumes.podFolder(pod), "etc-hosts", content);
  }
}

const resolvConfName = "resolv.conf";

function hostAliases({ spec }: DeepReadonly<Pod>): SandboxSpec["hosts"] {
  return (spec?.hostAliases ?? []).map(({ ip, hostnames = [] }) => ({ ip, hostnames }));
}
