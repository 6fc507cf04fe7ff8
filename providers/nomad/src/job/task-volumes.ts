import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { ownValue, parseQuantity, wholeUnits } from "@virtual-kubelet/kubernetes";
import type { NomadTask, NomadTemplate, NomadVolume } from "../api/types.ts";
import type { NomadVolumeConfig } from "../config.ts";
import { containersOf } from "./pod-content.ts";
import type { JobSettings } from "./settings.ts";
import { fileTemplates, mountedFileTemplates, volumeFolder, volumesFolder, type FileVolume } from "./task-files.ts";
import { userIdOf } from "./task-user.ts";
import type { ItemStore } from "./variable-items.ts";

type PodVolume = DeepReadonly<NonNullable<NonNullable<Pod["spec"]>["volumes"]>[number]>;
type Mount = DeepReadonly<NonNullable<Container["volumeMounts"]>[number]>;

/** What a container's mounts come to in its task. */
export interface TaskVolumes {
  readonly templates: readonly NomadTemplate[];
  /** Bind mounts of the docker driver: `SOURCE:TARGET[:ro]`. */
  readonly binds: readonly string[];
  /** Folders in memory of the docker driver. */
  readonly tmpfs: readonly { readonly target: string; readonly sizeBytes: number | undefined }[];
  readonly volumeMounts: NonNullable<NomadTask["VolumeMounts"]>;
}

/** What a task's volumes are made of. */
export interface VolumeOptions {
  readonly pod: DeepReadonly<Pod>;
  readonly settings: JobSettings;
  readonly fileVolumes: ReadonlyMap<string, FileVolume>;
  readonly store: ItemStore;
}

/**
 * The volumes of a container. What cannot be had was refused before.
 *
 * Nomad mounts its folders `/alloc`, `/local` and `/secrets` writable into each container, and an engine follows links in the source of a bind. A
 * container could put a link to anywhere on its client in the place of a volume, and would have that at its next start. So the folders in which
 * volumes lie are mounted read-only over themselves, in every container that could write there: what a mount covers cannot be moved away.
 */
export function taskVolumes(container: DeepReadonly<Container>, options: VolumeOptions): TaskVolumes {
  const { pod, settings, fileVolumes, store } = options;
  const target = { store, user: userIdOf(pod, container, settings.driver) };
  const templates = new Map<string, NomadTemplate>();
  const binds: string[] = [];
  const tmpfs: { target: string; sizeBytes: number | undefined }[] = [];
  const volumeMounts: { Volume: string; Destination: string; ReadOnly: boolean }[] = [];
  const add = (more: readonly NomadTemplate[]): void => more.forEach((template) => templates.set(template.DestPath, template));

  const held = new Set<string>();
  for (const mount of container.volumeMounts ?? []) {
    const files = fileVolumes.get(mount.name);
    const volume = pod.spec?.volumes?.find(({ name }) => name === mount.name);
    if (files && settings.driver === "docker") {
      add(fileTemplates(files, target));
      held.add(volumesFolder(files));
      binds.push(bind(`${volumeFolder(files)}${suffix(mount)}`, mount, true));
    } // Other drivers mount nothing: their root, or working directory, is the task's folder.
    else if (files) add(mountedFileTemplates(files, mount, target));
    else if (volume?.persistentVolumeClaim)
      volumeMounts.push({ Volume: mount.name, Destination: mount.mountPath, ReadOnly: mount.readOnly ?? false });
    else if (volume?.hostPath) binds.push(bind(`${volume.hostPath.path}${suffix(mount)}`, mount, mount.readOnly ?? false));
    else if (volume && isOwnMemory(pod, volume)) tmpfs.push({ target: mount.mountPath, sizeBytes: sizeLimit(volume) });
    else binds.push(bind(`${sharedFolder(pod, mount.name)}${suffix(mount)}`, mount, mount.readOnly ?? false));
  }
  const shared = settings.driver === "docker" && sharedEmptyDirs(pod).length > 0 ? [`../${sharedData}:/${sharedData}:ro`] : [];
  const own = [...held].map((folder) => `${folder}:/${folder}:ro`);
  return { templates: [...templates.values()], binds: [...binds, ...own, ...shared], tmpfs, volumeMounts };
}

