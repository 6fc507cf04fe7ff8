import type { Context } from "../context.ts";
import type { CommandLine } from "../command-line/flag-parser.ts";
import type { CommandName } from "../command-line/flag.ts";

/** Implementation of a command. */
export interface CommandModule {
  /** @returns exit code; errors are printed by the caller */
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

/** Loads a command's implementation on demand, so that help does not load the node's code. */
export function loadCommand(name: CommandName): Promise<CommandModule> {
  return modules[name]();
}
