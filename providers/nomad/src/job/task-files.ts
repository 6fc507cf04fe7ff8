import type { Container, DeepReadonly, VolumeFile } from "@virtual-kubelet/core";
import type { NomadTemplate } from "../api/types.ts";
import type { ItemStore } from "./variable-items.ts";

type Mount = DeepReadonly<NonNullable<Container["volumeMounts"]>[number]>;

/** A volume of files in a task. */
export interface FileVolume {
  readonly name: string;
  readonly files: readonly VolumeFile[];
  /** Variable that holds its contents. */
  readonly path: string;
  /** Whether the files lie in the task's secrets folder, which is in memory. */
  readonly confidential: boolean;
  /** Group that has to be able to read them. */
  readonly fsGroup: number | undefined;
}

/** Name of a file's content in its variable. */
export function filePlace(volume: string, path: string): string {
  return `file/${volume}/${path}`;
}

/** Folder below a task's that holds the folders of its volumes of one kind. */
export function volumesFolder({ confidential }: Pick<FileVolume, "confidential">): string {
  return `${confidential ? "secrets" : "local"}/volumes`;
}

/** Folder of a volume's files below a task's. */
export function volumeFolder(volume: Pick<FileVolume, "name" | "confidential">): string {
  return `${volumesFolder(volume)}/${volume.name}`;
}

/** Destination and owner of a task's files. */
export interface FileTarget {
  readonly store: ItemStore;
  /** User that the task runs as; `undefined` for the one that owns what the client writes. */
  readonly user: number | undefined;
}

/** The templates that write all of a volume's files into its folder. */
export function fileTemplates(volume: FileVolume, target: FileTarget): NomadTemplate[] {
  return volume.files.map((file) => fileTemplate(volume, file, target, `${volumeFolder(volume)}/${file.path}`));
}

/** Templates that write the mounted part of a volume to its mount path below the task's folder. */
export function mountedFileTemplates(volume: FileVolume, { mountPath, subPath = "" }: Mount, target: FileTarget): NomadTemplate[] {
  const folder = mountPath.replace(/^\/+|\/+$/g, "");
  const prefix = subPath.replace(/\/+$/, "");
  return volume.files
    .filter(({ path }) => prefix === "" || path === prefix || path.startsWith(`${prefix}/`))
    .map((file) => {
      const rest = prefix === "" ? `/${file.path}` : file.path.slice(prefix.length);
      return fileTemplate(volume, file, target, `${folder}${rest}`);
    });
}

function fileTemplate(volume: FileVolume, file: VolumeFile, { store, user }: FileTarget, DestPath: string): NomadTemplate {
  return {
    EmbeddedTmpl: store.bytes(volume.path, filePlace(volume.name, file.path), file.content),
    DestPath,
    ChangeMode: "noop",
    ...permissions(volume, file, user),
  };
}

const ownerRead = 0o400;
const ownerExecute = 0o100;
const groupRead = 0o040;

/** A confidential file is readable by the user of its task alone, and by the pod's group. */
function permissions(
  { confidential, fsGroup }: FileVolume,
  { mode, uid }: VolumeFile,
  user: number | undefined,
): Pick<NomadTemplate, "Perms" | "Uid" | "Gid"> {
  const own = confidential ? ownerRead | (mode & ownerExecute) : mode;
  const owner = confidential ? (user ?? uid) : uid;
  return {
    Perms: `0${(fsGroup === undefined ? own : own | groupRead).toString(8)}`,
    ...(owner !== undefined && { Uid: owner }),
    ...(fsGroup !== undefined && { Gid: fsGroup }),
  };
}
