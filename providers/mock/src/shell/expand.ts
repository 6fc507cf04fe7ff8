import { evaluate } from "./arithmetic.ts";
import type { Word, WordPart } from "./syntax.ts";

/** Values for the expansion of words. */
export interface Expander {
  /** Value of a variable or parameter; `undefined` if it is not set. */
  variable(name: string): string | undefined;
  /** All parameters, for `$@` and `$*`. */
  readonly parameters: readonly string[];
  /** Runs a script and returns its output. */
  substitute(script: string): Promise<string>;
}

/** Expands words to fields: unquoted expansions are split at blanks, and empty ones are dropped. */
export async function expandWords(words: readonly Word[], expander: Expander): Promise<string[]> {
  const fields: string[] = [];
  for (const word of words) fields.push(...(await expandWord(word, expander)));
  return fields;
}

/** Expands a word to one text, as in an assignment. */
export async function expandText(word: Word, expander: Expander): Promise<string> {
  let text = "";
  for (const part of word) text += await valueOf(part, expander);
  return text;
}

async function expandWord(word: Word, expander: Expander): Promise<string[]> {
  const fields: string[] = [];
  let field: string | undefined;
  const endField = (): void => {
    if (field !== undefined) fields.push(field);
    field = undefined;
  };
  for (const part of word) {
    if (part.kind === "variable" && part.name === "@" && part.quoted) {
      for (const [index, parameter] of expander.parameters.entries()) {
        if (index > 0) endField();
        field = (field ?? "") + parameter;
      }
      continue;
    }
    const value = await valueOf(part, expander);
    if (part.quoted || part.kind === "text") {
      field = (field ?? "") + value;
      continue;
    }
    const pieces = value.split(/[ \t\n]+/);
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) endField();
      if (piece !== "") field = (field ?? "") + piece;
    }
  }
  endField();
  return fields;
}

async function valueOf(part: WordPart, expander: Expander): Promise<string> {
  switch (part.kind) {
    case "text":
      return part.text;
    case "arithmetic":
      return String(evaluate(part.expression, (name) => expander.variable(name)));
    case "substitution":
      return (await expander.substitute(part.script)).replace(/\n+$/, "");
    case "variable": {
      const value = part.name === "@" || part.name === "*" ? expander.parameters.join(" ") : expander.variable(part.name);
      if (part.fallback !== undefined && (value === undefined || value === "")) return expandText(part.fallback, expander);
      return value ?? "";
    }
    default:
      return part satisfies never;
  }
}