/** The volumes of Nomad that the pod's claims stand for. */
export function groupVolumes(pod: DeepReadonly<Pod>, settings: JobSettings): Record<string, NomadVolume> {
  const volumes: Record<string, NomadVolume> = {};
  for (const { name, persistentVolumeClaim: claim } of pod.spec?.volumes ?? []) {
    const found = claim && volumeOfClaim(pod, claim.claimName, settings);
    if (!found) continue;
    const { type, source, accessMode, attachmentMode } = found;
    volumes[name] = {
      Name: name,
      Type: type,
      Source: source,
      ReadOnly: claim.readOnly ?? false,
      ...(type === "csi" && { AccessMode: accessMode ?? "single-node-writer", AttachmentMode: attachmentMode ?? "file-system" }),
    };
  }
  return volumes;
}

/** What the configuration says a claim is in Nomad. */
export function volumeOfClaim(pod: DeepReadonly<Pod>, claim: string, { config }: JobSettings): NomadVolumeConfig | undefined {
  // The API server takes a slash in a pod's claim, which would name the claim of another namespace.
  if (claim.includes("/")) return undefined;
  return ownValue(config.volumes, `${pod.metadata?.namespace ?? "default"}/${claim}`) ?? ownValue(config.volumes, claim);
}

/** The pod's empty folders that its containers share. */
export function sharedEmptyDirs(pod: DeepReadonly<Pod>): readonly PodVolume[] {
  return (pod.spec?.volumes ?? []).filter((volume) => isEmptyDir(volume) && !isOwnMemory(pod, volume));
}

/** Whether a volume is an empty folder; one without a source is. */
export function isEmptyDir(volume: PodVolume): boolean {
  return Boolean(volume.emptyDir) || Object.keys(volume).length === 1;
}

/** Nomad makes it writable for everybody, and what is below it only for root. */
const sharedData = "alloc/data";

function sharedFolder(pod: DeepReadonly<Pod>, name: string): string {
  return sharedEmptyDirs(pod).length === 1 ? `../${sharedData}` : `../${sharedData}/${name}`;
}

/** A folder in memory belongs to one mount of one task; one that is mounted more than once is on the disk. */
function isOwnMemory(pod: DeepReadonly<Pod>, volume: PodVolume): boolean {
  return volume.emptyDir?.medium === "Memory" && mountsOf(pod, volume).length === 1;
}

function mountsOf(pod: DeepReadonly<Pod>, { name }: PodVolume): readonly Mount[] {
  return containersOf(pod).flatMap(({ volumeMounts = [] }) => volumeMounts.filter((mount) => mount.name === name));
}

/**
 * Whether a container could put a link to anywhere on its client in the place of a mount's sub-path, because the folder that holds it is
 * mounted, too, and can be written.
 */
export function isReplaceable(pod: DeepReadonly<Pod>, mount: Mount): boolean {
  const volume = sharedEmptyDirs(pod).find(({ name }) => name === mount.name);
  const place = pathParts(mount.subPath);
  return (
    volume !== undefined &&
    mountsOf(pod, volume).some(({ subPath, readOnly }) => {
      const parent = pathParts(subPath);
      return readOnly !== true && parent.length < place.length && parent.every((part, index) => part === place[index]);
    })
  );
}

function pathParts(path = ""): readonly string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

function bind(source: string, { mountPath }: Mount, readOnly: boolean): string {
  return `${source}:${mountPath}${readOnly ? ":ro" : ""}`;
}

function sizeLimit({ emptyDir }: PodVolume): number | undefined {
  return emptyDir?.sizeLimit === undefined ? undefined : Number(wholeUnits(parseQuantity(emptyDir.sizeLimit)));
}

function suffix({ subPath = "" }: Mount): string {
  return subPath === "" ? "" : `/${subPath}`;
}
