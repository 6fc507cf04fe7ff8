import type { VolumePayload } from "@virtual-kubelet/core";
import { MemoryDirectory, MemoryFile, type FileNode } from "./memory-node.ts";

/** Files of a config map, secret or projected volume as a read-only directory. */
export function toDirectory({ files }: VolumePayload, modifiedMs: number): MemoryDirectory {
  const root = new MemoryDirectory({ modifiedMs, readOnly: true });
  for (const { path, content, mode } of files) {
    const names = path.split("/");
    const last = names.pop() ?? "";
    let directory = root;
    for (const name of names) {
      const next = directory.entries.get(name);
      const inner = next?.kind === "directory" ? next : new MemoryDirectory({ modifiedMs, readOnly: true });
      directory.entries.set(name, inner);
      directory = inner;
    }
    directory.entries.set(last, new MemoryFile({ mode, modifiedMs, content, readOnly: true }));
  }
  return root;
}

/** The node at a path in a volume. In a writable volume, a missing directory is created. */
export function subPathOf(volume: MemoryDirectory, subPath: string, modifiedMs: number): FileNode | undefined {
  let node: FileNode = volume;
  for (const name of subPath.split("/").filter((each) => each !== "" && each !== ".")) {
    if (node.kind !== "directory") return undefined;
    const next: FileNode | undefined = node.entries.get(name);
    if (!next && node.readOnly) return undefined;
    const found: FileNode = next ?? new MemoryDirectory({ modifiedMs });
    node.entries.set(name, found);
    node = found;
  }
  return node;
}
