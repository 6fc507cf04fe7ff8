import { bashCompletion, fishCompletion, zshCompletion } from "../command-line/completion.ts";
import type { Context } from "../context.ts";
import { exitCodes } from "../exit-codes.ts";
import type { CommandLine } from "../command-line/flag-parser.ts";

/** `completion bash|zsh|fish`. */
export async function execute({ args }: CommandLine, { stdout }: Context): Promise<number> {
  const script = args[0] === "zsh" ? zshCompletion() : args[0] === "fish" ? fishCompletion() : bashCompletion();
  stdout.write(script);
  return exitCodes.ok.code;
}
