import { spawn, type StdioOptions } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { root } from "./workspace.ts";

/** How a command ended. */
export interface Ended {
  /** 0 for success; 1 where a signal ended it. */
  readonly code: number;
  /** What it wrote, standard output and error together; empty unless it was collected. */
  readonly output: string;
}

/** Where a command's output goes: to this process's own, to an open file by its descriptor, or into {@link Ended.output}. */
export type Output = "inherit" | "collect" | number;

/** Options of {@link run}. */
export interface RunOptions {
  readonly cwd?: string;
  /** Variables besides our own; a `PATH` is looked through after the workspace's tools. */
  readonly env?: Readonly<Record<string, string>>;
  /** Folder that is looked through before the workspace's tools, such as that of another Node.js; default: none. */
  readonly first?: string | undefined;
  /** Default: `collect`. */
  readonly output?: Output;
  /** Ends it with SIGTERM after that long; default: never. */
  readonly timeoutMs?: number;
}

/** Runs a command, with the workspace's own Node.js and tools first in the path, and waits for its end. @throws if it cannot be started */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const path = [options.first, join(root, "node_modules/.bin"), options.env?.["PATH"], process.env["PATH"]]
    .filter((part) => part !== undefined)
    .join(delimiter);
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.cwd ?? root,
      env: { ...process.env, TURBO_TELEMETRY_DISABLED: "1", ...options.env, PATH: path },
      ...(options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs }),
      stdio: stdio(options.output ?? "collect"),
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.once("error", (cause) => reject(new Error(`cannot run ${command} in ${options.cwd ?? root}`, { cause })));
    child.once("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

function stdio(output: Output): StdioOptions {
  if (output === "inherit") return "inherit";
  return output === "collect" ? ["ignore", "pipe", "pipe"] : ["ignore", output, output];
}

/** Like {@link run}, but a failure throws with the command's output. */
export async function mustRun(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { code, output } = await run(command, args, options);
  if (code !== 0) throw new Error(`${[command, ...args].join(" ")} ended with exit code ${code}:\n${output}`);
  return output;
}

/** Path of the pnpm that package.json names, fetched through npx; a global pnpm is not used. */
export async function findPnpmProgram(): Promise<string> {
  const { packageManager } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { packageManager: string };
  const output = await mustRun("npx", ["--yes", "--package", packageManager, "--", "sh", "-c", "command -v pnpm"]);
  return output.trim().split("\n").at(-1) ?? "";
}

/** A runner of {@link findPnpmProgram}. What it starts finds the same pnpm. */
export async function findPnpm(): Promise<(args: readonly string[], cwd?: string) => Promise<Ended>> {
  const pnpm = await findPnpmProgram();
  return (args, cwd = root) => run(pnpm, args, { cwd, env: { PATH: dirname(pnpm) } });
}
