import type { DeepReadonly, Pod, ResolvedPod, Secret, VolumeFile } from "@virtual-kubelet/core";
import { InvalidInputError, isNotFound } from "@virtual-kubelet/errdefs";
import type { GroupVolume, GroupVolumeMount } from "../azure/container-group.ts";
import { unsupported, type PlacedContainer, type PodVolume } from "./fields.ts";
import type { Note } from "./note.ts";
import { tokenNotes } from "./token-notes.ts";

/** Maximum number of volumes of a container group. */
const maxVolumes = 20;
/** Maximum size of all files of a pod together: Azure Resource Manager takes bodies of 4 MiB, in which files are in base64. */
const maxFileBytes = 3 * 1024 * 1024 - 64 * 1024;
/** Mode of files in a container. Source: Azure documents no other. */
const fileMode = 0o644;
/** CSI driver of Azure Files, whose inline volumes are container instances' own. */
const azureFileDriver = "file.csi.azure.com";

/** Volumes of a group, and mounts of each container by name. */
export interface GroupVolumes {
  readonly volumes: readonly GroupVolume[];
  readonly mounts: ReadonlyMap<string, readonly GroupVolumeMount[]>;
  readonly notes: readonly Note[];
}

/** Context of {@link volumesOf}. */
export interface VolumeContext {
  readonly pod: DeepReadonly<Pod>;
  readonly containers: readonly PlacedContainer[];
  readonly resolved: ResolvedPod;
  readonly operatingSystem: "Linux" | "Windows";
  /** Whether pods get the token that the API server's admission mounts into each of them. */
  readonly serviceAccountToken: boolean;
}

/** A volume of the pod before its mounts are known. */
type Source =
  | { readonly kind: "own"; readonly volume: Omit<GroupVolume, "name"> }
  | { readonly kind: "files"; readonly files: readonly VolumeFile[] }
  /** The service account's token where tokens are not provided. */
  | { readonly kind: "none" };

/**
 * Translates a pod's volumes. Files of config maps, secrets, downward API and projections become secret volumes, which Azure mounts as flat
 * folders: a mounted folder of files is a volume of its own.
 *
 * @throws UnsupportedError or InvalidInputError with the field; what `resolved` throws
 */
export async function volumesOf(context: VolumeContext, signal: AbortSignal): Promise<GroupVolumes> {
  const { pod, containers, serviceAccountToken } = context;
  const sources = new Map<string, { readonly source: Source; readonly path: string }>();
  for (const [index, volume] of (pod.spec?.volumes ?? []).entries()) {
    const path = `spec.volumes[${index}]`;
    const isAutomatic = volume.name.startsWith("kube-api-access-") && volume.projected !== undefined;
    const source: Source =
      isAutomatic && (!serviceAccountToken || context.operatingSystem === "Windows")
        ? { kind: "none" }
        : await sourceOf(volume, path, context, signal);
    sources.set(volume.name, { source, path });
  }
  const files = [...sources.values()].flatMap(({ source }) => (source.kind === "files" ? source.files : []));
  if (files.reduce((sum, { content }) => sum + content.byteLength, 0) > maxFileBytes)
    throw new InvalidInputError(
      `spec.volumes: the files have more than ${maxFileBytes} bytes, the most that Azure accepts in a container group`,
    );
  const volumes = new GroupVolumeList(new Set(sources.keys()));
  const mounts = new Map(
    containers.map((placed): [string, readonly GroupVolumeMount[]] => [placed.container.name, mountsOf(placed, sources, volumes)]),
  );
  const all = volumes.all();
  if (all.length > maxVolumes)
    throw unsupported(
      `spec.volumes[${maxVolumes}]`,
      `a container group has at most ${maxVolumes} volumes, and this pod needs ${all.length}`,
    );
  return { volumes: all, mounts, notes: [...modeNotes(sources), ...tokenNotes(files)] };
}

async function sourceOf(volume: PodVolume, path: string, context: VolumeContext, signal: AbortSignal): Promise<Source> {
  const { resolved, operatingSystem } = context;
  if (volume.configMap || volume.secret || volume.downwardAPI || volume.projected) {
    if (operatingSystem === "Windows") throw unsupported(path, "Azure Container Instances mounts no files into Windows containers");
    return { kind: "files", files: (await resolved.volume(volume.name, signal)).files };
  }
  if (volume.azureFile) {
    const { secretName, shareName, readOnly } = volume.azureFile;
    return azureFile({ secretName, shareName, readOnly, path: `${path}.azureFile` }, resolved, signal);
  }
  if (volume.csi) {
    const { driver, volumeAttributes = {}, readOnly } = volume.csi;
    if (driver !== azureFileDriver)
      throw unsupported(`${path}.csi.driver`, `driver ${driver} is not available; expected ${azureFileDriver}`);
    const { shareName, secretName } = volumeAttributes;
    return azureFile({ secretName, shareName, readOnly, path: `${path}.csi.volumeAttributes` }, resolved, signal);
  }
  if (volume.gitRepo) {
    const { repository, directory, revision } = volume.gitRepo;
    return { kind: "own", volume: { gitRepo: { repository, ...(directory && { directory }), ...(revision && { revision }) } } };
  }
  const [other] = Object.entries(volume).filter(([field, value]) => !["name", "emptyDir"].includes(field) && value !== undefined);
  if (other) throw unsupported(`${path}.${other[0]}`, `volumes of type ${other[0]} are not available`);
  return { kind: "own", volume: { emptyDir: {} } };
}

interface Share {
  readonly shareName: string | undefined;
  readonly secretName: string | undefined;
  readonly readOnly: boolean | undefined;
  readonly path: string;
}

