import { isNotFound, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { ConfigMap, DeepReadonly, ResolvedPod, Secret } from "@virtual-kubelet/core";
import { createHash } from "node:crypto";
import type { PodFile } from "./carried.ts";

/** Values that a far config map or secret has to hold. They may be secrets. */
export interface Content {
  /** Differs whenever the values do. */
  readonly version: string;
  /** Of a secret: its type. */
  readonly type?: string | undefined;
  /** Of a secret: in base 64. */
  readonly data: Readonly<Record<string, string>>;
  /** Of a config map only. */
  readonly binaryData?: Readonly<Record<string, string>> | undefined;
}

/** Name of a config map or secret of the home cluster. */
export interface HomeObject {
  readonly kind: "ConfigMap" | "Secret";
  readonly namespace: string;
  readonly name: string;
}

/** Type of secrets that never leave the home cluster. */
const tokenType = "kubernetes.io/service-account-token";

/**
 * Reads the home object now; it is watched for the pod from then on.
 *
 * @returns `undefined` if there is none; `"refused"` for the token of a service account, which never leaves the home cluster
 * @throws ForbiddenError, UnavailableError
 */
export async function readHomeObject(
  resolved: ResolvedPod,
  { kind, name }: HomeObject,
  signal: AbortSignal,
): Promise<Content | "refused" | undefined> {
  try {
    return kind === "ConfigMap" ? ofConfigMap(await resolved.configMap(name, signal)) : ofSecret(await resolved.secret(name, signal));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/**
 * Reads the files that only this pod has. A file that is optional and missing has no key.
 *
 * @throws what {@link ResolvedPod.volume} does
 */
export async function readPodFiles(resolved: ResolvedPod, files: readonly PodFile[], signal: AbortSignal): Promise<Content> {
  const volumes = [...new Set(files.map(({ volume }) => volume))];
  const payloads = new Map(await Promise.all(volumes.map(async (name) => [name, (await resolved.volume(name, signal)).files] as const)));
  const data: Record<string, string> = {};
  const hash = createHash("sha256");
  for (const { volume, path, key } of files) {
    const file = payloads.get(volume)?.find((candidate) => candidate.path === path);
    if (!file) continue;
    const encoded = Buffer.from(file.content).toString("base64");
    data[key] = encoded;
    hash.update(`${key}\0${encoded}\0`);
  }
  return { version: hash.digest("base64url"), type: "Opaque", data };
}

function ofConfigMap({ metadata, data = {}, binaryData = {} }: DeepReadonly<ConfigMap>): Content {
  return { version: versionOf(metadata), data, binaryData };
}

function ofSecret({ metadata, type = "Opaque", data = {} }: DeepReadonly<Secret>): Content | "refused" {
  return type === tokenType ? "refused" : { version: versionOf(metadata), type, data };
}

/** The error of a pod that refers to the token of a service account. */
export function tokenSecretError(title: string, fieldPath: string | undefined): UnsupportedError {
  return new UnsupportedError(
    `${fieldPath}: ${title} is the token of a service account, which never leaves the home cluster; use a projected volume with a serviceAccountToken`,
    { fieldPath },
  );
}

/** A hash of the values would tell more: whoever sees it can try out weak passwords. */
function versionOf(metadata: DeepReadonly<Secret>["metadata"]): string {
  return `${metadata?.uid}/${metadata?.resourceVersion}`;
}
