import { readFileSync } from "node:fs";

/** Flags of a command line in the syntax of pflag, by name; a flag that occurs twice has two values. */
export type Flags = ReadonlyMap<string, readonly string[]>;

/** Invalid command line, in the words of the program that it imitates. */
export class FlagError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** Types of flags by name, such as `bool` or `duration`. */
export type FlagTypes = Readonly<Record<string, string>>;

/** Flags of kube-apiserver v1.36.3. */
export function kubeApiserverFlags(): FlagTypes {
  const file = new URL("../../../data/kube-apiserver-flags.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { flags: FlagTypes }).flags;
}

/**
 * Parses a command line: `--flag=value`, `--flag value`, and `--flag` for a boolean.
 *
 * Source: github.com/spf13/pflag v1.0.10 flag.go, `parseLongArg`.
 *
 * @throws FlagError for a flag that is unknown or has no value
 */
export function parseFlags(words: readonly string[], types: FlagTypes): Flags {
  const flags = new Map<string, string[]>();
  const queue = [...words];
  for (let word = queue.shift(); word !== undefined; word = queue.shift()) {
    const [, name, hasValue, given = ""] = /^--([^=]+)(=([^]*))?$/.exec(long(word)) ?? [];
    if (name === undefined) throw new FlagError(`unknown command ${JSON.stringify(word)}`);
    const type = Object.hasOwn(types, name) ? types[name] : undefined;
    if (type === undefined) throw new FlagError(`unknown flag: --${name}`);
    const value = hasValue === undefined && type !== "bool" ? queue.shift() : given;
    if (value === undefined) throw new FlagError(`flag needs an argument: --${name}`);
    const values = flags.get(name) ?? [];
    values.push(hasValue === undefined && type === "bool" ? "true" : value);
    flags.set(name, values);
  }
  return flags;
}

function long(word: string): string {
  if (word === "-h") return "--help";
  return word.replace(/^-v(?==|$)/, "--v");
}

/** Last value of a flag, as pflag takes it; `undefined` if the flag is absent or empty. */
export function lastOf(flags: Flags, name: string): string | undefined {
  return flags.get(name)?.at(-1) || undefined;
}

/** Values of a flag that takes a list, separated by commas or given in several flags. */
export function listOf(flags: Flags, name: string): string[] {
  return (flags.get(name) ?? []).flatMap((value) => value.split(",")).filter((value) => value !== "");
}
