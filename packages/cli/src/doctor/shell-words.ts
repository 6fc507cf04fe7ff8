import type { CommandName } from "../command-line/flag.ts";
import type { CommandLine } from "../command-line/flag-parser.ts";
import { flagsOf } from "../command-line/flags.ts";

/** Quotes a word for a POSIX shell, if necessary. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * The command line of another command of this program with the same settings.
 *
 * @param line - command line whose flags are repeated, as far as the other command has them
 * @param words - words after the command's name, before the flags
 */
export function ownCommand(line: CommandLine, command: CommandName, words: readonly string[]): string {
  const known = flagsOf(command).filter(({ obsolete }) => obsolete === undefined);
  const repeated = line.flags
    .filter(({ flag }) => flag.path !== undefined || flag.name === "config" || flag.name === "namespaces")
    .filter(({ flag }) => known.some(({ name }) => name === flag.name))
    .map(({ flag, text }) =>
      flag.type === "boolean" ? `--${flag.name}${text === "true" ? "" : `=${text}`}` : `--${flag.name} ${shellWord(text)}`,
    );
  return ["virtual-kubelet", command, ...words, ...repeated].join(" ");
}
