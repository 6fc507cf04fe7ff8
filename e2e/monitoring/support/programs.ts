import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

/** How a program ended, and what it wrote. */
export interface ProgramEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Path of a program from the environment. @throws Error that says how to get it */
export function programOf(variable: "PROMTOOL" | "PROMQL_PARSER"): string {
  const path = process.env[variable];
  if (path) return path;
  throw new Error(`${variable} does not name a program: run make test LEVEL=monitoring, which builds it`);
}

/** Runs a program, with a text as its standard input, and waits for its end. */
export async function runProgram(program: string, args: readonly string[], input: string = ""): Promise<ProgramEnd> {
  const child = spawn(program, args, { stdio: "pipe" });
  const ended = new Promise<number | null>((resolve, reject) => child.once("close", resolve).once("error", reject));
  child.stdin.end(input);
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
}
