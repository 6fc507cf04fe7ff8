import type { Context } from "../context.ts";
import type { CommandLine } from "../command-line/flag-parser.ts";
import type { CommandName } from "../command-line/flag.ts";

/** What carries out a command. */
export interface CommandModule {
  /** @returns the exit code; errors are printed by the caller */
  execute(line: CommandLine, context: Context): Promise<number>;
}

const modules: Readonly<Record<CommandName, () => Promise<CommandModule>>> = {
  run: () => import("./run.ts"),
  demo: () => import("./demo.ts"),
  providers: () => import("./providers.ts"),
  config: () => import("./config.ts"),
  manifests: () => import("./manifests.ts"),
  plan: () => import("./plan.ts"),
  completion: () => import("./completion.ts"),
  version: () => import("./version.ts"),
  help: () => import("./help.ts"),
};

/** Loads what carries out a command: help need not wait for all that a node is made of. */
export function loadCommand(name: CommandName): Promise<CommandModule> {
  return modules[name]();
}
