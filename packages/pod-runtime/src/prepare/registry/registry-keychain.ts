import { readFile } from "node:fs/promises";
import type { DeepReadonly, Pod, ProviderHost, Secret } from "@virtual-kubelet/core";
import { isNotFound } from "@virtual-kubelet/errdefs";
import type { RegistryCredentials } from "../../runtime/container-runtime.ts";
import { askCredentialHelper } from "./credential-helper.ts";
import { parseDockerConfig, parseLegacyDockerConfig, type DockerConfig, type RegistryEntry } from "./docker-config.ts";
import { imageRepository } from "./image-repository.ts";
import { compareKeys, matchesImage } from "./registry-key.ts";

/** What {@link RegistryKeychain} needs. */
export interface RegistryKeychainOptions {
  readonly host: Pick<ProviderHost, "getSecret" | "recordEvent" | "logger" | "clock">;
  /** A docker configuration file with the node's own credentials. Default: the node has none. */
  readonly configFile?: string | undefined;
  /** Default: {@link askCredentialHelper}. */
  readonly askHelper?: typeof askCredentialHelper | undefined;
}

/**
 * Credentials for pulling images: those of a pod's `imagePullSecrets`, which admission has completed with its service
 * account's, and then the node's own.
 * Source: kubernetes v1.36.3 pkg/credentialprovider; what credential helpers do is docker's.
 */
export class RegistryKeychain {
  readonly #options: RegistryKeychainOptions;

  constructor(options: RegistryKeychainOptions) {
    this.#options = options;
  }

  /**
   * All that fit an image, the most fitting first. What cannot be read is left out: an event on the pod, or the log, tells
   * which.
   *
   * @throws `signal.reason` when aborted
   */
  async credentials(pod: DeepReadonly<Pod>, image: string, signal: AbortSignal): Promise<readonly RegistryCredentials[]> {
    const [ofPod, ofNode] = await Promise.all([this.#ofPod(pod, signal), this.#ofNode(image, signal)]);
    return [...fitting(ofPod, image), ...fitting(ofNode, image)];
  }

  async #ofPod(pod: DeepReadonly<Pod>, signal: AbortSignal): Promise<readonly RegistryEntry[]> {
    const { host } = this.#options;
    const { namespace = "default", name = "", uid = "" } = pod.metadata ?? {};
    const names = (pod.spec?.imagePullSecrets ?? []).flatMap((reference) => reference.name || []);
    const unread: string[] = [];
    const read = async (secretName: string): Promise<readonly RegistryEntry[]> => {
      try {
        return readSecret(await host.getSecret(namespace, secretName, signal));
      } catch (error) {
        signal.throwIfAborted();
        host.logger.warn({ pod: `${namespace}/${name}`, secret: secretName, err: error }, "a pull secret could not be read");
        unread.push(secretName);
        return [];
      }
    };
    const entries = await Promise.all(names.map(read));
    if (unread.length > 0) {
      const message = `Unable to retrieve some image pull secrets (${unread.join(", ")}); attempting to pull the image may not succeed.`;
      host.recordEvent({ namespace, name, uid }, { type: "Warning", reason: "FailedToRetrieveImagePullSecret", message });
    }
    return entries.flat();
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
    // A name, and no path to a program.
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

/** What a secret says of registries; nothing if it is of another type. @throws InvalidInputError; it shows nothing of it */
function readSecret({ type, data }: DeepReadonly<Secret>): readonly RegistryEntry[] {
  const text = (key: string): string => Buffer.from(data?.[key] ?? "", "base64").toString("utf8");
  if (type === "kubernetes.io/dockerconfigjson") return parseDockerConfig(text(".dockerconfigjson")).entries;
  if (type === "kubernetes.io/dockercfg") return parseLegacyDockerConfig(text(".dockercfg"));
  return [];
}

function fitting(entries: readonly RegistryEntry[], image: string): readonly RegistryCredentials[] {
  const matching = entries.filter(({ key }) => matchesImage(key, image));
  return matching.toSorted((a, b) => compareKeys(a.key, b.key)).map(({ credentials }) => credentials);
}
