import { appendFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ErrorCode } from "@virtual-kubelet/errdefs";
import type { Owner } from "@virtual-kubelet/core";
import type { Instance } from "../pretend-backend/instance.ts";
import type { BackendTimings } from "../pretend-backend/pretend-backend.ts";

/** An operation of the back end. */
export type FileBackendOperation = "create" | "delete" | "get" | "list" | "ping";

/** Behavior that a test sets. The back end reads it again for every request. */
export interface FileBackendControl extends BackendTimings {
  /** Milliseconds until the response to a create; the instance exists and is listed at once. */
  readonly createDelayMs?: number | undefined;
  /** Operations that fail, with their errors. */
  readonly failures?:
    | Readonly<Partial<Record<FileBackendOperation, { readonly code: ErrorCode; readonly message?: string | undefined }>>>
    | undefined;
  /** Operations that are neither carried out nor answered. */
  readonly hang?: readonly FileBackendOperation[] | undefined;
  /** Lists omit every second instance and are marked as incomplete. */
  readonly listIncomplete?: boolean | undefined;
  /** Changes are not reported, as if events were lost. */
  readonly dropEvents?: boolean | undefined;
}

/** A line of the append-only journal. */
export interface JournalEntry {
  /** RFC 3339 with milliseconds. */
  readonly at: string;
  /** `create`: an instance was created. `delete`: it was told to stop. `running`, `ended`, `removed`: it reached that state. */
  readonly event: "create" | "delete" | "running" | "ended" | "removed";
  readonly instanceId: string;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly owner: Owner;
}

/** Files of a file back end. */
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

/** Writes a file so that a reader sees either the old or the new content, never a part. */
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
