import type { Context } from "./context.ts";
import type { CommandLine } from "./flag-parser.ts";
import type { CommandName } from "./flag.ts";

/** What carries out a command. */
export interface CommandModule {
  /** @returns the exit code; errors are printed by the caller */
  execute(line: CommandLine, context: Context): Promise<number>;
}

const modules: Readonly<Record<CommandName, () => Promise<CommandModule>>> = {
  run: () => import("./commands/run.ts"),
  demo: () => import("./commands/demo.ts"),
  providers: () => import("./commands/providers.ts"),
  config: () => import("./commands/config.ts"),
  manifests: () => import("./commands/manifests.ts"),
  plan: () => import("./commands/plan.ts"),
  completion: () => import("./commands/completion.ts"),
  version: () => import("./commands/version.ts"),
  help: () => import("./commands/help.ts"),
};

/** Loads what carries out a command: help need not wait for all that a node is made of. */
export function loadCommand(name: CommandName): Promise<CommandModule> {
  return modules[name]();
}
