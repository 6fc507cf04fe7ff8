import type { CommandName } from "../command-line/flag.ts";
import type { CommandLine } from "../command-line/flag-parser.ts";
import { flagsOf } from "../command-line/flags.ts";
import type { LoadedSettings } from "../config/load-settings.ts";

/** Quotes a word for a POSIX shell, if necessary. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * The command line of another command of this program with the same settings.
 *
 * @param line - command line whose flags are repeated, as far as the other command has them
 * @param words - words after the command's name, before the flags; a flag in them takes the place of the same flag of `line`
 */
export function ownCommand(line: CommandLine, command: CommandName, words: readonly string[]): string {
  const known = flagsOf(command).filter(({ obsolete }) => obsolete === undefined);
  const given = new Set(words.filter((word) => word.startsWith("--")).map((word) => word.slice(2).split(/[ =]/, 1)[0]));
  const repeated = line.flags
    .filter(({ flag }) => !given.has(flag.name))
    .filter(({ flag }) => flag.path !== undefined || flag.name === "config" || flag.name === "namespaces")
    .filter(({ flag }) => known.some(({ name }) => name === flag.name))
    .map(({ flag, text }) =>
      flag.type === "boolean" ? `--${flag.name}${text === "true" ? "" : `=${text}`}` : `--${flag.name} ${shellWord(text)}`,
    );
  return ["virtual-kubelet", command, ...words, ...repeated].join(" ");
}

/**
 * A `kubectl` command with the program's kubeconfig and context, which may not be kubectl's own.
 *
 * @param words - such as `config view`
 */
export function kubectlCommand(
  words: string,
  { settings, merged, resolvePath }: Pick<LoadedSettings, "settings" | "merged" | "resolvePath">,
): string {
  const path = ["cluster", "kubeconfig"];
  const { kubeconfig, context } = settings.cluster;
  const source = merged.sourceOf(path);
  // kubectl reads KUBECONFIG itself; it may be a list of files.
  const isShared = kubeconfig === undefined || (source.kind === "env" && source.name === "KUBECONFIG");
  return [
    `kubectl ${words}`,
    ...(isShared ? [] : [`--kubeconfig ${shellWord(resolvePath(path, kubeconfig))}`]),
    ...(context === undefined ? [] : [`--context ${shellWord(context)}`]),
  ].join(" ");
}
