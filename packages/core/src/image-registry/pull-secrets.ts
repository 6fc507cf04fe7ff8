import type { DeepReadonly, Pod, Secret } from "@virtual-kubelet/kube-client";
import { podRef } from "../provider/pod-ref.ts";
import type { ProviderHost } from "../provider/provider-host.ts";
import { parseDockerConfig, parseLegacyDockerConfig, type RegistryCredentials, type RegistryEntry } from "./docker-config.ts";
import { compareKeys, matchesImage } from "./registry-key.ts";
import type { CoreReason } from "../reasons/core-reasons.ts";

/**
 * What a pod's `imagePullSecrets`, which admission has completed with its service account's, say of registries. What cannot be read is left
 * out: an event on the pod tells which, and the log why.
 *
 * @throws `signal.reason` when aborted
 */
export async function pullSecretEntries(
  host: Pick<ProviderHost, "getSecret" | "recordEvent" | "logger">,
  pod: DeepReadonly<Pod>,
  signal: AbortSignal,
): Promise<readonly RegistryEntry[]> {
  const ref = podRef(pod);
  const names = (pod.spec?.imagePullSecrets ?? []).flatMap((reference) => reference.name || []);
  const unread: string[] = [];
  const read = async (secretName: string): Promise<readonly RegistryEntry[]> => {
    try {
      return readSecret(await host.getSecret(ref.namespace, secretName, signal));
    } catch (error) {
      signal.throwIfAborted();
      host.logger.warn({ pod: `${ref.namespace}/${ref.name}`, secret: secretName, err: error }, "a pull secret could not be read");
      unread.push(secretName);
      return [];
    }
  };
  const entries = await Promise.all(names.map(read));
  if (unread.length > 0) {
    const message = `Unable to retrieve some image pull secrets (${unread.join(", ")}); attempting to pull the image may not succeed.`;
    host.recordEvent(ref, { type: "Warning", reason: "FailedToRetrieveImagePullSecret" satisfies CoreReason, message });
  }
  return entries.flat();
}

/**
 * The credentials that fit an image, in the order in which a kubelet tries them: the most fitting first.
 * Source: kubernetes v1.36.3 pkg/credentialprovider.
 */
export function credentialsFor(image: string, entries: readonly RegistryEntry[]): readonly RegistryCredentials[] {
  const matching = entries.filter(({ key }) => matchesImage(key, image));
  return matching.toSorted((a, b) => compareKeys(a.key, b.key)).map(({ credentials }) => credentials);
}

/** What a secret says of registries; nothing if it is of another type. @throws InvalidInputError; it shows nothing of it */
function readSecret({ type, data }: DeepReadonly<Secret>): readonly RegistryEntry[] {
  const text = (key: string): string => Buffer.from(data?.[key] ?? "", "base64").toString("utf8");
  if (type === "kubernetes.io/dockerconfigjson") return parseDockerConfig(text(".dockerconfigjson")).entries;
  if (type === "kubernetes.io/dockercfg") return parseLegacyDockerConfig(text(".dockercfg"));
  return [];
}
