/**
 * What the parser's grammar lacks, written with what it has: `[?a]` and `{?k: v}` become `[!a]` and `{!k: v}`, and `Type{f: v}` becomes
 * `Type({"f": v})`: fields of messages may have the names of reserved words.
 */
export interface RewrittenSource {
  /** Source for the parser. */
  readonly text: string;
  /** Offset in the original source, by offset in `text`. */
  readonly originalOffset: (offset: number) => number;
  /** Offsets in `text` of the exclamation marks that were question marks. */
  readonly optionalMarks: ReadonlySet<number>;
  /** Offsets in `text` of the parentheses that were added in front of a message's fields. */
  readonly structMarks: ReadonlySet<number>;
  /** Offsets in `text` of the quotation marks that were added in front of a field's name. */
  readonly fieldMarks: ReadonlySet<number>;
}

/** A string with its prefix, a comment, a name, or one other character. */
const token = /(?:[rR]?[bB]?[rR]?)(?:"""[^]*?"""|'''[^]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\/\/[^\n]*|[A-Za-z_]\w*|\s+|[^]/gy;

/** Rewrites a CEL expression. Most need no change and are returned as they are. */
export function rewriteSource(source: string): RewrittenSource {
  if (!/[[{,]\s*\?|\w\s*\{/.test(source))
    return { text: source, originalOffset: (offset) => offset, optionalMarks: new Set(), structMarks: new Set(), fieldMarks: new Set() };
  const rewriter = new Rewriter();
  for (const [part] of source.matchAll(token)) rewriter.add(part);
  return rewriter.result();
}

class Rewriter {
  #text = "";
  #previous = "";
  /** Offsets of the characters that were added. */
  readonly #added: number[] = [];
  readonly #optionalMarks = new Set<number>();
  readonly #structMarks = new Set<number>();
  readonly #fieldMarks = new Set<number>();
  readonly #open: ("aggregate" | "struct" | "other")[] = [];

  add(part: string): void {
    if (/^(\s|\/\/)/.test(part)) {
      this.#text += part;
      return;
    }
    if (part === "?" && this.#isAtElement()) this.#mark();
    else if (isName(part) && this.#isAtField()) this.#quote(part);
    else if (part === "{" && isName(this.#previous) && this.#previous !== "in") this.#openStruct();
    else if (part === "}" && this.#open.at(-1) === "struct") this.#closeStruct();
    else this.#keep(part);
    this.#previous = part;
  }

  result(): RewrittenSource {
    const added = this.#added;
    return {
      text: this.#text,
      optionalMarks: this.#optionalMarks,
      structMarks: this.#structMarks,
      fieldMarks: this.#fieldMarks,
      originalOffset: (offset) => offset - added.filter((at) => at < offset).length,
    };
  }

  /** Whether an element of a list, or an entry of a map or message, can start here. */
  #isAtElement(): boolean {
    const innermost = this.#open.at(-1);
    return (innermost === "aggregate" || innermost === "struct") && ["[", "{", ","].includes(this.#previous);
  }

  /** Whether the name of a message's field can start here. */
  #isAtField(): boolean {
    return this.#open.at(-1) === "struct" && (["{", ","].includes(this.#previous) || this.#isOptionalField);
  }

  get #isOptionalField(): boolean {
    return this.#previous === "?" && this.#optionalMarks.has(this.#text.trimEnd().length - 1);
  }

  #quote(name: string): void {
    this.#fieldMarks.add(this.#text.length);
    this.#added.push(this.#text.length, this.#text.length + name.length + 1);
    this.#text += `"${name}"`;
  }

  #mark(): void {
    this.#optionalMarks.add(this.#text.length);
    this.#text += "!";
  }

  #openStruct(): void {
    this.#structMarks.add(this.#text.length);
    this.#added.push(this.#text.length);
    this.#text += "({";
    this.#open.push("struct");
  }

  #closeStruct(): void {
    this.#added.push(this.#text.length + 1);
    this.#text += "})";
    this.#open.pop();
  }

  #keep(part: string): void {
    const isIndex = part === "[" && /[\w)\]]$/.test(this.#previous);
    if (part === "{" || (part === "[" && !isIndex)) this.#open.push("aggregate");
    else if (part === "(" || isIndex) this.#open.push("other");
    else if (part === "]" || part === "}" || part === ")") this.#open.pop();
    this.#text += part;
  }
}

function isName(part: string): boolean {
  return /^[A-Za-z_]\w*$/.test(part);
}