async function azureFile({ shareName, secretName, readOnly, path }: Share, resolved: ResolvedPod, signal: AbortSignal): Promise<Source> {
  if (!shareName) throw new InvalidInputError(`${path}.shareName: expected the name of a share`);
  if (!secretName) throw new InvalidInputError(`${path}.secretName: expected the secret with the storage account's name and key`);
  const secret = await resolved.secret(secretName, signal).catch((error: unknown) => {
    // The pod waits, and is tried again when the secret appears.
    if (isNotFound(error)) throw new InvalidInputError(`${path}.secretName: secret "${secretName}" not found`, { cause: error });
    throw error;
  });
  const storageAccountName = textOf(secret, "azurestorageaccountname", path);
  const storageAccountKey = textOf(secret, "azurestorageaccountkey", path);
  return {
    kind: "own",
    volume: { azureFile: { shareName, storageAccountName, storageAccountKey, ...(readOnly !== undefined && { readOnly }) } },
  };
}

function textOf({ metadata, data = {} }: DeepReadonly<Secret>, key: string, path: string): string {
  const value = Buffer.from(data[key] ?? "", "base64").toString("utf8");
  if (value === "") throw new InvalidInputError(`${path}.secretName: secret ${metadata?.name ?? ""} has no key ${key}`);
  return value;
}

function mountsOf(
  { path, container }: PlacedContainer,
  sources: ReadonlyMap<string, { readonly source: Source; readonly path: string }>,
  volumes: GroupVolumeList,
): readonly GroupVolumeMount[] {
  return (container.volumeMounts ?? []).flatMap((mount, index): readonly GroupVolumeMount[] => {
    const found = sources.get(mount.name);
    const at = `${path}.volumeMounts[${index}]`;
    if (!found) throw new InvalidInputError(`${at}.name: the pod has no volume "${mount.name}"`);
    const { source } = found;
    const subPath = (mount.subPath ?? "").replace(/^\.?\/+|\/+$/g, "");
    const to = (name: string): readonly GroupVolumeMount[] => [
      { name, mountPath: mount.mountPath, ...(mount.readOnly !== undefined && { readOnly: mount.readOnly }) },
    ];
    switch (source.kind) {
      case "none":
        return [];
      case "own":
        if (subPath !== "") throw unsupported(`${at}.subPath`, "Azure Container Instances mounts whole volumes");
        return to(volumes.add(mount.name, mount.name, source.volume));
      case "files": {
        const files = filesBelow(source.files, subPath, { at, volumePath: found.path });
        // An optional source without files is an empty folder.
        if (Object.keys(files).length === 0) return to(volumes.add(mount.name, mount.name, { emptyDir: {} }));
        return to(volumes.add(`${mount.name}/${subPath}`, mount.name, { secret: files }));
      }
    }
  });
}

function filesBelow(
  files: readonly VolumeFile[],
  subPath: string,
  { at, volumePath }: { readonly at: string; readonly volumePath: string },
): Readonly<Record<string, string>> {
  if (files.some(({ path }) => path === subPath))
    throw unsupported(`${at}.subPath`, "Azure Container Instances mounts folders, not single files");
  const prefix = subPath === "" ? "" : `${subPath}/`;
  const below = files
    .filter(({ path }) => path.startsWith(prefix))
    .map(({ path, content }) => ({ name: path.slice(prefix.length), content }));
  if (subPath !== "" && below.length === 0) throw unsupported(`${at}.subPath`, `the volume has no folder ${subPath}`);
  const nested = below.find(({ name }) => name.includes("/"));
  if (nested)
    throw unsupported(
      volumePath,
      `file ${nested.name} is in a sub-folder, and Azure Container Instances mounts flat folders: mount it with subPath`,
    );
  return Object.fromEntries(below.map(({ name, content }) => [name, Buffer.from(content).toString("base64")]));
}

function modeNotes(sources: ReadonlyMap<string, { readonly source: Source }>): readonly Note[] {
  return Array.from(sources).flatMap(([name, { source }]): readonly Note[] => {
    const other = source.kind === "files" ? source.files.find(({ mode, uid }) => mode !== fileMode && uid === undefined) : undefined;
    if (!other || name.startsWith("kube-api-access-")) return [];
    const message = `Azure Container Instances sets the modes of files, not the pod: volume ${name}, file ${other.path}, mode ${other.mode.toString(8)}.`;
    return [{ reason: "FileModeIgnored", type: "Warning", message }];
  });
}

/** The volumes of a group, each once, under names that Azure accepts. */
class GroupVolumeList {
  readonly #byKey = new Map<string, GroupVolume>();
  readonly #taken: Set<string>;

  constructor(podVolumes: ReadonlySet<string>) {
    this.#taken = new Set(podVolumes);
  }

  /**
   * Adds a volume, unless one of that key exists. Returns its name: the pod's, if Azure accepts it.
   * Source: Azure's naming rules of container instances: 5 to 63 lower-case letters, digits and single hyphens.
   */
  add(key: string, podName: string, source: Omit<GroupVolume, "name">): string {
    const known = this.#byKey.get(key);
    if (known) return known.name;
    const isOwn = key === podName || key === `${podName}/`;
    let name = podName;
    for (let number = this.#byKey.size; !isVolumeName(name) || (!isOwn && this.#taken.has(name)); number++) name = `volume-${number}`;
    this.#taken.add(name);
    this.#byKey.set(key, { name, ...source });
    return name;
  }

  all(): readonly GroupVolume[] {
    return [...this.#byKey.values()];
  }
}

function isVolumeName(name: string): boolean {
  return /^(?!.*--)[a-z0-9][a-z0-9-]{3,61}[a-z0-9]$/.test(name);
}
