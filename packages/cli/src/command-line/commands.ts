import type { CommandName } from "./flag.ts";

/** One command: all that help and completion need to know of it. */
export interface Command {
  readonly name: CommandName;
  readonly summary: string;
  /** Its arguments, as help shows them. */
  readonly args?: string;
  /** Words its first argument may be, where they are few. */
  readonly words?: readonly string[];
}

/** Every command, in the order help shows them. `run` is also what happens without one. */
export const commands: readonly Command[] = [
  { name: "run", summary: "join a cluster as a node, and run the pods bound to it" },
  {
    name: "demo",
    summary: "see a cluster with a virtual node, with nothing installed but Node.js",
  },
  { name: "providers", summary: "list the built-in providers, or show one: what its pods may have, and its settings", args: "[NAME]" },
  {
    name: "config",
    summary: "check the configuration, print it with where each value comes from, or print its JSON Schema",
    args: "validate|print|schema",
    words: ["validate", "print", "schema"],
  },
  {
    name: "manifests",
    summary: "print what an administrator applies before the program runs: its access rights, the Node, or both",
    args: "rbac|node|all",
    words: ["rbac", "node", "all"],
  },
  { name: "plan", summary: "print what the provider would send to its back end for a pod, and send nothing" },
  {
    name: "completion",
    summary: "print the script that completes commands and flags in a shell",
    args: "bash|zsh|fish",
    words: ["bash", "zsh", "fish"],
  },
  {
    name: "version",
    summary: "print the versions of the program and of what it is made with",
  },
  { name: "help", summary: "show the help of a command", args: "[COMMAND]" },
];

/** The names of {@link commands}. */
export const commandNames: readonly CommandName[] = commands.map(({ name }) => name);

/** The command of that name. */
export function findCommand(name: string): Command | undefined {
  return commands.find((command) => command.name === name);
}
