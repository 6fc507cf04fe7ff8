import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { constants } from "node:os";
import type { TerminalSize } from "@virtual-kubelet/core";
import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { Reaper } from "@virtual-kubelet/testing";

/** The command to run. */
export interface CommandPlan {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly stdin: boolean;
  /** The terminal's first size; without it there is no terminal. */
  readonly terminal?: TerminalSize | undefined;
}

/** A process group. */
export interface ProcessGroup {
  readonly child: ChildProcess;
  /** How it ended; 127 if there is no such program. Never rejects. */
  readonly exited: Promise<number>;
  signal(signal: NodeJS.Signals): void;
  resize(size: TerminalSize): void;
}

const scriptProgram = "/usr/bin/script";

/** Whether commands can have a terminal here. */
export function canOpenTerminals(): boolean {
  return spawnSync(scriptProgram, ["--version"]).status === 0;
}

/** Starts a command in a process group of its own, which the reaper kills if we die. */
export function spawnCommand(plan: CommandPlan, reaper: Reaper): ProcessGroup {
  const [program = "", ...args] = plan.terminal ? underTerminal(plan.command, plan.terminal) : plan.command;
  const child = spawn(program, args, {
    cwd: plan.cwd,
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", ...plan.env },
    detached: true,
    stdio: [plan.stdin || plan.terminal ? "pipe" : "ignore", "pipe", "pipe"],
  });
  const { pid } = child;
  if (pid !== undefined) reaper.watch(-pid);
  const signal = (name: NodeJS.Signals): void => {
    try {
      if (pid !== undefined) process.kill(-pid, name);
    } catch {
      // The group has ended.
    }
  };
  const exited = new Promise<number>((resolve) => {
    child.once("error", () => resolve(127));
    child.once("exit", (code, name) => {
      // What it left running would hold its output open.
      signal("SIGKILL");
      if (pid !== undefined) reaper.forget(-pid);
      resolve(code ?? 128 + (name === null ? 0 : constants.signals[name]));
    });
  });
  child.stdin?.on("error", () => {});
  return { child, exited, signal, resize: plan.terminal ? terminalResizer(child) : () => {} };
}

/** `script` opens a terminal, runs the command on it, and passes its exit code on. */
function underTerminal(command: readonly string[], size: TerminalSize): string[] {
  if (!canOpenTerminals()) throw new UnsupportedError("a terminal needs script(1) of util-linux, which is not here");
  const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  return [scriptProgram, "-qfe", "-E", "always", "-c", `stty rows ${size.height} cols ${size.width}; exec ${quoted}`, "/dev/null"];
}

/** How long a terminal that is not there yet is looked for, and how often: its programs start slowly on a busy machine. */
const openingTries = 600;
const openingPauseMs = 100;

/** Gives the terminal that `script` opens its size; the latest one counts. */
function terminalResizer(script: ChildProcess): (size: TerminalSize) => void {
  let latest: TerminalSize | undefined;
  const apply = (size: TerminalSize, tries: number): void => {
    if (size !== latest || script.exitCode !== null || resizeTerminal(script.pid, size) || tries === 0) return;
    setTimeout(() => apply(size, tries - 1), openingPauseMs).unref();
  };
  return (size) => {
    latest = size;
    apply(size, openingTries);
  };
}

/** Tells the terminal of the command that `script` runs its new size. @returns whether there is one, and it runs the command */
function resizeTerminal(scriptPid: number | undefined, { width, height }: TerminalSize): boolean {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const [, parent] = readFileSync(`/proc/${pid}/stat`, "utf8")
        .replace(/^.*\) /, "")
        .split(" ");
      if (Number(parent) !== scriptPid) continue;
      // The shell before the command would set the first size over this one.
      if (readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("\0stty rows ")) return false;
      const device = readlinkSync(`/proc/${pid}/fd/0`);
      if (!device.startsWith("/dev/pts/")) continue;
      spawnSync("stty", ["-F", device, "rows", String(height), "cols", String(width)]);
      return true;
    } catch {
      // It ended meanwhile.
    }
  }
  return false;
}
