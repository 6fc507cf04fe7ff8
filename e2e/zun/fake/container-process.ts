import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Reaper } from "@virtual-kubelet/testing";

/** A command of this machine that replaces an image. */
export interface ProcessPlan {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly files: readonly { readonly path: string; readonly content: Buffer }[];
  readonly hasInput: boolean;
}

/** Only paths with this prefix may be used, because a container shares the machine's file system. */
const allowedFiles = "/tmp/suite-";
const bridge = join(dirname(fileURLToPath(import.meta.url)), "pty_bridge.py");

/** Whether commands can have terminals on this machine. */
export function canOpenTerminals(): boolean {
  return spawnSync("python3", ["-c", "import pty"]).status === 0;
}

/** One run of a container as processes of this machine: its main process and additional commands. */
export class ContainerProcess {
  readonly startedMs: number;
  /** Lines with their times, as stored by Docker. */
  readonly log: { readonly timeMs: number; readonly sequence: number; readonly text: string }[] = [];
  /** Time and exit code of the end; `undefined` while it runs. */
  ended: { readonly atMs: number; readonly exitCode: number } | undefined;
  readonly exited: Promise<number>;
  readonly child: ChildProcess;
  readonly #plan: ProcessPlan;
  readonly #reaper: Reaper;
  readonly #directory: string;
  readonly #commands = new Set<ChildProcess>();
  #partial = "";
  #sequence = 0;

  constructor(plan: ProcessPlan, reaper: Reaper) {
    this.#plan = plan;
    this.#reaper = reaper;
    this.startedMs = Date.now();
    this.#directory = mkdtempSync(join(tmpdir(), "vk-fake-zun-"));
    for (const { path, content } of plan.files) {
      if (!path.startsWith(allowedFiles)) continue;
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
    }
    const [program = "false", ...args] = plan.command;
    this.child = spawn(program, args, {
      cwd: this.#directory,
      env: this.#env(),
      detached: true,
      stdio: [plan.hasInput ? "pipe" : "ignore", "pipe", "pipe"],
    });
    this.#watch(this.child);
    for (const stream of [this.child.stdout, this.child.stderr]) stream?.on("data", (chunk: Buffer) => this.#note(chunk));
    this.exited = new Promise((resolve) => {
      const end = (exitCode: number): void => {
        this.ended ??= { atMs: Date.now(), exitCode };
        this.signal("SIGKILL");
        for (const command of this.#commands) command.kill("SIGTERM");
        resolve(exitCode);
      };
      this.child.once("error", () => end(127));
      this.child.once("close", (code, name) => end(code ?? 128 + (name === null ? 0 : constants.signals[name])));
    });
  }

  /** Sends a signal to the main process and its children. */
  signal(name: NodeJS.Signals): void {
    try {
      if (this.child.pid !== undefined) process.kill(-this.child.pid, name);
    } catch {
      // The process has ended.
    }
  }

  /** Runs a command without a terminal until it or the container ends. */
  run(command: readonly string[]): Promise<{ readonly output: string; readonly exitCode: number }> {
    const cpu = this.#ownControlGroup(command);
    if (cpu !== undefined) return Promise.resolve({ output: cpu, exitCode: 0 });
    const [program = "false", ...args] = command;
    const child = spawn(program, args, { cwd: this.#directory, env: this.#env(), stdio: ["ignore", "pipe", "pipe"] });
    this.#commands.add(child);
    child.once("close", () => this.#commands.delete(child));
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
    return new Promise((resolve) => {
      child.once("error", (error) => resolve({ output: error.message, exitCode: 127 }));
      child.once("close", (code, name) => resolve({ output, exitCode: code ?? 128 + (name === null ? 0 : constants.signals[name]) }));
    });
  }

  /** Runs a command on a terminal. Like an exec of Docker, it does not end with its stream. */
  openTerminal(command: readonly string[], { rows = 24, columns = 80 }: Partial<Record<"rows" | "columns", number>> = {}): ChildProcess {
    const child = spawn("python3", [bridge, String(rows), String(columns), ...command], {
      cwd: this.#directory,
      env: { TERM: "xterm", ...this.#env() },
      detached: true,
      stdio: ["pipe", "pipe", "ignore", "pipe"],
    });
    child.stdin?.on("error", () => {});
    this.#watch(child);
    this.#commands.add(child);
    child.once("close", () => this.#commands.delete(child));
    return child;
  }

  /** Removes the run's files. */
  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
    for (const { path } of this.#plan.files) if (path.startsWith(allowedFiles)) rmSync(path, { force: true });
  }

  #env(): Record<string, string> {
    return { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/root", ...this.#plan.env };
  }

  #watch(child: ChildProcess): void {
    const { pid } = child;
    if (pid === undefined) return;
    this.#reaper.watch(-pid);
    child.once("exit", () => this.#reaper.forget(-pid));
  }

  #note(chunk: Buffer): void {
    const lines = (this.#partial + chunk.toString("utf8")).split("\n");
    this.#partial = lines.pop() ?? "";
    for (const text of lines) this.log.push({ timeMs: Date.now(), sequence: this.#sequence++, text });
  }

  /** Simulates reading the container's own control group, which a process of this machine does not have. */
  #ownControlGroup(command: readonly string[]): string | undefined {
    if (command[0] !== "cat" || !command.some((word) => word.startsWith("/sys/fs/cgroup/"))) return undefined;
    return `usage_usec ${Math.round((Date.now() - this.startedMs) * 3)}\nuser_usec 1\nsystem_usec 1\n`;
  }
}
