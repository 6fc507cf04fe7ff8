import type { ContainerDefinition, KeyValuePair, Secret } from "@aws-sdk/client-ecs";
import { posix } from "node:path";
import type { PodFile } from "./pod-files.ts";

/** Name of the init container that writes files. */
export const filesContainerName = "vk-files";
/** Folder under which the files container sees the volumes. */
const root = "/vk";

/**
 * Writes the files that `VK_FILES` lists, one a line: number, encoding (`b` base64, `r` raw), mode, owner or `-`, path. The content of number N is
 * in `VK_FN`. Makes the folders of `VK_DIRS` writable for everybody, as an emptyDir is.
 */
const script = [
  `set -e`,
  `printf '%s\\n' "$VK_DIRS" | while read -r p; do [ -n "$p" ] || continue; [ -z "$VK_GROUP" ] || chgrp "$VK_GROUP" "$p"; ` +
    `chmod "\${VK_GROUP:+2}777" "$p"; done`,
  `printf '%s\\n' "$VK_FILES" | while read -r n e m u p; do [ -n "$n" ] || continue; mkdir -p "$(dirname "$p")"; eval "v=\\$VK_F$n"; ` +
    `if [ "$e" = b ]; then printf '%s' "$v" | base64 -d >"$p"; else printf '%s' "$v" >"$p"; fi; ` +
    `[ -z "$VK_GROUP" ] || chgrp "$VK_GROUP" "$p"; [ "$u" = - ] || chown "$u" "$p"; chmod "$m" "$p"; done`,
].join("\n");

/** Volumes that the files container prepares. */
export interface PreparedVolumes {
  readonly files: readonly PodFile[];
  /** Names of emptyDir volumes. */
  readonly emptyDirs: readonly string[];
  readonly fsGroup: number | undefined;
}

/** The files container, and the part of its environment that belongs to the task's overrides. */
export interface FilesContainer {
  readonly definition: ContainerDefinition;
  readonly own: KeyValuePair[];
}

/** Returns the container that prepares volumes; `undefined` if there is nothing to prepare. */
export function filesContainerOf({ files, emptyDirs, fsGroup }: PreparedVolumes, image: string): FilesContainer | undefined {
  const volumes = [...new Set([...emptyDirs, ...files.map(({ volume }) => volume)])];
  if (volumes.length === 0) return undefined;
  const shared: KeyValuePair[] = [];
  const own: KeyValuePair[] = [];
  const secrets: Secret[] = [];
  const lines: string[] = [];
  for (const [index, { volume, path, mode, uid, source }] of files.entries()) {
    const name = `VK_F${index}`;
    lines.push(`${index} ${source.kind === "arn" ? "r" : "b"} ${octal(mode, fsGroup)} ${uid ?? "-"} ${posix.join(root, volume, path)}`);
    if (source.kind === "arn") secrets.push({ name, valueFrom: source.valueFrom });
    else (source.kind === "shared" ? shared : own).push({ name, value: Buffer.from(source.content).toString("base64") });
  }
  const environment: KeyValuePair[] = [
    { name: "VK_DIRS", value: emptyDirs.map((volume) => posix.join(root, volume)).join("\n") },
    { name: "VK_FILES", value: lines.join("\n") },
    ...(fsGroup === undefined ? [] : [{ name: "VK_GROUP", value: String(fsGroup) }]),
    ...shared,
  ];
  return {
    definition: {
      name: filesContainerName,
      image,
      essential: false,
      user: "0",
      entryPoint: ["sh", "-c"],
      command: [script],
      environment,
      ...(secrets.length > 0 && { secrets }),
      mountPoints: volumes.map((volume) => ({ sourceVolume: volume, containerPath: posix.join(root, volume), readOnly: false })),
    },
    own,
  };
}

/** In a volume with an fsGroup, the group can read the files. */
function octal(mode: number, fsGroup: number | undefined): string {
  return (fsGroup === undefined ? mode : mode | 0o040).toString(8);
}
