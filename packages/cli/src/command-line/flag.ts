/** Names of the program's commands. */
export type CommandName = "run" | "demo" | "version" | "providers" | "config" | "manifests" | "plan" | "completion" | "help";

/** How a flag's value is read. `labels` is `KEY=VALUE`, and may be given many times. */
export type FlagType = "string" | "boolean" | "integer" | "labels";

/** One flag: all that parsing, help, completion, the configuration and its schema need to know of it. */
export interface Flag {
  /** Without dashes. */
  readonly name: string;
  /** One letter. */
  readonly short?: string;
  readonly type: FlagType;
  readonly commands: readonly CommandName[];
  readonly help: string;
  /** What stands for the value in help. */
  readonly value?: string;
  /** Values it takes, where they are few. */
  readonly choices?: readonly string[];
  /** Its place in the configuration file; `nodes[]` is every node there. Absent: the command line only. */
  readonly path?: string;
  /** Environment variables of other programs that set it, besides the one that bears its name. */
  readonly env?: readonly string[];
  /** As help shows it. */
  readonly default?: string;
  /** A flag that does the same, and is the one to use. */
  readonly insteadUse?: string;
  /** It does nothing any more, because of this. */
  readonly obsolete?: string;
}
