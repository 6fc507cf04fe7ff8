/** Group of an explanation, as in the list of all. */
export type ExplanationKind = "error code" | "reason" | "condition" | "field" | "exit code";

/** What `explain` says about one name. */
export interface Explanation {
  readonly kind: ExplanationKind;
  /** The word, code or path. A `*` at the end of a reason stands for any rest. */
  readonly name: string;
  /** Who writes it: `core`, or the providers. */
  readonly writtenBy: readonly string[];
  /** Where people find it. */
  readonly where: readonly string[];
  readonly meaning: string;
  /** What to do, with commands in backquotes. */
  readonly remedy: string;
}
