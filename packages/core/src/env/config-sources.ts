import { isNotFound } from "@virtual-kubelet/errdefs";
import type { ConfigMap, DeepReadonly, Secret } from "@virtual-kubelet/kube-client";
import { missingConfig, unreadableConfig } from "./config-error.ts";
import { Memo } from "./memo.ts";
import type { CoreReason } from "../reasons/core-reasons.ts";

/** A reference to a config map or secret. */
export interface ConfigReference {
  readonly kind: "ConfigMap" | "Secret";
  readonly name: string;
  /** Whether the object may be missing. */
  readonly optional: boolean;
  /** The environment variable that refers to one key; absent for a reference to all keys. */
  readonly variable?: string | undefined;
}

export interface ConfigSourcesOptions {
  readonly namespace: string;
  /** @throws NotFoundError if there is none */
  getSecret(namespace: string, name: string, signal: AbortSignal): Promise<DeepReadonly<Secret>>;
  /** @throws NotFoundError if there is none */
  getConfigMap(namespace: string, name: string, signal: AbortSignal): Promise<DeepReadonly<ConfigMap>>;
  /** Records an event on the pod about everything that is missing or left out. */
  onEvent(type: "Warning", reason: CoreReason, message: string): void;
}

type Values = Readonly<Record<string, string>>;

/**
 * The config maps and secrets of one pod, each read once. A missing one is reported as an event with virtual-kubelet's
 * reasons, and, if it is mandatory, thrown with a kubelet's message.
 */
export class ConfigSources {
  readonly #options: ConfigSourcesOptions;
  readonly #memo = new Memo<Values | undefined>();

  constructor(options: ConfigSourcesOptions) {
    this.#options = options;
  }

  /** Returns all values of a config map or secret; none if it is optional and missing. */
  async readAll(reference: ConfigReference, signal: AbortSignal): Promise<Values> {
    return (await this.#read(reference, signal)) ?? {};
  }

  /** Returns one value; `undefined` if it is optional and missing. */
  async readKey(reference: ConfigReference, key: string, signal: AbortSignal): Promise<string | undefined> {
    const values = await this.#read(reference, signal);
    if (!values) return undefined;
    if (Object.hasOwn(values, key)) return values[key];
    const { kind, name } = reference;
    const missing = `key "${key}" does not exist in ${kind.toLowerCase()} "${name}"`;
    this.#tell(reference, `${urgency(reference)}${kind}KeyNotFound`, missing);
    if (reference.optional) return undefined;
    throw missingConfig(`couldn't find key ${key} in ${kind} ${this.#options.namespace}/${name}`);
  }

  /** Reports keys of a config map or secret that were left out because they cannot be names of variables. */
  reportInvalidNames(kind: ConfigReference["kind"], name: string, keys: readonly string[]): void {
    const where = `${kind.toLowerCase()} ${this.#options.namespace}/${name}`;
    const message = `keys [${keys.join(", ")}] from ${where} were skipped since they are invalid as environment variable names`;
    this.#options.onEvent("Warning", "InvalidEnvironmentVariableNames", message);
  }

  async #read(reference: ConfigReference, signal: AbortSignal): Promise<Values | undefined> {
    const { kind, name } = reference;
    const noun = kind.toLowerCase();
    try {
      const values = await this.#memo.get(`${kind}/${name}`, (inner) => this.#load(kind, name, inner), signal);
      if (values) return values;
    } catch (error) {
      signal.throwIfAborted();
      this.#tell(reference, `FailedToRead${urgency(reference)}${kind}`, `failed to read ${noun} "${name}"`);
      throw unreadableConfig(`failed to read ${noun} "${name}"`, error);
    }
    this.#tell(reference, `${urgency(reference)}${kind}NotFound`, `${noun} "${name}" not found`);
    if (reference.optional) return undefined;
    throw missingConfig(`${noun} "${name}" not found`);
  }

  async #load(kind: ConfigReference["kind"], name: string, signal: AbortSignal): Promise<Values | undefined> {
    const { namespace } = this.#options;
    try {
      if (kind === "ConfigMap") return (await this.#options.getConfigMap(namespace, name, signal)).data ?? {};
      const { data = {} } = await this.#options.getSecret(namespace, name, signal);
      return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString("utf8")]));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  #tell({ optional, variable }: ConfigReference, reason: CoreReason, message: string): void {
    const text = optional && variable !== undefined ? `skipping optional envvar "${variable}": ${message}` : message;
    this.#options.onEvent("Warning", reason, text);
  }
}

function urgency({ optional }: ConfigReference): "Optional" | "Mandatory" {
  return optional ? "Optional" : "Mandatory";
}
