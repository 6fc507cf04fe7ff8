import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { root } from "../workspace.ts";
import type { RunnerOptions, RunRequest, RunResult } from "./protocol.ts";

/** Memory of each process of a runner, in MiB: a mutant that fills a list without end is stopped by it. */
const heapMiB = 1500;

/** A runner in a child process, which is started when it is first asked and again after it was killed. */
export class RunnerProcess implements AsyncDisposable {
  readonly #options: RunnerOptions;
  #child: ChildProcess | undefined;
  #tests: readonly string[] = [];

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** The package's test files, by absolute path. */
  async tests(): Promise<readonly string[]> {
    await this.#start();
    return this.#tests;
  }

  /**
   * Runs test files.
   *
   * @param limitMs - after that long the runner is killed, and the run counts as timed out
   */
  async run(request: RunRequest, limitMs: number): Promise<RunResult> {
    const child = await this.#start();
    const { promise, resolve } = Promise.withResolvers<RunResult>();
    const answered = (result: RunResult): void => resolve(result);
    const ended = (): void => resolve({ outcome: "failed", failure: "the process that ran the tests ended", files: [] });
    const timer = setTimeout(() => resolve({ outcome: "timed out", failure: `no end within ${limitMs} ms`, files: [] }), limitMs);
    child.once("message", answered).once("exit", ended);
    child.send(request);
    const result = await promise;
    clearTimeout(timer);
    child.off("message", answered).off("exit", ended);
    if (result.files.length === 0) await this.#kill();
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#kill();
  }

  async #start(): Promise<ChildProcess> {
    if (this.#child !== undefined) return this.#child;
    const child = fork(join(import.meta.dirname, "runner.ts"), [JSON.stringify(this.#options)], {
      cwd: root,
      execArgv: ["--conditions=@virtual-kubelet/source"],
      // The runner leads a process group, so that its workers can be killed with it.
      detached: true,
      // The tests' output is discarded; the runner's own errors are kept.
      stdio: ["ignore", "ignore", this.#options.recordReach ? "inherit" : "ignore", "ipc"],
      env: { ...process.env, VITEST: "true", NODE_ENV: "test", NODE_OPTIONS: `--max-old-space-size=${heapMiB}` },
    });
    this.#child = child;
    const ended = once(child, "exit").then(() => {
      throw new Error(`the runner of ${this.#options.folder}'s tests ended before it could run any`);
    });
    const [tests] = (await Promise.race([once(child, "message"), ended])) as [readonly string[]];
    ended.catch(() => undefined);
    this.#tests = tests;
    return child;
  }

  async #kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child?.pid === undefined) return;
    const isRunning = child.exitCode === null && child.signalCode === null;
    const gone = isRunning ? once(child, "exit") : undefined;
    killGroup(child.pid);
    await gone;
  }
}

/** Kills a process and its descendants, even if the process itself has ended. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
