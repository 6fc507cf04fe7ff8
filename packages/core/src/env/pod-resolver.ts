import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { ConfigMap, Container, DeepReadonly, Node, Pod, Secret, Service } from "@virtual-kubelet/kube-client";
import type { ApiServerForPods } from "../virtual-node/options.ts";
import type { KnownOfPod, ResolvedEnvVar, ResolvedPod } from "../provider/resolved-pod.ts";
import type { ResolvedVolumes } from "../volumes/pod-volumes.ts";
import { about } from "../provider-calls/not-found.ts";
import type { VolumePayload } from "../provider/volume-payload.ts";
import { unreadableConfig, waitingReasonOf } from "./config-error.ts";
import { ConfigSources } from "./config-sources.ts";
import { resolveEnvironment } from "./environment.ts";
import { expand } from "./expansion.ts";
import { Memo } from "./memo.ts";
import { serviceVariables } from "./service-variables.ts";
import type { CoreReason } from "../reasons/core-reasons.ts";

export interface PodResolverOptions {
  /**
   * @param uid - of the pod that needs it
   * @param keep - whether it is watched until the pod has ended, even if it is not read again; default: false
   * @throws NotFoundError if there is none
   */
  getSecret(namespace: string, name: string, signal: AbortSignal, uid: string, keep?: boolean): Promise<DeepReadonly<Secret>>;
  /** As {@link getSecret}. @throws NotFoundError if there is none */
  getConfigMap(namespace: string, name: string, signal: AbortSignal, uid: string, keep?: boolean): Promise<DeepReadonly<ConfigMap>>;
  /** Returns the services of a namespace; waits until they are known. */
  listServices(namespace: string, signal: AbortSignal): Promise<readonly DeepReadonly<Service>[]>;
  /** The registered node; absent before it is registered. */
  node(): DeepReadonly<Node> | undefined;
  /** The node's addresses, the main one first. */
  hostIPs(): readonly string[];
  /** Returns the resolver of the pod's volumes. */
  volumesOf(pod: DeepReadonly<Pod>): ResolvedVolumes;
  /** Address of the API server for pods. Default: the cluster IP of its service. */
  readonly apiServerForPods?: ApiServerForPods | undefined;
  /** Sink for events on pods. */
  readonly recorder: {
    event(
      regarding: {
        readonly apiVersion: string;
        readonly kind: string;
        readonly namespace: string;
        readonly name: string;
        readonly uid: string;
      },
      type: "Warning",
      reason: CoreReason,
      message: string,
    ): void;
  };
}

/**
 * Creates a resolver of pods' references. Each resolved pod reads lazily and every object at most once. Resolve the pod
 * again to see later changes, and to retry after a missing object.
 */
export function createPodResolver(options: PodResolverOptions): (pod: DeepReadonly<Pod>) => ResolvedPod {
  return (pod) => new LazyResolvedPod(pod, options);
}

class LazyResolvedPod implements ResolvedPod {
  readonly #pod: DeepReadonly<Pod>;
  readonly #options: PodResolverOptions;
  readonly #config: ConfigSources;
  readonly #volumes: ResolvedVolumes;
  readonly claimedVolume?: NonNullable<ResolvedPod["claimedVolume"]>;
  readonly #services = new Memo<readonly ResolvedEnvVar[]>();
  readonly #environments = new Memo<readonly ResolvedEnvVar[]>();

