import type { Instance } from "../pretend-backend/instance.ts";
import { FileBackendClient } from "./file-backend-client.ts";
import { FileBackendFiles, type FileBackendControl, type JournalEntry } from "./file-backend-files.ts";

/** What a test sees of a file back end, and does to it. */
export interface FileBackendHandle {
  /** Folder for the provider's configuration. */
  readonly directory: string;
  /** Tells it how to behave from the next request on; replaces what it was told before. */
  control(control: FileBackendControl): void;
  /** Instances there are now, oldest first; read from the files, so also when the process is dead. */
  instances(): Instance[];
  /** Every instance ever made, asked to end and ended, oldest first. */
  journal(): JournalEntry[];
  /** Number of instances created for the pod. */
  creates(uid: string): number;
  /** The pod gets another address. */
  setPodIP(uid: string, podIP: string): Promise<void>;
  /** Ends the pod's containers as if they exited by themselves. */
  exitPod(uid: string, exitCode: number): Promise<void>;
  /** The pod's instance vanishes without an end. */
  losePod(uid: string): Promise<void>;
}

/** A handle on the back end of a folder, whoever runs it. */
export function openFileBackend(directory: string): FileBackendHandle {
  const files = new FileBackendFiles(directory);
  const client = new FileBackendClient(directory);
  const { signal } = new AbortController();
  return {
    directory,
    control: (control) => files.writeControl(control),
    instances: () => files.readInstances(),
    journal: () => files.readJournal(),
    creates: (uid) => files.readJournal().filter((entry) => entry.event === "create" && entry.uid === uid).length,
    setPodIP: (uid, podIP) => client.act(uid, { podIP }, signal),
    exitPod: (uid, exitCode) => client.act(uid, { exitCode: String(exitCode) }, signal),
    losePod: (uid) => client.act(uid, { lose: "" }, signal),
  };
}
