import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { root } from "./workspace.ts";

/** How a command ended. */
export interface Ended {
  /** 0 for success; 1 where a signal ended it. */
  readonly code: number;
  /** What it wrote, standard output and error together; empty where it was shown. */
  readonly output: string;
}

/** Options of {@link run}. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Show the output as it comes instead of collecting it. */
  readonly show?: boolean;
}

/** The environment in which the workspace's own Node.js and tools come first. */
export function toolEnvironment(extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PATH: `${join(root, "node_modules/.bin")}${delimiter}${process.env["PATH"] ?? ""}`,
    TURBO_TELEMETRY_DISABLED: "1",
    ...extra,
  };
}

/** Runs a command and waits for its end. @throws if it cannot be started */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.cwd ?? root,
      env: toolEnvironment(options.env),
      stdio: options.show === true ? "inherit" : ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.once("error", (cause) => reject(new Error(`cannot run ${command} in ${options.cwd ?? root}`, { cause })));
    child.once("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

/** Like {@link run}, but a failure throws with the command's output. */
export async function mustRun(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { code, output } = await run(command, args, options);
  if (code !== 0) throw new Error(`${[command, ...args].join(" ")} ended with exit code ${code}:\n${output}`);
  return output;
}

let pnpm: Promise<string> | undefined;

/** Path of the pnpm that package.json names, fetched through npx once; a global pnpm is not used. */
export function pnpmPath(): Promise<string> {
  pnpm ??= (async (): Promise<string> => {
    const { packageManager } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { packageManager: string };
    return (
      (await mustRun("npx", ["--yes", "--package", packageManager, "--", "sh", "-c", "command -v pnpm"])).trim().split("\n").at(-1) ??
      "pnpm"
    );
  })();
  return pnpm;
}
