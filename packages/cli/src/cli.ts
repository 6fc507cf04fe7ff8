import { messageOf } from "@virtual-kubelet/errdefs";
import { commandNames, findCommand, type Command } from "./command-line/commands.ts";
import type { CommandName } from "./command-line/flag.ts";
import type { Context } from "./context.ts";
import { exitCodes } from "./exit-codes.ts";
import { isOn, parseFlags, type CommandLine } from "./command-line/flag-parser.ts";
import { didYouMean } from "./command-line/nearest.ts";
import { ProgramError, UsageError } from "./program-error.ts";

/** Implementation of a command. */
interface CommandModule {
  /** @returns exit code; errors are printed by the caller */
  execute(line: CommandLine, context: Context): Promise<number>;
}

/** Loads the implementation of each command on demand, so that help does not load the node's code. */
const modules: Readonly<Record<CommandName, () => Promise<CommandModule>>> = {
  run: () => import("./commands/run.ts"),
  join: () => import("./commands/join.ts"),
  demo: () => import("./commands/demo.ts"),
  simulate: () => import("./commands/simulate.ts"),
  providers: () => import("./commands/providers.ts"),
  config: () => import("./commands/config.ts"),
  manifests: () => import("./commands/manifests.ts"),
  service: () => import("./commands/service.ts"),
  doctor: () => import("./commands/doctor.ts"),
  plan: () => import("./commands/plan.ts"),
  explain: () => import("./commands/explain.ts"),
  status: () => import("./commands/status.ts"),
  completion: () => import("./commands/completion.ts"),
  version: () => import("./commands/version.ts"),
  help: () => import("./commands/help.ts"),
};

/**
 * Runs the program.
 *
 * @param words - command line without node and program
 * @returns exit code, one of {@link exitCodes}; errors have been printed
 */
export async function runProgram(words: readonly string[], context: Context): Promise<number> {
  try {
    const { command, rest } = chooseCommand(words);
    const line = parseFlags(command.name, rest);
    if (isOn(line, "help")) {
      const { commandHelp } = await import("./command-line/help-text.ts");
      context.stdout.write(commandHelp(command.name));
      return exitCodes.ok.code;
    }
    checkArguments(command, line.args);
    const module = await modules[command.name]();
    const work = module.execute(line, context);
    if (!isEndedBySignal(command)) return await work;
    const { untilAborted } = await import("@virtual-kubelet/async");
    return await untilAborted(work, context.signal);
  } catch (error) {
    return report(error, context);
  }
}

function chooseCommand(words: readonly string[]): { command: Command; rest: readonly string[] } {
  const [first, ...rest] = words;
  if (first === "--version") return { command: required("version"), rest };
  if (rest.length === 0 && (first === "--help" || first === "-h")) return { command: required("help"), rest };
  if (first === undefined || first.startsWith("-")) return { command: required("run"), rest: words };
  const command = findCommand(first);
  if (command) return { command, rest };
  throw new UsageError(
    `${JSON.stringify(first)}: unknown command, expected one of ${commandNames.join(", ")}${didYouMean(first, commandNames)}`,
  );
}

function required(name: string): Command {
  const command = findCommand(name);
  if (!command) throw new RangeError(`no command ${name}`);
  return command;
}

function checkArguments({ name, args, words }: Command, given: readonly string[]): void {
  const [first, second] = given;
  const surplus = args === undefined ? first : second;
  if (surplus !== undefined) {
    const hint = findCommand(surplus) ? `; a command comes first: virtual-kubelet ${surplus}` : "";
    throw new UsageError(`${JSON.stringify(surplus)}: unexpected argument for "${name}"${hint}`);
  }
  if (!words || (first !== undefined && words.includes(first))) return;
  if (first === undefined) throw new UsageError(`${name}: missing argument, expected one of ${words.join(", ")}`);
  throw new UsageError(
    `${JSON.stringify(first)}: unknown argument for "${name}", expected one of ${words.join(", ")}${didYouMean(first, words)}`,
  );
}

/** Whether a signal ends a command at once. A run, a simulation and a demo end gracefully instead. */
function isEndedBySignal({ name }: Command): boolean {
  return name === "config" || name === "doctor" || name === "explain" || name === "manifests" || name === "plan" || name === "providers";
}

function report(error: unknown, { stderr, signal }: Context): number {
  if (error instanceof ProgramError) {
    for (const line of error.message.split("\n")) stderr.write(`virtual-kubelet: ${line}\n`);
    return error.exitCode;
  }
  if (signal.aborted && error === signal.reason) return exitCodes.ok.code;
  stderr.write(`virtual-kubelet: fault in the program: ${messageOf(error)}\n${error instanceof Error ? `${error.stack ?? ""}\n` : ""}`);
  return exitCodes.internal.code;
}
