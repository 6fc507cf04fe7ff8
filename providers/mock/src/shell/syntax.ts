/** A part of a word. Quoted parts are not split into several words. */
export type WordPart =
  | { readonly kind: "text"; readonly text: string; readonly quoted: boolean }
  /** `$NAME`, `${NAME}`, `${NAME:-fallback}`. */
  | { readonly kind: "variable"; readonly name: string; readonly fallback: Word | undefined; readonly quoted: boolean }
  /** `$(…)`, with the script's text. */
  | { readonly kind: "substitution"; readonly script: string; readonly quoted: boolean }
  /** `$((…))` */
  | { readonly kind: "arithmetic"; readonly expression: string; readonly quoted: boolean };

/** A word before its expansion. */
export type Word = readonly WordPart[];

/** A redirection, such as `> file`. */
export interface Redirect {
  readonly descriptor: 0 | 1 | 2;
  readonly action: "read" | "write" | "append" | "duplicate";
  /** The file; for `duplicate` the number of the descriptor. */
  readonly target: Word;
}

export type Command =
  | { readonly kind: "simple"; readonly assignments: readonly (readonly [string, Word])[]; readonly words: readonly Word[] }
  | { readonly kind: "group"; readonly body: Script; readonly ownShell: boolean }
  | { readonly kind: "if"; readonly branches: readonly { readonly condition: Script; readonly body: Script }[]; readonly otherwise: Script }
  | { readonly kind: "while"; readonly until: boolean; readonly condition: Script; readonly body: Script }
  | { readonly kind: "for"; readonly name: string; readonly words: readonly Word[] | undefined; readonly body: Script };

/** A command with its redirections. */
export interface RedirectedCommand {
  readonly command: Command;
  readonly redirects: readonly Redirect[];
}

/** Commands connected by `|`. */
export interface Pipeline {
  readonly negated: boolean;
  readonly commands: readonly RedirectedCommand[];
}

/** Pipelines in order. After `&&` and `||` they run depending on the previous exit code. */
export type Script = readonly { readonly join: ";" | "&&" | "||"; readonly pipeline: Pipeline }[];

/** The text is not a valid script of this shell. */
export class SyntaxProblem extends Error {
  override readonly name = "SyntaxProblem";
  /** Whether more text could make it valid. */
  readonly unfinished: boolean;

  constructor(message: string, options: { readonly unfinished?: boolean } = {}) {
    super(message);
    this.unfinished = options.unfinished ?? false;
  }
}
