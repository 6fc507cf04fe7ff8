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
  /** Size of the terminal; `undefined` without a terminal. */
  terminalSize(): TerminalSize | undefined;
  /** Sets a handler that Ctrl-C calls instead of ending the shell, until disposed. */
  takeInterrupts(handler: () => void): Disposable;
}

export interface Streams {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
}

/** Everything that a command can access. */
export interface CommandContext extends Streams {
  /** Starts with the command's name. */
  readonly args: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  /** Base of relative paths. */
  readonly directory: string;
  readonly machine: Machine;
  readonly signal: AbortSignal;
}

/** Runs a command. @returns its exit code. A FileError is printed after its name, with the exit code 1. */
export type Command = (context: CommandContext) => Promise<number>;

/** Invalid use of a command: printed after its name, with the exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Absolute path of an argument. */
export function pathOf({ directory }: Pick<CommandContext, "directory">, argument: string): string {
  return posix.resolve(directory, argument);
}

/**
 * Parses one-letter options before the operands, such as `-la`; `--` ends them. Options in `withValue` take the rest of the argument or the
 * next one.
 */
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
