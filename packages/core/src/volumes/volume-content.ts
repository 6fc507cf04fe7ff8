import { InvalidInputError, isNotFound, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { ConfigMap, DeepReadonly, Pod, PodSpec, Secret } from "@virtual-kubelet/kube-client";
import { throwAll } from "./collect-all.ts";
import { downwardFiles } from "./downward-files.ts";
import { volumeFilePath } from "./file-path.ts";
import { bytesOfText, configMapFiles, secretFiles } from "./key-files.ts";
import type { HeldToken } from "../pod-sources/service-account-tokens.ts";
import type { TokenWish } from "../pod-sources/token-request.ts";
import type { TrustAnchorsQuery } from "../pod-sources/trust-bundles.ts";
import { tokenOwner } from "./token-owner.ts";
import type { VolumeFile, VolumePayload } from "../provider/volume-payload.ts";

/** A volume of a pod's spec. */
export type Volume = DeepReadonly<NonNullable<PodSpec["volumes"]>[number]>;

/** Sources of the contents of one pod's volumes. */
export interface VolumeSources {
  /** @throws NotFoundError, and what the API server answers */
  getSecret(name: string, signal: AbortSignal): Promise<DeepReadonly<Secret>>;
  /** @throws NotFoundError, and what the API server answers */
  getConfigMap(name: string, signal: AbortSignal): Promise<DeepReadonly<ConfigMap>>;
  getToken(wish: TokenWish, signal: AbortSignal): Promise<HeldToken>;
  /** Certificates in PEM. @throws NotFoundError */
  getTrustAnchors(query: TrustAnchorsQuery, signal: AbortSignal): Promise<string>;
  /** The node's allocatable resources. */
  readonly allocatable: Readonly<Record<string, string>> | undefined;
}

/** A volume's content, and the time at which it has to be renewed. */
export interface VolumeContent {
  readonly payload: VolumePayload;
  /** Monotonic time from which a token in it has to be renewed. */
  readonly refreshAtMs: number | undefined;
}

type Projection = NonNullable<NonNullable<NonNullable<Volume["projected"]>["sources"]>[number]>;
type Content = { readonly files: readonly VolumeFile[]; readonly refreshAtMs?: number };

/** The API server's default for a volume's mode. */
const apiDefaultMode = 0o644;
const apiTokenSeconds = 3_600;

/** The supported sources of a projected volume; `podCertificate` is not supported. */
const projectionNames = ["secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle"] as const;

/** Whether a volume's content comes from the API server; the provider fills all others. */
export function hasPayload(volume: Volume): boolean {
  return Boolean(volume.configMap ?? volume.secret ?? volume.downwardAPI ?? volume.projected);
}

/**
 * Returns the content of a volume, by a kubelet's rules.
 * Source: kubernetes v1.36.3 pkg/volume/{configmap,secret,downwardapi,projected}.
 *
 * @throws the errors of the sources; InvalidInputError for a missing key or a wrong path; UnsupportedError
 */
export async function readVolume(
  volume: Volume,
  pod: DeepReadonly<Pod>,
  sources: VolumeSources,
  signal: AbortSignal,
): Promise<VolumeContent> {
  const { files, refreshAtMs } = await readSource(volume, pod, sources, signal);
  const byPath = new Map<string, VolumeFile>();
  for (const file of files) {
    const path = volumeFilePath(file.path);
    byPath.set(path, { ...file, path });
  }
  const sorted = [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  return { payload: { files: sorted }, refreshAtMs };
}

async function readSource(volume: Volume, pod: DeepReadonly<Pod>, sources: VolumeSources, signal: AbortSignal): Promise<Content> {
  const { configMap, secret, downwardAPI, projected } = volume;
  if (configMap) {
    const { name = "", items, optional = false, defaultMode = apiDefaultMode } = configMap;
    const found = await orAbsent(sources.getConfigMap(name, signal), optional);
    return { files: configMapFiles(found, { items, optional, defaultMode }) };
  }
  if (secret) {
    const { secretName = "", items, optional = false, defaultMode = apiDefaultMode } = secret;
    const found = await orAbsent(sources.getSecret(secretName, signal), optional);
    return { files: secretFiles(found, { items, optional, defaultMode }) };
  }
  if (downwardAPI) {
    const { items = [], defaultMode = apiDefaultMode } = downwardAPI;
    return { files: downwardFiles(items, { pod, defaultMode, allocatable: sources.allocatable }) };
  }
  if (projected) return readProjected(projected, pod, sources, signal);
  throw new InvalidInputError("its content does not come from the API server: expected configMap, secret, downwardAPI or projected");
}

/** Merges all sources of one volume; of two files with the same path, the later one wins. */
async function readProjected(
  { sources: projections = [], defaultMode = apiDefaultMode }: NonNullable<Volume["projected"]>,
  pod: DeepReadonly<Pod>,
  sources: VolumeSources,
  signal: AbortSignal,
): Promise<Content> {
  const contents = await Promise.allSettled(
    projections.map((projection) => readProjection(projection, { pod, sources, defaultMode }, signal)),
  );
  signal.throwIfAborted();
  throwAll(contents.filter((content) => content.status === "rejected").map(({ reason }) => reason as unknown));
  const read = contents.filter((content) => content.status === "fulfilled").map(({ value }) => value);
  const dueMs = read.flatMap(({ refreshAtMs }) => (refreshAtMs === undefined ? [] : [refreshAtMs]));
  return { files: read.flatMap(({ files }) => files), ...(dueMs.length > 0 && { refreshAtMs: Math.min(...dueMs) }) };
}

async function readProjection(
  projection: Projection,
  { pod, sources, defaultMode }: { readonly pod: DeepReadonly<Pod>; readonly sources: VolumeSources; readonly defaultMode: number },
  signal: AbortSignal,
): Promise<Content> {
  const { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle } = projection;
  if (secret) {
    const { name = "", items, optional = false } = secret;
    return { files: secretFiles(await orAbsent(sources.getSecret(name, signal), optional), { items, optional, defaultMode }) };
  }
  if (configMap) {
    const { name = "", items, optional = false } = configMap;
    return { files: configMapFiles(await orAbsent(sources.getConfigMap(name, signal), optional), { items, optional, defaultMode }) };
  }
  if (downwardAPI) return { files: downwardFiles(downwardAPI.items ?? [], { pod, defaultMode, allocatable: sources.allocatable }) };
  if (serviceAccountToken) {
    const { path, audience, expirationSeconds = apiTokenSeconds } = serviceAccountToken;
    const { token, refreshAtMs } = await sources.getToken({ audience, expirationSeconds }, signal);
    return { files: [{ path, content: bytesOfText(token), ...tokenOwner(pod, defaultMode) }], refreshAtMs };
  }
  if (clusterTrustBundle) {
    const { path, name, signerName, labelSelector, optional = false } = clusterTrustBundle;
    const anchors = await sources.getTrustAnchors({ name, signerName, labelSelector, optional }, signal);
    return { files: [{ path, content: bytesOfText(anchors), ...tokenOwner(pod, defaultMode) }] };
  }
  const [field = "none"] = Object.keys(projection);
  const message = `make the content of a projected volume: source ${field} is not supported, expected ${projectionNames.join(", ")}`;
  throw new UnsupportedError(message, { fieldPath: `spec.volumes[*].projected.sources[*].${field}` });
}

async function orAbsent<T>(read: Promise<T>, optional: boolean): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (optional && isNotFound(error)) return undefined;
    throw error;
  }
}
