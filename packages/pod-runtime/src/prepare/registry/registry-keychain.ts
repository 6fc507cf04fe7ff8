import { readFile } from "node:fs/promises";
import {
  credentialsFor,
  imageRepository,
  parseDockerConfig,
  pullSecretEntries,
  type DeepReadonly,
  type Pod,
  type ProviderHost,
  type RegistryCredentials,
  type DockerConfig,
  type RegistryEntry,
} from "@virtual-kubelet/core";
import { isNotFound } from "@virtual-kubelet/errdefs";
import { askCredentialHelper } from "./credential-helper.ts";

export interface RegistryKeychainOptions {
  readonly host: Pick<ProviderHost, "getSecret" | "recordEvent" | "logger" | "clock">;
  /** A docker configuration file with the node's credentials. Default: none. */
  readonly configFile?: string | undefined;
  /** Default: {@link askCredentialHelper}. */
  readonly askHelper?: typeof askCredentialHelper | undefined;
}

/**
 * Credentials for pulling images: first those of the pod's `imagePullSecrets`, to which admission has added its service account's, then the
 * node's own. Source: kubernetes v1.36.3 pkg/credentialprovider; credential helpers follow docker.
 */
export class RegistryKeychain {
  readonly #options: RegistryKeychainOptions;

  constructor(options: RegistryKeychainOptions) {
    this.#options = options;
  }

  /**
   * Credentials that match an image, the best match first. Unreadable secrets are left out and reported by an event on the pod, or in the
   * log.
   *
   * @throws `signal.reason` when aborted
   */
  async credentials(pod: DeepReadonly<Pod>, image: string, signal: AbortSignal): Promise<readonly RegistryCredentials[]> {
    const [ofPod, ofNode] = await Promise.all([pullSecretEntries(this.#options.host, pod, signal), this.#ofNode(image, signal)]);
    return [...credentialsFor(image, ofPod), ...credentialsFor(image, ofNode)];
  }

  async #ofNode(image: string, signal: AbortSignal): Promise<readonly RegistryEntry[]> {
    const { configFile, host } = this.#options;
    if (configFile === undefined) return [];
    try {
      const config = parseDockerConfig(await readFile(configFile, { encoding: "utf8", signal }));
      return [...(await this.#fromHelper(config, image, signal)), ...config.entries];
    } catch (error) {
      signal.throwIfAborted();
      host.logger.warn({ configFile, err: error }, "the node's registry credentials could not be read");
      return [];
    }
  }

  async #fromHelper({ helpers, store }: DockerConfig, image: string, signal: AbortSignal): Promise<readonly RegistryEntry[]> {
    const { host, askHelper = askCredentialHelper } = this.#options;
    const [registry = ""] = imageRepository(image).split("/", 1);
    const helper = helpers.get(registry) ?? store;
    // Must be a name, not a path to a program.
    if (helper === undefined || !/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(helper)) return [];
    const server = registry === "docker.io" ? "https://index.docker.io/v1/" : registry;
    try {
      const credentials = await askHelper(`docker-credential-${helper}`, server, { clock: host.clock, signal });
      return [{ key: registry, credentials }];
    } catch (error) {
      signal.throwIfAborted();
      if (!isNotFound(error)) host.logger.warn({ registry, helper, err: error }, "a credential helper failed");
      return [];
    }
  }
}
