import type { Clock, Random } from "@virtual-kubelet/clock";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import {
  resources,
  type ConfigMap,
  type DeepReadonly,
  type KubeClient,
  type Logger,
  type Metrics,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type Secret,
  type Store,
  type StoreChange,
  type ServerHistory,
} from "@virtual-kubelet/kube-client";
import { readObject } from "../api-server/read-object.ts";
import { needsUpdate } from "../pod/state/pod-changes.ts";
import { isTerminalPhase } from "../pod/status/pod-phase.ts";
import { ObjectCache } from "./object-cache.ts";
import { ServiceAccountTokens, type HeldToken } from "./service-account-tokens.ts";
import type { TokenWish } from "./token-request.ts";
import { TrustBundles, type TrustAnchorsQuery } from "./trust-bundles.ts";

export interface PodSourcesOptions {
  readonly client: KubeClient;
  /** The node's pods. */
  readonly store: Store<Pod>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Tells when everything has to be listed anew. */
  readonly history?: ServerHistory | undefined;
}

/**
 * Objects that the node's pods refer to at the API server: secrets, config maps, tokens, trust bundles. Nothing is fetched
 * before the first request. Objects that a pod has requested are cached and watched until the pod has ended or is gone.
 */
export class PodSources {
  readonly #options: PodSourcesOptions;
  readonly #secrets: ObjectCache<Secret>;
  readonly #configMaps: ObjectCache<ConfigMap>;
  readonly #tokens: ServiceAccountTokens;
  readonly #trustBundles: TrustBundles;
  readonly #ofPods = new Map<string, Set<() => void>>();
  readonly #ofAll = new Set<(uid: string) => void>();

  constructor(options: PodSourcesOptions) {
    const { client, history, clock, random, logger, metrics } = options;
    const common = { client, history, clock, random, logger, metrics };
    const onChange = (uid: string): void => this.#tell(uid);
    this.#options = options;
    this.#secrets = new ObjectCache({ ...common, resource: resources.secrets, onChange });
    this.#configMaps = new ObjectCache({ ...common, resource: resources.configMaps, onChange });
    this.#tokens = new ServiceAccountTokens(common);
    this.#trustBundles = new TrustBundles({ ...common, onChange: () => this.#tellAll() });
  }

  /** Follows the node's pods, and releases the objects of pods that have ended. @returns disposing of it stops that */
  follow(): Disposable {
    return this.#options.store.subscribe((change) => this.#onPodChange(change));
  }

  /** Ends all watches. */
  async close(): Promise<void> {
    await Promise.all([this.#secrets.close(), this.#configMaps.close(), this.#trustBundles.close()]);
  }

  /** Returns the pod as last seen; `undefined` if it is not on this node, or has ended. */
  livePod(uid: string): DeepReadonly<Pod> | undefined {
    const pod = this.#options.store.get(uid);
    return pod && !isTerminalPhase(pod.status?.phase) ? pod : undefined;
  }

  /**
   * @param uid - of the pod that needs it; absent: nobody's, nothing is cached
   * @param keep - whether it is watched until the pod has ended, even if it is not read again; default: false
   * @throws NotFoundError
   */
  getSecret(namespace: string, name: string, signal: AbortSignal, uid?: string, keep?: boolean): Promise<DeepReadonly<Secret>> {
    return this.#secrets.read({ namespace, name }, this.#holder(uid), signal, keep);
  }

  /** As {@link getSecret}. @throws NotFoundError */
  getConfigMap(namespace: string, name: string, signal: AbortSignal, uid?: string, keep?: boolean): Promise<DeepReadonly<ConfigMap>> {
    return this.#configMaps.read({ namespace, name }, this.#holder(uid), signal, keep);
  }

  /** Returns a token bound to the pod. @throws NotFoundError for a pod that is not on this node, or has ended */
  async getToken(uid: string, wish: TokenWish, signal: AbortSignal): Promise<HeldToken> {
    const pod = this.livePod(uid);
    if (!pod) throw new NotFoundError(`request a service account token: no pod with UID ${uid} runs on this node`);
    this.#tokens.hold(uid);
    return this.#tokens.get(pod, wish, signal);
  }

  /** Reads a claim without caching, because a node's own user may not watch claims. @throws NotFoundError */
  async getClaim(namespace: string, name: string, signal: AbortSignal): Promise<DeepReadonly<PersistentVolumeClaim>> {
    const claim = await readObject({ ...this.#options, resource: resources.persistentVolumeClaims }, { namespace, name }, signal);
    if (claim) return claim;
    throw new NotFoundError(`persistentvolumeclaims "${name}" not found`);
  }

  /** Reads a volume, as {@link getClaim}. @throws NotFoundError */
  async getPersistentVolume(name: string, signal: AbortSignal): Promise<DeepReadonly<PersistentVolume>> {
    const volume = await readObject({ ...this.#options, resource: resources.persistentVolumes }, { name }, signal);
    if (volume) return volume;
    throw new NotFoundError(`persistentvolumes "${name}" not found`);
  }

  /** Certificates in PEM. @throws NotFoundError */
  getTrustAnchors(query: TrustAnchorsQuery, signal: AbortSignal): Promise<string> {
    return this.#trustBundles.anchors(query, signal);
  }

  /** Returns all cached secret values of the pod. */
  secretsOf(uid: string): string[] {
    const values = this.#secrets.heldBy(uid).flatMap(({ data = {} }) => Object.values(data));
    return [...values.map((value) => Buffer.from(value, "base64").toString("utf8")), ...this.#tokens.heldBy(uid)];
  }

  /** Calls the listener when an object that the pod has requested may have changed, and when the pod has changed or ended. */
  onPodChange(uid: string, listener: () => void): Disposable {
    const listeners = this.#ofPods.get(uid) ?? new Set();
    this.#ofPods.set(uid, listeners.add(listener));
    return {
      [Symbol.dispose]: () => {
        listeners.delete(listener);
        if (listeners.size === 0 && this.#ofPods.get(uid) === listeners) this.#ofPods.delete(uid);
      },
    };
  }

  /** Calls the listener with the UID of a pod when a secret or config map that it has requested has appeared, changed or gone. */
  onConfigChanged(listener: (uid: string) => void): Disposable {
    this.#ofAll.add(listener);
    return { [Symbol.dispose]: () => void this.#ofAll.delete(listener) };
  }

  #holder(uid: string | undefined): string | undefined {
    return uid !== undefined && this.livePod(uid) ? uid : undefined;
  }

  #onPodChange(change: StoreChange<Pod>): void {
    if (change.type === "added") return;
    if (change.type === "deleted" || isTerminalPhase(change.object.status?.phase)) this.#release(change.uid);
    else if (needsUpdate(change.previous, change.object)) this.#tellPod(change.uid);
  }

  #release(uid: string): void {
    this.#secrets.release(uid);
    this.#configMaps.release(uid);
    this.#tokens.release(uid);
    this.#tellPod(uid);
  }

  #tell(uid: string): void {
    this.#tellPod(uid);
    for (const listener of [...this.#ofAll]) listener(uid);
  }

  #tellAll(): void {
    for (const uid of [...this.#ofPods.keys()]) this.#tellPod(uid);
  }

  #tellPod(uid: string): void {
    for (const listener of [...(this.#ofPods.get(uid) ?? [])]) listener();
  }
}
