import type { MemoryFiles } from "../../files/memory-files.ts";
import { pathOf, UsageError, type Command, type CommandContext } from "../command.ts";

const compareNumbers: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  "-eq": (a, b) => a === b,
  "-ne": (a, b) => a !== b,
  "-lt": (a, b) => a < b,
  "-le": (a, b) => a <= b,
  "-gt": (a, b) => a > b,
  "-ge": (a, b) => a >= b,
};

/** `test expression` and `[ expression ]`: 0 if true, else 1. */
export const test: Command = async (context) => {
  const words = context.args.slice(1);
  if (context.args[0] === "[" && words.pop() !== "]") throw new UsageError("missing ]");
  return evaluate(words, context) ? 0 : 1;
};

function evaluate(words: readonly string[], context: CommandContext): boolean {
  for (const [join, decide] of [
    ["-o", (a: boolean, b: boolean) => a || b],
    ["-a", (a: boolean, b: boolean) => a && b],
  ] as const) {
    const at = words.indexOf(join, 1);
    if (at > 0 && at < words.length - 1) return decide(evaluate(words.slice(0, at), context), evaluate(words.slice(at + 1), context));
  }
  const [first = "", second = "", third = ""] = words;
  if (first === "!" && words.length > 1) return !evaluate(words.slice(1), context);
  if (words.length <= 1) return first !== "";
  if (words.length === 2) return unary(first, second, context);
  if (words.length !== 3) throw new UsageError("too many arguments");
  if (second === "=" || second === "==") return first === third;
  if (second === "!=") return first !== third;
  const compare = compareNumbers[second];
  if (!compare) throw new UsageError(`unknown operator ${second}`);
  return compare(integer(first), integer(third));
}

function unary(operator: string, operand: string, context: CommandContext): boolean {
  if (operator === "-n") return operand !== "";
  if (operator === "-z") return operand === "";
  if (operator === "-t") return context.machine.terminalSize() !== undefined;
  const node = (files: MemoryFiles): ReturnType<MemoryFiles["find"]> => files.find(pathOf(context, operand));
  const found = node(context.machine.files);
  switch (operator) {
    case "-e":
    case "-r":
      return found !== undefined;
    case "-f":
      return found?.kind === "file";
    case "-d":
      return found?.kind === "directory";
    case "-s":
      return found?.kind === "file" ? found.size > 0 : found !== undefined;
    case "-w":
      return found !== undefined && !found.readOnly;
    case "-x":
      return found !== undefined && (found.mode & 0o111) !== 0;
    default:
      throw new UsageError(`unknown operator ${operator}`);
  }
}

function integer(text: string): number {
  if (!/^\s*-?\d+\s*$/.test(text)) throw new UsageError(`${text}: bad number`);
  return Number(text);
}
