import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";

const running = new Set<ChildProcess>();
let isWatching = false;

/** Starts a program that ends at the latest when this process ends, whatever the cause. */
export function spawnChild(program: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  if (!isWatching) {
    isWatching = true;
    process.once("exit", () => {
      for (const child of running) child.kill("SIGKILL");
    });
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  }
  const child = spawn(program, args, options);
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

/** Sends SIGTERM and waits for the end of the process. */
export async function stopChild(child: ChildProcess | undefined): Promise<void> {
  if (!child || !running.has(child)) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await ended;
}
