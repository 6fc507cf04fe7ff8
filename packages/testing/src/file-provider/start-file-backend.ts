import { systemClock } from "@virtual-kubelet/clock";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { InvalidInputError, UnavailableError } from "@virtual-kubelet/errdefs";
import { eventually } from "../eventually.ts";
import { logTail, startProcess, type ManagedProcess } from "../processes/managed-process.ts";
import { startReaper } from "../processes/reaper.ts";
import { FileBackendClient } from "./file-backend-client.ts";
import { FileBackendFiles, type FileBackendControl } from "./file-backend-files.ts";
import { openFileBackend, type FileBackendHandle } from "./file-backend-handle.ts";

/** Path of the module that exports the file provider, for `--provider`. */
export const fileProviderPath: string = join(import.meta.dirname, `file-provider${extname(import.meta.filename)}`);

/** Options of {@link startFileBackend}. */
export interface FileBackendOptions {
  /** Folder of the state; an earlier back end's state is continued. Default: a temporary folder, removed at the end. */
  readonly directory?: string | undefined;
  /** Control settings at the start. */
  readonly control?: FileBackendControl | undefined;
}

/** A back end in its own process, which survives when the node that uses it is killed. */
export interface FileBackend extends FileBackendHandle, AsyncDisposable {
  readonly process: ManagedProcess;
}

/** Starts a back end; returns when it answers. @throws UnavailableError if it does not come up */
export async function startFileBackend(options: FileBackendOptions = {}): Promise<FileBackend> {
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), "file-backend-")));
  const files = new FileBackendFiles(directory);
  if (Buffer.byteLength(files.socket) > 103)
    throw new InvalidInputError(`start a file back end in ${directory}: the path is too long for a Unix socket`);
  files.prepare();
  if (options.control !== undefined) files.writeControl(options.control);
  const reaper = startReaper(options.directory === undefined ? directory : undefined);
  const extension = extname(import.meta.filename);
  const child = await startProcess(
    {
      name: "file back end",
      program: process.execPath,
      // When this module runs from sources, other packages are loaded from their sources as well.
      args: [
        ...(extension === ".ts" ? ["--conditions=@virtual-kubelet/source"] : []),
        join(import.meta.dirname, `file-backend-main${extension}`),
        directory,
      ],
      environment: {},
      logFile: files.log,
    },
    { reaper, clock: systemClock },
  );
  const backend: FileBackend = {
    ...openFileBackend(directory),
    process: child,
    async [Symbol.asyncDispose]() {
      await child.stop();
      reaper[Symbol.dispose]();
      if (options.directory === undefined) await rm(directory, { recursive: true, force: true });
    },
  };
  try {
    await eventually((signal) => new FileBackendClient(directory).reach(signal), {
      describe: "the file back end to answer",
      timeoutMs: 60_000,
    });
  } catch (cause) {
    const tail = await logTail(files.log);
    await backend[Symbol.asyncDispose]();
    throw new UnavailableError(`start the file back end in ${directory}: it did not come up:\n${tail}`, { cause });
  }
  return backend;
}
