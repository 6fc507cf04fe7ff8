import { appendFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ErrorCode } from "@virtual-kubelet/errdefs";
import type { Owner } from "@virtual-kubelet/core";
import type { Instance } from "../pretend-backend/instance.ts";
import type { BackendTimings } from "../pretend-backend/pretend-backend.ts";

/** What the back end can be asked for. */
export type FileBackendOperation = "create" | "delete" | "get" | "list" | "ping";

/** What a test tells the back end to do. It is read anew for every request. */
export interface FileBackendControl extends BackendTimings {
  /** Milliseconds until the answer to a create; the instance is there, and listed, at once. */
  readonly createDelayMs?: number | undefined;
  /** Operations that are refused, and how. */
  readonly failures?:
    | Readonly<Partial<Record<FileBackendOperation, { readonly code: ErrorCode; readonly message?: string | undefined }>>>
    | undefined;
  /** Operations that are never answered, and not carried out. */
  readonly hang?: readonly FileBackendOperation[] | undefined;
  /** Lists leave out every second instance and say that they are not complete. */
  readonly listIncomplete?: boolean | undefined;
  /** Changes are not reported, as when events get lost. */
  readonly dropEvents?: boolean | undefined;
}

/** A line of the journal, which is only ever appended to. */
export interface JournalEntry {
  /** RFC 3339 with milliseconds. */
  readonly at: string;
  /** `create`: an instance was made. `delete`: it was asked to end. `running`, `ended`, `removed`: it is so. */
  readonly event: "create" | "delete" | "running" | "ended" | "removed";
  readonly instanceId: string;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly owner: Owner;
}

/** Where a file back end keeps its things. */
export class FileBackendFiles {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Unix socket that the back end answers on. */
  get socket(): string {
    return join(this.directory, "backend.sock");
  }

  /** Output of the back end's process. */
  get log(): string {
    return join(this.directory, "backend.log");
  }

  prepare(): void {
    mkdirSync(this.#instances, { recursive: true });
  }

  readControl(): FileBackendControl {
    return tryRead<FileBackendControl>(this.#control) ?? {};
  }

  writeControl(control: FileBackendControl): void {
    writeAtomically(this.#control, control);
  }

  readInstances(): Instance[] {
    const files = readdirSync(this.#instances).filter((name) => name.endsWith(".json"));
    const instances = files.map((name) => tryRead<Instance>(join(this.#instances, name)));
    return instances.filter((instance) => instance !== undefined).toSorted((a, b) => a.createdAtMs - b.createdAtMs);
  }

  writeInstance(instance: Instance): void {
    writeAtomically(join(this.#instances, `${instance.instanceId}.json`), instance);
  }

  removeInstance(instanceId: string): void {
    rmSync(join(this.#instances, `${instanceId}.json`), { force: true });
  }

  readJournal(): JournalEntry[] {
    const text = tryReadText(this.#journal) ?? "";
    const lines = text.split("\n").filter((line) => line !== "");
    return lines.map((line) => JSON.parse(line) as JournalEntry);
  }

  appendJournal(entry: JournalEntry): void {
    appendFileSync(this.#journal, `${JSON.stringify(entry)}\n`);
  }

  get #instances(): string {
    return join(this.directory, "instances");
  }

  get #control(): string {
    return join(this.directory, "control.json");
  }

  get #journal(): string {
    return join(this.directory, "journal.jsonl");
  }
}

/** A reader sees the old content or the new, never a part. */
function writeAtomically(path: string, content: unknown): void {
  const temporary = `${path}.new`;
  writeFileSync(temporary, JSON.stringify(content));
  renameSync(temporary, path);
}

function tryRead<T>(path: string): T | undefined {
  const text = tryReadText(path);
  return text === undefined ? undefined : (JSON.parse(text) as T);
}

function tryReadText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
