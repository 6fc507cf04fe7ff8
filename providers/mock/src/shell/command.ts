import { posix } from "node:path";
import type { TerminalSize } from "@virtual-kubelet/core";
import type { MemoryFiles } from "../files/memory-files.ts";
import type { Input, Output } from "./streams.ts";

/** The container that commands run in. */
export interface Machine {
  readonly hostname: string;
  readonly files: MemoryFiles;
  /** Milliseconds since 1970. */
  nowMs(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** The terminal's size; `undefined` without a terminal. */
  terminalSize(): TerminalSize | undefined;
  /** Ctrl-C calls this in place of ending everything, until it is disposed. */
  takeInterrupts(handler: () => void): Disposable;
}

/** A command's streams. */
export interface Streams {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
}

/** All a command sees. */
export interface CommandContext extends Streams {
  /** Its name first. */
  readonly args: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  /** Where relative paths begin. */
  readonly directory: string;
  readonly machine: Machine;
  readonly signal: AbortSignal;
}

/** A command: its exit code. What it throws as a FileError is printed after its name, and the code is 1. */
export type Command = (context: CommandContext) => Promise<number>;

/** A wrong call of a command: printed after its name, and the code is 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The absolute path that an argument names. */
export function pathOf({ directory }: Pick<CommandContext, "directory">, argument: string): string {
  return posix.resolve(directory, argument);
}

/** One-letter options before the operands, such as `-la`; `--` ends them. Those of `withValue` take the rest or the next argument. */
export function parseOptions(
  args: readonly string[],
  { flags = "", withValue = "" }: { readonly flags?: string; readonly withValue?: string },
): { readonly options: ReadonlyMap<string, string>; readonly operands: readonly string[] } {
  const options = new Map<string, string>();
  let index = 1;
  for (; index < args.length; index++) {
    const arg = args[index] ?? "";
    if (arg === "--") {
      index++;
      break;
    }
    if (!arg.startsWith("-") || arg === "-") break;
    for (let at = 1; at < arg.length; at++) {
      const letter = arg[at] ?? "";
      if (withValue.includes(letter)) {
        const value = at + 1 < arg.length ? arg.slice(at + 1) : args[++index];
        if (value === undefined) throw new UsageError(`option requires an argument -- '${letter}'`);
        options.set(letter, value);
        break;
      }
      if (!flags.includes(letter)) throw new UsageError(`unrecognized option: ${letter}`);
      options.set(letter, "");
    }
  }
  return { options, operands: args.slice(index) };
}
