export type CommandName =
  | "run"
  | "join"
  | "demo"
  | "simulate"
  | "version"
  | "providers"
  | "config"
  | "manifests"
  | "service"
  | "doctor"
  | "plan"
  | "explain"
  | "status"
  | "completion"
  | "help";

/** Type of a flag's value. `labels` is `KEY=VALUE`, and may be repeated. */
export type FlagType = "string" | "boolean" | "integer" | "labels";

/** Description of a flag for parsing, help, completion, the configuration and its schema. */
export interface Flag {
  /** Without dashes. */
  readonly name: string;
  /** One letter. */
  readonly short?: string;
  readonly type: FlagType;
  readonly commands: readonly CommandName[];
  readonly help: string;
  /** Placeholder for the value in help. */
  readonly value?: string;
  /** Possible values, if they are few. */
  readonly choices?: readonly string[];
  /** Path in the configuration file; `nodes[]` means all nodes. Default: command line only. */
  readonly path?: string;
  /** Environment variables of other programs that set it too. */
  readonly env?: readonly string[];
  /** Default value as shown in help. */
  readonly default?: string;
  /** Marks a deprecated alias: the name of the flag to use instead. */
  readonly insteadUse?: string;
  /** Marks a flag without effect: the reason. */
  readonly obsolete?: string;
}
