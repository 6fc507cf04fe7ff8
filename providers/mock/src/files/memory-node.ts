/** Quota for a container's files. */
export class Quota {
  readonly maxBytes: number;
  #usedBytes = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** @throws FileError when no space is left */
  take(bytes: number): void {
    if (this.#usedBytes + bytes > this.maxBytes) throw new FileError("No space left on device");
    this.#usedBytes += bytes;
  }

  giveBack(bytes: number): void {
    this.#usedBytes -= bytes;
  }
}

/** Error that a command prints after the name of a file, worded as on Unix. */
export class FileError extends Error {
  override readonly name = "FileError";
}

/** A file in memory. */
export class MemoryFile {
  readonly kind = "file";
  readonly readOnly: boolean;
  mode: number;
  modifiedMs: number;
  #chunks: Uint8Array[];
  #size: number;
  readonly #quota: Quota | undefined;

  /** @param quota - quota that the content counts against; default: none */
  constructor(options: {
    readonly mode: number;
    readonly modifiedMs: number;
    readonly content?: Uint8Array;
    readonly readOnly?: boolean;
    readonly quota?: Quota;
  }) {
    this.mode = options.mode;
    this.modifiedMs = options.modifiedMs;
    this.readOnly = options.readOnly ?? false;
    this.#chunks = options.content ? [options.content] : [];
    this.#size = options.content?.byteLength ?? 0;
    this.#quota = options.quota;
  }

  get size(): number {
    return this.#size;
  }

  /** The whole content. */
  get content(): Uint8Array {
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] ?? new Uint8Array();
  }

  /** @throws FileError when no space is left */
  append(chunk: Uint8Array, nowMs: number): void {
    this.#quota?.take(chunk.byteLength);
    // A copy, because the writer may reuse its buffer.
    this.#chunks.push(Uint8Array.from(chunk));
    this.#size += chunk.byteLength;
    this.modifiedMs = nowMs;
  }

  truncate(nowMs: number): void {
    this.#quota?.giveBack(this.#size);
    this.#chunks = [];
    this.#size = 0;
    this.modifiedMs = nowMs;
  }
}

/** A directory in memory. It may be in several trees, as a volume shared by containers. */
export class MemoryDirectory {
  readonly kind = "directory";
  readonly entries: Map<string, FileNode> = new Map();
  readonly readOnly: boolean;
  mode: number;
  modifiedMs: number;

  constructor(options: { readonly mode?: number; readonly modifiedMs: number; readonly readOnly?: boolean }) {
    this.mode = options.mode ?? 0o755;
    this.modifiedMs = options.modifiedMs;
    this.readOnly = options.readOnly ?? false;
  }
}

/** `/dev/null` or `/dev/zero`. */
export class Device {
  readonly kind = "device";
  readonly readOnly = false;
  readonly source: "null" | "zero";
  readonly mode = 0o666;
  readonly modifiedMs: number;
  readonly size = 0;

  constructor(source: "null" | "zero", modifiedMs: number) {
    this.source = source;
    this.modifiedMs = modifiedMs;
  }
}

/** Entry of a directory. */
export type FileNode = MemoryFile | MemoryDirectory | Device;