  constructor(pod: DeepReadonly<Pod>, options: PodResolverOptions) {
    const { namespace = "default", name = "", uid = "" } = pod.metadata ?? {};
    this.#pod = pod;
    this.#options = options;
    this.#volumes = options.volumesOf(pod);
    if (this.#volumes.claimedVolume) this.claimedVolume = this.#volumes.claimedVolume.bind(this.#volumes);
    this.#config = new ConfigSources({
      namespace,
      getSecret: (...call) => options.getSecret(...call, uid),
      getConfigMap: (...call) => options.getConfigMap(...call, uid),
      onEvent: (type, reason, message) =>
        options.recorder.event({ apiVersion: "v1", kind: "Pod", namespace, name, uid }, type, reason, message),
    });
  }

  environment(name: string, signal: AbortSignal, known: KnownOfPod = {}): Promise<readonly ResolvedEnvVar[]> {
    const key = [name, ...(known.podIPs ?? [])].join(" ");
    return this.#environments.get(key, (inner) => this.#resolve(name, known, inner), signal);
  }

  /**
   * Command and arguments with `$(NAME)` expanded from the container's environment.
   * Source: ExpandContainerCommandAndArgs in kubernetes v1.36.3 pkg/kubelet/container/helpers.go.
   */
  async commandLine(
    name: string,
    signal: AbortSignal,
    known: KnownOfPod = {},
  ): Promise<{ readonly command: readonly string[]; readonly args: readonly string[] }> {
    const { command = [], args = [] } = this.#container(name);
    const environment = await this.environment(name, signal, known);
    const values = new Map(environment.map((variable) => [variable.name, variable.value]));
    const expandAll = (words: readonly string[]): string[] => words.map((word) => expand(word, (each) => values.get(each)));
    return { command: expandAll(command), args: expandAll(args) };
  }

  volume(name: string, signal: AbortSignal): Promise<VolumePayload> {
    return this.#volumes.volume(name, signal);
  }

  watchVolume(name: string, signal: AbortSignal): AsyncIterable<VolumePayload> {
    return this.#volumes.watchVolume(name, signal);
  }

  configMap(name: string, signal: AbortSignal): Promise<DeepReadonly<ConfigMap>> {
    const { namespace = "default", uid = "" } = this.#pod.metadata ?? {};
    return about({ kind: "ConfigMap", namespace, name }, this.#options.getConfigMap(namespace, name, signal, uid, true));
  }

  secret(name: string, signal: AbortSignal): Promise<DeepReadonly<Secret>> {
    const { namespace = "default", uid = "" } = this.#pod.metadata ?? {};
    return about({ kind: "Secret", namespace, name }, this.#options.getSecret(namespace, name, signal, uid, true));
  }

  serviceVariables(signal: AbortSignal): Promise<readonly ResolvedEnvVar[]> {
    return this.#services.get("", (inner) => this.#listServiceVariables(inner), signal);
  }

  async #resolve(name: string, known: KnownOfPod, signal: AbortSignal): Promise<readonly ResolvedEnvVar[]> {
    const sources = {
      config: this.#config,
      node: this.#options.node(),
      hostIPs: this.#options.hostIPs(),
      podIPs: known.podIPs,
      services: (inner: AbortSignal) => this.serviceVariables(inner),
    };
    return resolveEnvironment({ pod: this.#pod, container: this.#container(name), sources }, signal);
  }

  async #listServiceVariables(signal: AbortSignal): Promise<readonly ResolvedEnvVar[]> {
    const { metadata, spec } = this.#pod;
    const { apiServerForPods: apiServer, listServices } = this.#options;
    try {
      const ofDefault = apiServer ? [] : await listServices("default", signal);
      const wantsOwn = spec?.enableServiceLinks !== false;
      const ofOwn = wantsOwn ? await listServices(metadata?.namespace ?? "default", signal) : [];
      return serviceVariables({ ofDefault, ofOwn, apiServer });
    } catch (error) {
      signal.throwIfAborted();
      throw waitingReasonOf(error) ? error : unreadableConfig("failed to list services when setting up env vars", error);
    }
  }

  #container(name: string): DeepReadonly<Container> {
    const { containers = [], initContainers = [], ephemeralContainers = [] } = this.#pod.spec ?? {};
    const all = [...initContainers, ...containers, ...ephemeralContainers];
    const container = all.find((candidate) => candidate.name === name);
    if (container) return container;
    const names = all.map((candidate) => candidate.name).join(", ");
    throw new InvalidInputError(`resolve container "${name}" of pod ${this.#pod.metadata?.name}: there is none, expected one of ${names}`);
  }
}
