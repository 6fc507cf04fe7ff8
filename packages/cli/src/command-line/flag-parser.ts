import type { CommandName, Flag } from "./flag.ts";
import { flagsOf } from "./flags.ts";
import { didYouMean } from "./nearest.ts";
import { UsageError } from "../program-error.ts";

/** A flag as given on the command line. */
export interface GivenFlag {
  readonly flag: Flag;
  /** Value as written; `true` for a boolean flag without a value. */
  readonly text: string;
}

/** A parsed command line. */
export interface CommandLine {
  readonly flags: readonly GivenFlag[];
  /** Arguments that are not flags. */
  readonly args: readonly string[];
}

/**
 * Parses a command's flags like Go's pflag: `--name value`, `--name=value`, `-n value`, `--bool`, `--bool=false`, and unlike it `--bool false`; flags and arguments in
 * any order, and only arguments after `--`.
 *
 * @throws UsageError that names the flag and suggests the nearest one
 */
export function parseFlags(command: CommandName, words: readonly string[]): CommandLine {
  const known = flagsOf(command);
  const given: GivenFlag[] = [];
  const args: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    if (word === "--") {
      args.push(...words.slice(index + 1));
      break;
    }
    if (!word.startsWith("-") || word === "-") {
      args.push(word);
      continue;
    }
    const equals = word.indexOf("=");
    const written = equals < 0 ? word : word.slice(0, equals);
    const flag = known.find(({ name, short }) => written === `--${name}` || (short !== undefined && written === `-${short}`));
    if (!flag) throw unknownFlag(command, written, known);
    const inline = equals < 0 ? undefined : word.slice(equals + 1);
    const next = words[index + 1];
    // Charts of upstream's providers write `--disable-taint true`, and `run` has no arguments that the word could be instead.
    const isNext = flag.type !== "boolean" || next === "true" || next === "false";
    const text = inline ?? (isNext ? next : "true");
    if (inline === undefined && isNext) index++;
    if (text === undefined) throw new UsageError(`${written}: missing value, expected ${written} ${flag.value ?? "VALUE"}`);
    given.push({ flag, text });
  }
  return { flags: given, args };
}

/** Last value given for a flag; `undefined` if none. */
export function valueOf({ flags }: CommandLine, name: string): string | undefined {
  return flags.findLast(({ flag }) => flag.name === name)?.text;
}

/** All values given for a flag that may be repeated. */
export function valuesOf({ flags }: CommandLine, name: string): string[] {
  return flags.filter(({ flag }) => flag.name === name).map(({ text }) => text);
}

/** Whether a boolean flag is on. @throws UsageError for a value that is not a boolean */
export function isOn(line: CommandLine, name: string): boolean {
  const text = valueOf(line, name) ?? "false";
  const value = parseBoolean(text);
  if (value === undefined) throw new UsageError(`--${name}: ${JSON.stringify(text)}: expected true or false`);
  return value;
}

/** Value of a flag with fixed choices. @throws UsageError for any other value */
export function choiceOf(line: CommandLine, name: string, fallback: string): string {
  const given = line.flags.findLast(({ flag }) => flag.name === name);
  const choices = given?.flag.choices ?? [];
  if (!given || choices.includes(given.text)) return given?.text ?? fallback;
  throw new UsageError(`--${name}: ${JSON.stringify(given.text)}: expected ${choices.join(" or ")}${didYouMean(given.text, choices)}`);
}

/** Source of the accepted words: Go's strconv.ParseBool. */
export function parseBoolean(text: string): boolean | undefined {
  if (/^(1|t|true)$/i.test(text)) return true;
  return /^(0|f|false)$/i.test(text) ? false : undefined;
}

function unknownFlag(command: CommandName, written: string, known: readonly Flag[]): UsageError {
  const names = known.filter(({ obsolete }) => obsolete === undefined).map(({ name }) => `--${name}`);
  return new UsageError(
    `${written}: unknown flag for "${command}"${didYouMean(written, names) || `; see virtual-kubelet help ${command}`}`,
  );
}
