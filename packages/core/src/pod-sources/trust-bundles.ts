import { withDeadline } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/clock";
import { InvalidInputError, isNotFound, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import {
  Reflector,
  resource,
  type KubeClient,
  type KubernetesObject,
  type Logger,
  type Metrics,
  type Resource,
  type ServerHistory,
} from "@virtual-kubelet/kube-client";
import { selectsLabels, type LabelSelector } from "@virtual-kubelet/kubernetes";
import { mergeTrustAnchors } from "./trust-anchors.ts";

const group = "certificates.k8s.io";
/** The newest first. */
const versions = ["v1", "v1beta1", "v1alpha1"];
const syncTimeoutMs = 10_000;
/** How long a cluster without the API is taken for one. */
const absentForMs = 60_000;

interface ClusterTrustBundle extends KubernetesObject {
  spec?: { signerName?: string | undefined; trustBundle?: string | undefined } | undefined;
}

/** Which bundles are meant. */
export interface TrustAnchorsQuery {
  /** One bundle, by its name. */
  readonly name?: string | undefined;
  /** Or all of a signer that {@link labelSelector} selects. */
  readonly signerName?: string | undefined;
  /** None selects nothing, an empty one everything. */
  readonly labelSelector?: LabelSelector | undefined;
  /** Whether there may be none. */
  readonly optional: boolean;
}

export interface TrustBundlesOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Tells when everything has to be listed anew. */
  readonly history?: ServerHistory | undefined;
  /** Called when any bundle has changed. */
  readonly onChange: () => void;
}

/**
 * The cluster's trust bundles, for the volumes that project them. Watched from the first time anybody asks. A cluster
 * without the API has none.
 * Source: kubernetes v1.36.3 pkg/kubelet/clustertrustbundle.
 */
export class TrustBundles {
  readonly #options: TrustBundlesOptions;
  readonly #stop = new AbortController();
  #reflector: Reflector<ClusterTrustBundle> | undefined;
  #running: Promise<void> | undefined;
  #absentUntilMs: number | undefined;

  constructor(options: TrustBundlesOptions) {
    this.#options = options;
  }

  /**
   * The anchors in PEM; empty if there are none and need be none.
   *
   * @throws NotFoundError if there are none; InvalidInputError; UnavailableError while they are not known
   */
  async anchors(query: TrustAnchorsQuery, signal: AbortSignal): Promise<string> {
    const bundles = await this.#bundles(signal);
    const { name, signerName, labelSelector, optional } = query;
    if (name !== undefined) {
      const found = bundles.find(({ metadata }) => metadata?.name === name);
      if (!found && !optional) {
        throw new NotFoundError(`while getting ClusterTrustBundle: clustertrustbundle.${group} "${name}" not found`);
      }
      return mergeTrustAnchors(found ? [found.spec?.trustBundle ?? ""] : []);
    }
    if (signerName === undefined) throw new InvalidInputError("ClusterTrustBundle projection requires either name or signerName to be set");
    const selected = bundles.filter(
      ({ metadata, spec }) => spec?.signerName === signerName && selectsLabels(labelSelector, metadata?.labels ?? {}),
    );
    if (selected.length === 0 && !optional) {
      throw new NotFoundError("combination of signerName and labelSelector matched zero ClusterTrustBundles");
    }
    return mergeTrustAnchors(selected.map(({ spec }) => spec?.trustBundle ?? ""));
  }

  /** Ends the watch, if there is one. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #bundles(signal: AbortSignal): Promise<ClusterTrustBundle[]> {
    const reflector = this.#reflector ?? (await this.#start(signal));
    if (!reflector) return [];
    const { clock } = this.#options;
    await withDeadline({ clock, timeoutMs: syncTimeoutMs, what: "list ClusterTrustBundles" }, signal, () => reflector.synced).catch(
      (error: unknown) => {
        signal.throwIfAborted();
        throw new UnavailableError("ClusterTrustBundle informer has not yet synced", { cause: error });
      },
    );
    return [...reflector.store.list()] as ClusterTrustBundle[];
  }

  async #start(signal: AbortSignal): Promise<Reflector<ClusterTrustBundle> | undefined> {
    const { clock, onChange } = this.#options;
    if (this.#absentUntilMs !== undefined && clock.monotonic() < this.#absentUntilMs) return undefined;
    const found = await this.#find(signal);
    if (this.#reflector) return this.#reflector;
    if (!found) {
      this.#absentUntilMs = clock.monotonic() + absentForMs;
      return undefined;
    }
    const reflector = new Reflector<ClusterTrustBundle>({ ...this.#options, resource: found });
    reflector.store.subscribe(onChange);
    this.#reflector = reflector;
    this.#running = reflector.run(this.#stop.signal);
    return reflector;
  }

  /** The newest version of the API that the server has. */
  async #find(signal: AbortSignal): Promise<Resource<ClusterTrustBundle> | undefined> {
    for (const version of versions) {
      try {
        const listed = await this.#options.client.raw("GET", `/apis/${group}/${version}`, undefined, { signal });
        const { resources = [] } = listed as { readonly resources?: readonly { readonly name?: string }[] };
        if (resources.some(({ name }) => name === "clustertrustbundles")) {
          return resource({ group, version, plural: "clustertrustbundles", kind: "ClusterTrustBundle", namespaced: false });
        }
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
    return undefined;
  }
}
