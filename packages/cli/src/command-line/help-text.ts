import { commands, findCommand } from "./commands.ts";
import { exitCodes } from "../exit-codes.ts";
import type { CommandName, Flag } from "./flag.ts";
import { envNamesOf, flagsOf } from "./flags.ts";

/** Text of `help`. */
export function programHelp(): string {
  return [
    "Joins a Kubernetes cluster as a node whose pods run anywhere a provider can reach.",
    "",
    "Usage: virtual-kubelet [COMMAND] [FLAGS]",
    "",
    "Commands (default: run):",
    ...table(commands.map(({ name, args, summary }) => [[name, args].filter(Boolean).join(" "), summary])),
    "",
    'The flags of a command: "virtual-kubelet COMMAND --help", as in "virtual-kubelet run --help".',
    "",
    ...exitCodeHelp(),
    "",
  ].join("\n");
}

/** Text of `help COMMAND`. */
export function commandHelp(name: CommandName): string {
  const command = findCommand(name);
  const current = flagsOf(name).filter(({ obsolete, insteadUse }) => obsolete === undefined && insteadUse === undefined);
  // Flags that only this command has say most about it.
  const [own, others] = [true, false].map((isOwn) => current.filter(({ commands: takers }) => (takers.length === 1) === isOwn));
  const shown = [...(own ?? []), ...(others ?? [])];
  const readsFile = current.some((flag) => flag.name === "config");
  const isRun = name === "run";
  return [
    capitalised(`${command?.summary ?? ""}.`),
    "",
    `Usage: virtual-kubelet ${isRun ? "[run]" : name}${command?.args ? ` ${command.args}` : ""} [FLAGS]`,
    "",
    "Flags:",
    ...table(shown.map((flag) => [flagHead(flag), flagText(flag, readsFile)])),
    "",
    ...(isRun ? [...settingsHelp(), "", ...oldFlagsHelp(), "", ...exitCodeHelp(), ""] : []),
  ].join("\n");
}

/** A flag with its value, as shown in help and completion. */
function flagHead({ name, short, type, value }: Flag): string {
  return `${short === undefined ? "    " : `-${short}, `}--${name}${type === "boolean" ? "" : ` ${value ?? "VALUE"}`}`;
}

/** @param readsFile - whether the command reads a configuration file, so that the flag's place in it is of use */
function flagText(flag: Flag, readsFile: boolean): string {
  const { help, choices, path, env } = flag;
  const notes = [
    choices && `one of ${choices.join(", ")}`,
    flag.default !== undefined && `default ${flag.default}`,
    env && `$${env.join(", $")}`,
    readsFile && path !== undefined && `config ${path}`,
  ].filter((note) => typeof note === "string");
  return notes.length === 0 ? help : `${help}\n(${notes.join("; ")})`;
}

function settingsHelp(): string[] {
  const example = flagsOf("run").find(({ name }) => name === "log-level");
  const text =
    "Every flag that has a place in the configuration file has an environment variable, too: VKUBELET_ and its name" +
    `${example ? `, as in ${envNamesOf(example).join()}` : ""}. Flags override variables, which override the file, which overrides the defaults.`;
  return wrap(text, 100);
}

function oldFlagsHelp(): string[] {
  const flags = flagsOf("run");
  const renamed = flags.filter(({ insteadUse }) => insteadUse !== undefined).map(({ name, insteadUse }) => `--${name} (use ${insteadUse})`);
  const obsolete = flags.filter((flag) => flag.obsolete !== undefined).map(({ name }) => `--${name}`);
  return [
    "Flags of the original virtual-kubelet, accepted with a warning:",
    ...wrap([...renamed, ...obsolete].join(", "), 96).map((line) => `  ${line}`),
  ];
}

function exitCodeHelp(): string[] {
  return ["Exit codes:", ...table(Object.values(exitCodes).map(({ code, meaning }) => [String(code), meaning]))];
}

/** Two columns. A left cell that is too wide gets a line of its own. */
function table(rows: readonly (readonly [left: string, right: string])[]): string[] {
  const width = Math.min(30, Math.max(...rows.map(([left]) => left.length)));
  return rows.flatMap(([left, right]) => {
    const lines = right.split("\n").flatMap((line) => wrap(line, 96 - width));
    const indented = lines.map((line) => `  ${" ".repeat(width)}  ${line}`);
    if (left.length > width) return [`  ${left}`, ...indented];
    return [`  ${left.padEnd(width)}  ${lines[0] ?? ""}`, ...indented.slice(1)];
  });
}

/** Breaks a text into lines of at most so many characters, between words. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
