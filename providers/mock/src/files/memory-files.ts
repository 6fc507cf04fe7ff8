import { posix } from "node:path";
import { FileError, MemoryDirectory, MemoryFile, type Device, type FileNode, type Quota } from "./memory-node.ts";

/** A container's files: a tree in memory, with absolute paths. Every method throws {@link FileError}. */
export class MemoryFiles {
  readonly root: MemoryDirectory;
  readonly #quota: Quota;
  readonly #nowMs: () => number;

  constructor(options: { readonly root: MemoryDirectory; readonly quota: Quota; readonly nowMs: () => number }) {
    this.root = options.root;
    this.#quota = options.quota;
    this.#nowMs = options.nowMs;
  }

  /** The node at a path; `undefined` if there is none. */
  find(path: string): FileNode | undefined {
    let node: FileNode = this.root;
    for (const name of namesOf(path)) {
      const next: FileNode | undefined = node.kind === "directory" ? node.entries.get(name) : undefined;
      if (!next) return undefined;
      node = next;
    }
    return node;
  }

  get(path: string): FileNode {
    const node = this.find(path);
    if (!node) throw new FileError("No such file or directory");
    return node;
  }

  directory(path: string): MemoryDirectory {
    const node = this.get(path);
    if (node.kind !== "directory") throw new FileError("Not a directory");
    return node;
  }

  /** Opens a file for writing. It is truncated unless `append` is set, and created if missing. */
  openForWriting(path: string, { append = false, mode = 0o644 }: { append?: boolean; mode?: number } = {}): MemoryFile | Device {
    const existing = this.find(path);
    if (existing?.kind === "directory") throw new FileError("Is a directory");
    if (existing?.kind === "device") return existing;
    if (existing) {
      if (existing.readOnly) throw new FileError("Read-only file system");
      if (!append) existing.truncate(this.#nowMs());
      return existing;
    }
    const parent = this.#writableParent(path);
    const file = new MemoryFile({ mode, modifiedMs: this.#nowMs(), quota: this.#quota });
    parent.entries.set(posix.basename(path), file);
    return file;
  }

  /** Appends to an open file; a device drops the data. */
  append(file: MemoryFile | Device, chunk: Uint8Array): void {
    if (file.kind === "file") file.append(chunk, this.#nowMs());
  }

  makeDirectory(path: string, { parents = false, mode = 0o755 }: { parents?: boolean; mode?: number } = {}): MemoryDirectory {
    const existing = this.find(path);
    if (existing) {
      if (parents && existing.kind === "directory") return existing;
      throw new FileError("File exists");
    }
    if (parents && path !== "/") this.makeDirectory(posix.dirname(path), { parents });
    const parent = this.#writableParent(path);
    const directory = new MemoryDirectory({ mode, modifiedMs: this.#nowMs() });
    parent.entries.set(posix.basename(path), directory);
    return directory;
  }

  remove(path: string, { recursive = false }: { recursive?: boolean } = {}): void {
    const node = this.get(path);
    if (node.kind === "directory" && !recursive) throw new FileError("Is a directory");
    const parent = this.#writableParent(path);
    if (node.readOnly || node === this.root) throw new FileError("Read-only file system");
    parent.entries.delete(posix.basename(path));
    free(node);
  }

  /** Puts a directory at a path, replacing any node there, and creates its parents. */
  mount(path: string, node: FileNode): void {
    let parent = this.root;
    const names = namesOf(path);
    const last = names.pop();
    if (last === undefined) return;
    for (const name of names) {
      const next = parent.entries.get(name);
      const directory = next?.kind === "directory" ? next : new MemoryDirectory({ modifiedMs: this.#nowMs() });
      parent.entries.set(name, directory);
      parent = directory;
    }
    parent.entries.set(last, node);
  }

  #writableParent(path: string): MemoryDirectory {
    const parent = this.directory(posix.dirname(path));
    if (parent.readOnly) throw new FileError("Read-only file system");
    return parent;
  }
}

function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "");
}

function free(node: FileNode): void {
  if (node.kind === "file") node.truncate(node.modifiedMs);
  if (node.kind === "directory") for (const entry of node.entries.values()) free(entry);
}
