import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { ConfigMap, DeepReadonly, Secret } from "@virtual-kubelet/kube-client";
import type { VolumeFile } from "../provider/volume-payload.ts";

/** Selection of the keys that become files. */
export interface KeySelection {
  /** Default: all keys, each under its own name. An empty list is the same. */
  readonly items?: readonly { readonly key: string; readonly path: string; readonly mode?: number | undefined }[] | undefined;
  readonly defaultMode: number;
  /** Whether missing keys are left out. */
  readonly optional: boolean;
}

/**
 * The files of a secret's keys; of one that does not exist none.
 * Source: MakePayload in kubernetes v1.36.3 pkg/volume/secret/secret.go.
 *
 * @throws InvalidInputError if a key is missing that is not optional
 */
export function secretFiles(secret: DeepReadonly<Secret> | undefined, selection: KeySelection): VolumeFile[] {
  const contents = new Map(Object.entries(secret?.data ?? {}).map(([key, value]) => [key, () => bytesOfBase64(value)]));
  return selectedFiles(contents, selection, (key) => `references non-existent secret key: ${key}`);
}

/**
 * The files of a config map's keys, `data` and `binaryData`; of one that does not exist none.
 * Source: MakePayload in kubernetes v1.36.3 pkg/volume/configmap/configmap.go.
 *
 * @throws InvalidInputError if a key is missing that is not optional
 */
export function configMapFiles(configMap: DeepReadonly<ConfigMap> | undefined, selection: KeySelection): VolumeFile[] {
  const binary = Object.entries(configMap?.binaryData ?? {}).map(([key, value]) => [key, () => bytesOfBase64(value)] as const);
  const text = Object.entries(configMap?.data ?? {}).map(([key, value]) => [key, () => bytesOfText(value)] as const);
  return selectedFiles(new Map([...binary, ...text]), selection, (key) => `configmap references non-existent config key: ${key}`);
}

/** Encodes the text as UTF-8, in memory of its own. */
export function bytesOfText(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function bytesOfBase64(text: string): Uint8Array {
  // A buffer may share its memory with others.
  return new Uint8Array(Buffer.from(text, "base64"));
}

function selectedFiles(
  contents: ReadonlyMap<string, () => Uint8Array>,
  { items = [], defaultMode, optional }: KeySelection,
  missing: (key: string) => string,
): VolumeFile[] {
  if (items.length === 0) return Array.from(contents, ([path, content]) => ({ path, mode: defaultMode, content: content() }));
  return items.flatMap(({ key, path, mode = defaultMode }) => {
    const content = contents.get(key);
    if (content) return [{ path, mode, content: content() }];
    if (optional) return [];
    throw new InvalidInputError(missing(key));
  });
}
