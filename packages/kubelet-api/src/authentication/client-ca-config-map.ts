import type { Clock, Random } from "@virtual-kubelet/clock";
import { isForbidden, isNotFound, messageOf } from "@virtual-kubelet/errdefs";
import {
  Reflector,
  resources,
  type ConfigMap,
  type DeepReadonly,
  type KubeClient,
  type Logger,
  type Metrics,
} from "@virtual-kubelet/kube-client";
import { Listeners } from "../listeners.ts";
import { parseCaBundle } from "./ca-bundle.ts";
import type { ClientCa } from "./client-ca.ts";

/** Where kube-apiserver publishes its CA bundles for extensions. Source: kubernetes v1.36.3 controlplane clusterauthenticationtrust. */
const place = { namespace: "kube-system", name: "extension-apiserver-authentication" };
const key = "client-ca-file";

/** Delay before a missing or forbidden config map is read again: an administrator may grant access in the meantime. */
const retryMs = 30_000;

/** Options of a client CA in a config map. */
export interface ClientCaConfigMapOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * The client CA that kube-apiserver publishes in the config map `kube-system/extension-apiserver-authentication`. The map is read and
 * watched by name, so the Role `extension-apiserver-authentication-reader` is sufficient. While it cannot be read, only tokens are
 * accepted, which is logged once. The last valid CA stays in use if the map is deleted or becomes invalid.
 */
export class ClientCaConfigMap implements ClientCa {
  readonly #options: ClientCaConfigMapOptions;
  readonly #listeners = new Listeners();
  readonly #searched = Promise.withResolvers<void>();
  #pem: string | undefined;
  #warned = false;

  constructor(options: ClientCaConfigMapOptions) {
    this.#options = options;
  }

  get searched(): Promise<void> {
    return this.#searched.promise;
  }

  current(): string | undefined {
    return this.#pem;
  }

  onChange(listener: () => void): Disposable {
    return this.#listeners.add(listener);
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#find(signal);
      await this.#follow(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#searched.resolve();
    }
  }

  async #find(signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    for (;;) {
      try {
        this.#take(await client.get(resources.configMaps, place, { signal }));
        return;
      } catch (error) {
        signal.throwIfAborted();
        this.#warn(reasonOf(error));
      } finally {
        this.#searched.resolve();
      }
      await clock.sleep(retryMs, signal);
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const query = { namespace: place.namespace, fieldSelector: `metadata.name=${place.name}` };
    const reflector = new Reflector<ConfigMap>({ ...this.#options, resource: resources.configMaps, query, pool: "quiet" });
    using _changes = reflector.store.subscribe((change) => {
      if (change.type !== "deleted") this.#take(change.object);
    });
    await reflector.run(signal);
  }

  #take({ data }: DeepReadonly<ConfigMap>): void {
    const pem = data?.[key];
    if (pem === this.#pem && pem !== undefined) return;
    try {
      parseCaBundle(pem ?? "");
    } catch (error) {
      this.#warn(`its ${key} is invalid: ${messageOf(error)}`);
      return;
    }
    const isFirst = this.#pem === undefined;
    this.#pem = pem;
    this.#warned = false;
    this.#options.logger.info(
      { configMap: `${place.namespace}/${place.name}` },
      isFirst ? "found the client CA" : "the client CA has changed",
    );
    this.#listeners.notify();
  }

  #warn(reason: string): void {
    if (this.#warned) return;
    this.#warned = true;
    const fields = { configMap: `${place.namespace}/${place.name}`, reason };
    if (this.#pem !== undefined) this.#options.logger.warn(fields, "the cluster's client CA cannot be read; the previous one stays in use");
    else
      this.#options.logger.warn(
        fields,
        "the cluster's client CA cannot be read: callers can authenticate by token only, so kubectl logs and exec fail",
      );
  }
}

function reasonOf(error: unknown): string {
  if (isForbidden(error)) return `${messageOf(error)}; virtual-kubelet manifests rbac prints the binding that allows it`;
  if (isNotFound(error)) return "it does not exist; configure a file with the CA";
  return messageOf(error);
}
