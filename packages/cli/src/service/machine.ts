import { makeDirectory } from "@virtual-kubelet/core";
import { writePrivateFile } from "@virtual-kubelet/kubelet-api";
import { execFile } from "node:child_process";
import { access, chmod, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { hasErrorCode } from "../nodes/socket-folder.ts";

/** Outcome of a command. */
export interface CommandResult {
  /** Exit code; 127 if there is no such command. */
  readonly code: number;
  /** Standard output and error, trimmed. */
  readonly output: string;
}

/** The machine on which a unit is installed. Errors are the system's. */
export interface Machine {
  exists(path: string): Promise<boolean>;
  /** Content of a file; `undefined` if it does not exist. */
  read(path: string): Promise<string | undefined>;
  /** Replaces a file as a whole, and creates missing folders. */
  write(path: string, text: string, mode: number): Promise<void>;
  remove(path: string): Promise<void>;
  run(program: string, args: readonly string[], signal: AbortSignal): Promise<CommandResult>;
}

/** This machine. */
export const thisMachine: Machine = {
  exists: (path) =>
    access(path).then(
      () => true,
      () => false,
    ),
  async read(path) {
    try {
      return await readFile(path, "utf8");
    } catch (error) {
      if (hasErrorCode(error, "ENOENT", "ENOTDIR")) return undefined;
      throw error;
    }
  },
  async write(path, text, mode) {
    await makeDirectory(dirname(path), 0o755);
    await writePrivateFile(path, text);
    await chmod(path, mode);
  },
  remove: (path) => rm(path, { force: true }),
  run: (program, args, signal) =>
    new Promise((resolve, reject) => {
      execFile(program, args, { signal, encoding: "utf8" }, (error, stdout, stderr) => {
        if (signal.aborted) return reject(signal.reason);
        const output = [stdout, stderr]
          .map((text) => text.trim())
          .filter(Boolean)
          .join("\n");
        if (!error) return resolve({ code: 0, output });
        if (error.code === "ENOENT") return resolve({ code: 127, output: `${program} is not installed` });
        return resolve({ code: typeof error.code === "number" ? error.code : 1, output: output || error.message });
      });
    }),
};
