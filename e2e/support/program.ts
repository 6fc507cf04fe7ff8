import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { startReaper, type Reaper } from "@virtual-kubelet/testing";
import { onTestFailed, TestRunner } from "vitest";

const virtualKubelet = fileURLToPath(new URL("../../packages/cli/src/main.ts", import.meta.url));

/** How the program is started. */
export interface ProgramOptions {
  readonly cwd: string;
  /** Path of the program's first module; default: that of virtual-kubelet. */
  readonly main?: string;
  /**
   * Besides what Node.js itself needs; nothing of this process's environment is handed on. Without a word on it there is
   * no server for the kubelet's API: the programs of several tests would all want its port.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** What stands before its command line, such as `nsenter` with its flags; it has to end in the program itself. Default: nothing. */
  readonly prefix?: readonly string[];
}

/**
 * The real program in a process of its own, from sources. Disposing of it kills it, and so does the end of this process.
 * The last of what it said is shown if the test fails.
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
    // A program that a hook starts belongs to no test.
    if (TestRunner.getCurrentTest() !== undefined)
      onTestFailed(() => console.error(this.stderr.trimEnd().split("\n").slice(-80).join("\n")));
  }

  /** Exit code, or the signal that ended it. */
  get exit(): Promise<number | NodeJS.Signals> {
    return this.#exit;
  }

  /** Every log record written so far, to the end of its line; all of them must be JSON. */
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

  /** Reads its log no more, as a log shipper that has died. */
  closeLog(): void {
    this.#child.stderr?.destroy();
  }

  /** Sends the signal and waits for the end. @returns as {@link exit} does */
  async end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals> {
    this.kill(signal);
    return await this.#exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGKILL");
  }
}
