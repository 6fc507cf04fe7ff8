import type { DeepReadonly, Pod, PodSpec, ResolvedPod, VolumeFile } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { SecretRules } from "./environment-of.ts";

type Volume = DeepReadonly<NonNullable<PodSpec["volumes"]>[number]>;

/** A file that the files container writes before the others start. */
export interface PodFile extends Pick<VolumeFile, "path" | "mode" | "uid"> {
  readonly volume: string;
  /**
   * - `shared`: same for all replicas, part of the task definition
   * - `own`: part of the task's overrides
   * - `arn`: read by ECS from Secrets Manager or SSM
   */
  readonly source: { readonly kind: "shared" | "own"; readonly content: Uint8Array } | { readonly kind: "arn"; readonly valueFrom: string };
}

/** Whether a volume consists of files of the cluster. */
export function isFilesVolume({ secret, configMap, projected, downwardAPI }: Volume): boolean {
  return Boolean(secret ?? configMap ?? projected ?? downwardAPI);
}

/** Whether a volume is the one that admission adds to each pod for its service account's token. */
export function isTokenVolume({ name, projected }: Volume): boolean {
  return name.startsWith("kube-api-access-") && projected !== undefined;
}

/**
 * Reads the files of the volumes that containers mount.
 *
 * @throws UnsupportedError for a volume with values of Secrets or tokens that may not be sent as plain text; what `resolved` throws
 */
export async function filesOf(
  pod: DeepReadonly<Pod>,
  mounted: ReadonlySet<string>,
  resolved: ResolvedPod,
  rules: SecretRules,
  signal: AbortSignal,
): Promise<readonly PodFile[]> {
  const files: PodFile[] = [];
  for (const [index, volume] of (pod.spec?.volumes ?? []).entries()) {
    if (!mounted.has(volume.name) || !isFilesVolume(volume)) continue;
    const arns = arnsOf(volume, rules);
    const content = contentOf(volume);
    if (content === "secret" && !arns && !rules.plaintextSecrets) throw refusedVolume(volume, index);
    if (arns) {
      for (const [path, valueFrom] of arns)
        files.push({ volume: volume.name, path, mode: modeOf(volume, path), source: { kind: "arn", valueFrom } });
      continue;
    }
    const payload = await resolved.volume(volume.name, signal);
    for (const { path, mode, uid, content: bytes } of payload.files)
      files.push({ volume: volume.name, path, mode, uid, source: { kind: content === "shared" ? "shared" : "own", content: bytes } });
  }
  return files;
}

/** Returns the ARN of each file of a Secret's volume if all of them have one. */
function arnsOf({ secret }: Volume, { secretArns }: SecretRules): ReadonlyMap<string, string> | undefined {
  if (!secret?.secretName) return undefined;
  const prefix = `${secret.secretName}/`;
  const entries = secret.items
    ? secret.items.map(({ key, path }): [string, string | undefined] => [path, secretArns.get(`${prefix}${key}`)])
    : [...secretArns].flatMap(([key, arn]): [string, string][] => (key.startsWith(prefix) ? [[key.slice(prefix.length), arn]] : []));
  const found = entries.flatMap(([path, arn]): [string, string][] => (arn === undefined ? [] : [[path, arn]]));
  return found.length > 0 && found.length === entries.length ? new Map(found) : undefined;
}

/** Default of `defaultMode`. Source: k8s.io/api/core/v1 SecretVolumeSource. */
const defaultMode = 0o644;

function modeOf({ secret }: Volume, path: string): number {
  return secret?.items?.find((item) => item.path === path)?.mode ?? secret?.defaultMode ?? defaultMode;
}

function contentOf({ secret, projected, downwardAPI }: Volume): "secret" | "own" | "shared" {
  const sources = projected?.sources ?? [];
  if (secret || sources.some((source) => source.secret ?? source.serviceAccountToken)) return "secret";
  return downwardAPI || sources.some((source) => source.downwardAPI) ? "own" : "shared";
}

function refusedVolume({ secret }: Volume, index: number): UnsupportedError {
  const fieldPath = `spec.volumes[${index}].${secret ? "secret" : "projected"}`;
  return new UnsupportedError(
    `${fieldPath}: ECS would store the files as plain text; ${
      secret ? "name copies of all keys in Secrets Manager or SSM with the annotation fargate.virtual-kubelet.io/secrets, or " : ""
    }set plaintextSecrets`,
    { fieldPath },
  );
}
