import { systemClock } from "@virtual-kubelet/clock";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { eventually, logTail, startProcess, startReaper, type ManagedProcess, type Reaper } from "@virtual-kubelet/testing";
import { controlGroupFolders, controlGroupOf, removeControlGroups } from "./control-groups.ts";
import { EngineApi } from "./engine-api.ts";
import { systemEnvironment, type NetworkNamespace } from "./lan.ts";
import { unmountAll } from "./mounts.ts";

/** Options of a {@link PrivateEngine}. */
export interface PrivateEngineOptions {
  /** Whether the engine has its own network, so that it can run next to other engines. Its pods are not reachable from outside. */
  readonly hasOwnNetwork?: boolean | undefined;
  /** Network namespace of the engine; default: the level's. */
  readonly namespace?: NetworkNamespace | undefined;
  /** Additional flags of dockerd. */
  readonly flags?: readonly string[] | undefined;
  /** Whether containers outlive the daemon. */
  readonly isLiveRestore?: boolean | undefined;
}

/** Time-outs in milliseconds for the start and the stop of an engine. */
const startMs = 180_000;
const endMs = 60_000;

/** A private Docker engine. Disposing removes all its containers, stops it, and removes its data. */
export class PrivateEngine implements AsyncDisposable {
  readonly api: EngineApi;
  readonly #directory: string;
  readonly #reaper: Reaper;
  #process: ManagedProcess | undefined;

  readonly #options: PrivateEngineOptions;

  private constructor(directory: string, options: PrivateEngineOptions) {
    this.#directory = directory;
    this.#options = options;
    this.#reaper = startReaper();
    this.api = new EngineApi(`unix://${join(directory, "docker.sock")}`);
  }

  /** Starts dockerd with a private folder; returns when it responds. */
  static async start(options: PrivateEngineOptions = {}): Promise<PrivateEngine> {
    const engine = new PrivateEngine(await mkdtemp(join(tmpdir(), "vk-docker-")), options);
    try {
      await engine.startDaemon();
    } catch (error) {
      await engine[Symbol.asyncDispose]();
      throw error;
    }
    return engine;
  }

  /** Starts the daemon, for the first time or again. After a restart its containers still exist, but none runs. */
  async startDaemon(): Promise<void> {
    const path = (name: string): string => join(this.#directory, name);
    const logFile = path("log");
    // Without its own file the engine reads the machine's, and refuses options that are set in both places.
    await writeFile(path("daemon.json"), "{}");
    const words = [
      "dockerd",
      `--config-file=${path("daemon.json")}`,
      `--host=${this.api.host}`,
      `--data-root=${path("data")}`,
      `--exec-root=${path("exec")}`,
      `--pidfile=${path("pid")}`,
      // Private control groups can be distinguished from others and removed.
      "--exec-opt=native.cgroupdriver=cgroupfs",
      `--cgroup-parent=${this.#controlGroup}`,
      "--shutdown-timeout=5",
      ...(this.#options.isLiveRestore === true ? ["--live-restore"] : []),
      ...(this.#options.flags ?? []),
    ];
    const apart = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"];
    const command = this.#options.hasOwnNetwork === true ? [...apart, ...words] : words;
    const [program = "", ...args] = this.#options.namespace?.inside(command) ?? command;
    const daemon = await startProcess(
      {
        name: "dockerd",
        program,
        args,
        environment: systemEnvironment,
        logFile,
      },
      { reaper: this.#reaper, clock: systemClock },
    );
    this.#process = daemon;
    const answers = async (): Promise<void> => {
      if (daemon.exit !== undefined) return;
      const { status } = await this.api.ask("GET", "/_ping");
      if (status !== 200) throw new Error(`the engine answers with ${status}`);
    };
    await eventually(answers, { timeoutMs: startMs, describe: "dockerd to answer" });
    if (daemon.exit !== undefined) throw new Error(`dockerd has ended:\n${await logTail(logFile)}`);
  }

  /** Stops the daemon and its containers. */
  async stopDaemon(): Promise<void> {
    await this.#process?.stop(endMs);
  }

  /** Suspends the daemon until the result is disposed: it accepts connections, but does not respond. */
  hangDaemon(): Disposable {
    this.#process?.signal("SIGSTOP");
    return { [Symbol.dispose]: () => this.#process?.signal("SIGCONT") };
  }

  /** Ends the daemon and its containers like a power failure: at once, with the loss of all data in memory. Data on disk is kept. */
  async losePower(): Promise<void> {
    await this.#process?.kill();
    await eventually(
      () => {
        const left = [...processesNaming(this.#directory), ...processesIn(this.#controlGroup)];
        for (const pid of left) kill(pid);
        if (left.length > 0) throw new Error(`processes ${left.join(", ")} run on`);
      },
      { timeoutMs: endMs, describe: "all processes of the engine to end" },
    );
    unmountAll(this.#directory);
    removeControlGroups(this.#controlGroup);
    for (const name of ["exec", "pid", "docker.sock"]) await rm(join(this.#directory, name), { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process?.exit === undefined && this.#process !== undefined)
      await Promise.all((await this.api.containers()).map((id) => this.api.remove(id)));
    await this.stopDaemon();
    this.#reaper[Symbol.dispose]();
    removeControlGroups(this.#controlGroup);
    unmountAll(this.#directory);
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }

  get #controlGroup(): string {
    return controlGroupOf(this.api.host);
  }
}

/** IDs of processes whose command line contains the text, such as the shims of an engine in that folder. */
function processesNaming(text: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => readIfThere(`/proc/${pid}/cmdline`).includes(text))
    .map(Number);
}

/** IDs of processes in a control group and its children. */
function processesIn(controlGroup: string): number[] {
  const lists = controlGroupFolders(controlGroup).flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).flatMap((path) =>
      basename(path) === "cgroup.procs" ? [join(folder, path)] : [],
    ),
  );
  return [...new Set(lists.flatMap((list) => readIfThere(list).split("\n").filter(Boolean).map(Number)))];
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended.
  }
}
