import type { Instance } from "../pretend-backend/instance.ts";
import { FileBackendClient } from "./file-backend-client.ts";
import { FileBackendFiles, type FileBackendControl, type JournalEntry } from "./file-backend-files.ts";

/** Access of a test to a file back end. */
export interface FileBackendHandle {
  /** Folder for the provider's configuration. */
  readonly directory: string;
  /** Sets the behavior from the next request on; replaces earlier settings. */
  control(control: FileBackendControl): void;
  /** Current instances, oldest first. They are read from the files, so this works when the process is dead. */
  instances(): Instance[];
  /** All creations, deletions and changes of state so far, oldest first. */
  journal(): JournalEntry[];
  /** Number of instances created for the pod. */
  creates(uid: string): number;
  /** Changes the pod's address. */
  setPodIP(uid: string, podIP: string): Promise<void>;
  /** Ends the pod's containers as if they exited by themselves. */
  exitPod(uid: string, exitCode: number): Promise<void>;
  /** Removes the pod's instance without an end. */
  losePod(uid: string): Promise<void>;
}

/** Returns access to the back end in a folder, which any process may run. */
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
