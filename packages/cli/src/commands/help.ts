import { commandNames, findCommand } from "../command-line/commands.ts";
import type { Context } from "../context.ts";
import { exitCodes } from "../exit-codes.ts";
import type { CommandLine } from "../command-line/flag-parser.ts";
import { commandHelp, programHelp } from "../command-line/help-text.ts";
import { didYouMean } from "../command-line/nearest.ts";
import { UsageError } from "../program-error.ts";

/** `help` and `help COMMAND`. */
export async function execute({ args }: CommandLine, { stdout }: Context): Promise<number> {
  const [name] = args;
  const command = name === undefined ? undefined : findCommand(name);
  if (name !== undefined && !command)
    throw new UsageError(
      `${JSON.stringify(name)}: unknown command, expected one of ${commandNames.join(", ")}${didYouMean(name, commandNames)}`,
    );
  stdout.write(command ? commandHelp(command.name) : programHelp());
  return exitCodes.ok.code;
}
