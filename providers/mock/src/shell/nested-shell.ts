import { FileError } from "../files/memory-node.ts";
import { pathOf, type CommandContext } from "./command.ts";
import { parseScript } from "./parser.ts";
import type { Shell } from "./shell.ts";
import { ExitSignal, LoopSignal } from "./signals.ts";
import { SyntaxProblem } from "./syntax.ts";

/** `sh`, `sh -c script [name parameter…]`, `sh file`. Without script and file, commands are read from the input. */
export async function nestedShell(outer: Shell, context: CommandContext): Promise<number> {
  const rest = context.args.slice(1);
  let hasScript = false;
  while (rest[0]?.startsWith("-") && rest[0] !== "-") hasScript = rest.shift()?.includes("c") || hasScript;
  const script = hasScript ? (rest.shift() ?? "") : undefined;
  const shell = outer.nest(context.env, rest.length > 0 ? rest : ["sh"]);
  if (script !== undefined) return shell.runAll(script, context);
  const file = rest[0];
  if (file === undefined || file === "-") return interact(shell, context);
  const node = context.machine.files.get(pathOf(context, file));
  if (node.kind === "directory") throw new FileError("Is a directory");
  return shell.runAll(node.kind === "file" ? Buffer.from(node.content).toString("utf8") : "", context);
}

/** Reads and runs commands line by line, with a prompt on a terminal, until the input ends or `exit`. */
async function interact(shell: Shell, { machine, stdin, stdout, stderr }: CommandContext): Promise<number> {
  const streams = { stdin, stdout, stderr };
  const isTerminal = machine.terminalSize() !== undefined;
  const prompt = async (text: string): Promise<void> => {
    if (isTerminal) await stderr.write(text);
  };
  let text = "";
  for (;;) {
    await prompt(text === "" ? `${shell.directory === "/root" ? "~" : shell.directory} # ` : "> ");
    const line = await stdin.readLine();
    if (line === undefined) {
      if (text !== "") await shell.runAll(text, streams);
      await prompt("\n");
      return shell.lastCode;
    }
    text += `${line}\n`;
    if (isUnfinished(text)) continue;
    const script = text;
    text = "";
    try {
      await shell.interruptible(() => shell.runText(script, streams));
    } catch (error) {
      if (error instanceof ExitSignal) return error.exitCode;
      if (!(error instanceof LoopSignal)) throw error;
    }
  }
}

function isUnfinished(text: string): boolean {
  try {
    parseScript(text);
    return false;
  } catch (error) {
    return error instanceof SyntaxProblem && error.unfinished;
  }
}
