import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { startReaper, type Reaper } from "@virtual-kubelet/testing";
import { onTestFailed, TestRunner } from "vitest";

const virtualKubelet = fileURLToPath(new URL("../../packages/cli/src/main.ts", import.meta.url));

/** Options of a {@link Program}. */
export interface ProgramOptions {
  readonly cwd: string;
  /** Path of the program's main module; default: that of virtual-kubelet. */
  readonly main?: string;
  /**
   * Environment variables, in addition to those that Node.js needs; no others are passed on. By default the server of the kubelet's
   * API is off, because the programs of concurrent tests would use the same port.
   */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Words before the command line, such as `nsenter` with its flags; they must replace their process with the program (exec). Default:
   * none.
   */
  readonly prefix?: readonly string[];
}

/**
 * The real program in its own process, run from sources. It is killed when this object is disposed and when this process ends. If the
 * test fails, the end of its output is shown.
 */
export class Program implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #reaper: Reaper = startReaper();
  readonly #exit: Promise<number | NodeJS.Signals>;
  stdout = "";
  stderr = "";

  constructor(words: readonly string[], { cwd, main = virtualKubelet, env = {}, prefix = [] }: ProgramOptions) {
    const flags = ["--conditions=@virtual-kubelet/source", "--disable-warning=ExperimentalWarning"];
    const [command = process.execPath, ...args] = [...prefix, process.execPath, ...flags, main, ...words];
    this.#child = spawn(command, args, {
      cwd,
      env: { HOME: cwd, STATE_DIRECTORY: join(cwd, "state"), PATH: process.env["PATH"], KUBELET_PORT: "0", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    if (this.#child.pid !== undefined) this.#reaper.watch(this.#child.pid);
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => (this.stdout += stripVTControlCharacters(text)));
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.#exit = once(this.#child, "close").then(([code, signal]) => {
      if (this.#child.pid !== undefined) this.#reaper.forget(this.#child.pid);
      this.#reaper[Symbol.dispose]();
      return (code ?? signal) as number | NodeJS.Signals;
    });
    // A program that is started by a hook belongs to no test.
    if (TestRunner.getCurrentTest() !== undefined)
      onTestFailed(() => console.error(this.stderr.trimEnd().split("\n").slice(-80).join("\n")));
  }

  /** @throws Error if it could not be started */
  get pid(): number {
    if (this.#child.pid === undefined) throw new Error("the program could not be started");
    return this.#child.pid;
  }

  /** Exit code, or the signal that ended the program. */
  get exit(): Promise<number | NodeJS.Signals> {
    return this.#exit;
  }

  /** Log records of all complete lines so far; each line must be JSON. */
  get logs(): Record<string, unknown>[] {
    return this.stderr
      .split("\n")
      .slice(0, -1)
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Stops reading the log, like a log shipper that has crashed. */
  closeLog(): void {
    this.#child.stderr?.destroy();
  }

  /** Sends the signal and waits for the end. @returns the same as {@link exit} */
  async end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals> {
    this.kill(signal);
    return await this.#exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGKILL");
  }
}
