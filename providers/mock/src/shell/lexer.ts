import { SyntaxProblem, type Word, type WordPart } from "./syntax.ts";

/** A word or an operator. The end of a line is the operator `;`. `plain` is the word's text if nothing in it is quoted or expanded. */
export type Token =
  | { readonly kind: "word"; readonly word: Word; readonly plain: string | undefined }
  | { readonly kind: "operator"; readonly text: string };

const operators = ["&&", "||", ">>", ">&", "<&", ";;", ";", "|", "&", "(", ")", "<", ">"] as const;
const wordEnd = /[\s;&|()<>]/;

/** Splits a script into words and operators. @throws SyntaxProblem */
export function tokenize(text: string): Token[] {
  return new Lexer(text).tokens();
}

/** Parses a text in which only `$` is special, such as the fallback in `${NAME:-fallback}`. */
function expandable(text: string): Word {
  return new Lexer(text).parts(() => false);
}

class Lexer {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  tokens(): Token[] {
    const tokens: Token[] = [];
    while (this.#skipBlanks()) {
      const operator = this.#operator();
      if (operator !== undefined) {
        tokens.push({ kind: "operator", text: operator });
        continue;
      }
      const word = this.parts((char) => wordEnd.test(char));
      const [only] = word;
      const plain = word.length === 1 && only?.kind === "text" && !only.quoted ? only.text : undefined;
      // In `2>`, the number is a descriptor only if no space follows it.
      if (plain !== undefined && /^[012]$/.test(plain) && /[<>]/.test(this.#text[this.#at] ?? ""))
        tokens.push({ kind: "operator", text: plain });
      else tokens.push({ kind: "word", word, plain });
    }
    return tokens;
  }

  /** Parses parts until the end of the text, or until an unquoted character ends it. */
  parts(isEnd: (char: string) => boolean): WordPart[] {
    const parts: WordPart[] = [];
    const addText = (text: string, quoted: boolean): void => {
      const last = parts.at(-1);
      if (last?.kind === "text" && last.quoted === quoted) parts[parts.length - 1] = { ...last, text: last.text + text };
      else parts.push({ kind: "text", text, quoted });
    };
    for (let char = this.#text[this.#at]; char !== undefined && !isEnd(char); char = this.#text[this.#at]) {
      if (char === "'") addText(this.#until("'"), true);
      else if (char === '"') this.#doubleQuoted(parts, addText);
      else if (char === "\\") {
        const next = this.#text[this.#at + 1];
        if (next === undefined) throw new SyntaxProblem("unfinished escape", { unfinished: true });
        this.#at += 2;
        if (next !== "\n") addText(next, true);
      } else if (char === "$") parts.push(this.#dollar(false));
      else {
        this.#at++;
        addText(char, false);
      }
    }
    return parts;
  }

  #doubleQuoted(parts: WordPart[], addText: (text: string, quoted: boolean) => void): void {
    this.#at++;
    addText("", true);
    for (;;) {
      const char = this.#text[this.#at];
      if (char === undefined) throw new SyntaxProblem('unterminated "', { unfinished: true });
      if (char === '"') return void this.#at++;
      if (char === "$") parts.push(this.#dollar(true));
      else if (char === "\\" && /["\\$`\n]/.test(this.#text[this.#at + 1] ?? "")) {
        const next = this.#text[this.#at + 1] ?? "";
        this.#at += 2;
        if (next !== "\n") addText(next, true);
      } else {
        this.#at++;
        addText(char, true);
      }
    }
  }

  /** Parses what follows a `$`; a lone one is literal. */
  #dollar(quoted: boolean): WordPart {
    const rest = this.#text.slice(this.#at);
    if (rest.startsWith("$((")) {
      const end = rest.indexOf("))");
      if (end < 0) throw new SyntaxProblem("unterminated $((", { unfinished: true });
      this.#at += end + 2;
      return { kind: "arithmetic", expression: rest.slice(3, end), quoted };
    }
    if (rest.startsWith("$(")) {
      this.#at += 2;
      return { kind: "substitution", script: this.#balanced("(", ")"), quoted };
    }
    if (rest.startsWith("${")) {
      this.#at += 2;
      const inside = this.#balanced("{", "}");
      const match = /^([A-Za-z_]\w*|[?#$!@*0-9])(?::?-([^]*))?$/.exec(inside);
      if (!match) throw new SyntaxProblem(`bad substitution: \${${inside}}`);
      const [, name = "", fallback] = match;
      return { kind: "variable", name, fallback: fallback === undefined ? undefined : expandable(fallback), quoted };
    }
    const name = /^\$([A-Za-z_]\w*|[?#$!@*0-9])/.exec(rest)?.[1];
    this.#at += 1 + (name?.length ?? 0);
    return name === undefined ? { kind: "text", text: "$", quoted } : { kind: "variable", name, fallback: undefined, quoted };
  }

  /** Text up to the closing delimiter that matches the opening one before it. */
  #balanced(open: string, close: string): string {
    const start = this.#at;
    for (let depth = 1; this.#at < this.#text.length; this.#at++) {
      const char = this.#text[this.#at];
      if (char === "'") this.#at += this.#text.slice(this.#at + 1).indexOf("'") + 1;
      else if (char === open) depth++;
      else if (char === close && --depth === 0) return this.#text.slice(start, this.#at++);
    }
    throw new SyntaxProblem(`unterminated $${open}`, { unfinished: true });
  }

  #until(quote: string): string {
    const end = this.#text.indexOf(quote, this.#at + 1);
    if (end < 0) throw new SyntaxProblem(`unterminated ${quote}`, { unfinished: true });
    const text = this.#text.slice(this.#at + 1, end);
    this.#at = end + 1;
    return text;
  }

  #skipBlanks(): boolean {
    for (;;) {
      const blank = /^(?:[ \t\r]+|\\\n|#[^\n]*)/.exec(this.#text.slice(this.#at, this.#at + 4096))?.[0];
      if (blank === undefined) return this.#at < this.#text.length;
      this.#at += blank.length;
    }
  }

  #operator(): string | undefined {
    if (this.#text[this.#at] === "\n") {
      this.#at++;
      return ";";
    }
    const found = operators.find((operator) => this.#text.startsWith(operator, this.#at));
    this.#at += found?.length ?? 0;
    return found;
  }
}
