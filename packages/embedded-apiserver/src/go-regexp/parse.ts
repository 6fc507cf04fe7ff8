import {
  classTest,
  literalTest,
  perlClass,
  posixClass,
  rangePart,
  unicodeClass,
  type CharacterTest,
  type ClassPart,
} from "./character-test.ts";
import { GoRegExpError, parseEscape } from "./parse-escape.ts";

/** A place between two characters. */
export type Place = "text-start" | "text-end" | "line-start" | "line-end" | "word-boundary" | "no-word-boundary";

/** Part of a regular expression. */
export type Node =
  | { readonly kind: "character"; readonly test: CharacterTest }
  | { readonly kind: "place"; readonly place: Place }
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly Node[] }
  /** @property max - `undefined` for no limit */
  | { readonly kind: "repeat"; readonly part: Node; readonly min: number; readonly max: number | undefined; readonly isGreedy: boolean };

interface Flags {
  readonly i: boolean;
  readonly m: boolean;
  readonly s: boolean;
  readonly U: boolean;
}

/** A group that is open. */
interface Frame {
  readonly choices: Node[];
  items: Node[];
  /** Flags after the group. */
  readonly flags: Flags;
}

const maxDepth = 1000;
const maxRepeat = 1000;

/**
 * Parses a regular expression in the syntax of Go.
 *
 * Source: Go 1.26 regexp/syntax/parse.go, with the flags `Perl`.
 *
 * @throws GoRegExpError in Go's words
 */
export function parseGoRegExp(pattern: string): Node {
  return new Parser(pattern).parse();
}

class Parser {
  readonly #pattern: string;
  #at = 0;
  #flags: Flags = { i: false, m: false, s: false, U: false };
  readonly #frames: Frame[] = [];
  /** Copies of a part that repetitions make of what is inside. */
  readonly #copies = new Map<Node, number>();

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  parse(): Node {
    this.#open();
    let lastRepeat: number | undefined;
    while (this.#at < this.#pattern.length) {
      const start = this.#at;
      lastRepeat = this.#part(lastRepeat) ? start : undefined;
    }
    if (this.#frames.length > 1) throw new GoRegExpError("missing closing )", this.#pattern);
    return this.#close();
  }

  get #top(): Frame {
    return this.#frames.at(-1) as Frame;
  }

  #open(flags = this.#flags): void {
    if (this.#frames.length > maxDepth) throw new GoRegExpError("expression nests too deeply", this.#pattern);
    this.#frames.push({ choices: [], items: [], flags });
  }

  #close(): Node {
    const { choices, items, flags } = this.#frames.pop() as Frame;
    this.#flags = flags;
    const last = this.#combine("sequence", items);
    return choices.length === 0 ? last : this.#combine("choice", [...choices, last]);
  }

  #combine(kind: "sequence" | "choice", parts: readonly Node[]): Node {
    const [only] = parts;
    if (parts.length === 1 && only !== undefined) return only;
    const node: Node = { kind, parts };
    let copies = 1;
    for (const part of parts) copies = Math.max(copies, this.#copiesOf(part));
    this.#copies.set(node, copies);
    return node;
  }

  #copiesOf(node: Node): number {
    return this.#copies.get(node) ?? 1;
  }

  #push(node: Node): void {
    this.#top.items.push(node);
  }

  #place(place: Place, length = 1): void {
    this.#at += length;
    this.#push({ kind: "place", place });
  }

  #literal(codePoint: number): void {
    this.#push({ kind: "character", test: literalTest(codePoint, this.#flags.i) });
  }

  #class(parts: readonly ClassPart[], isNegated = false): void {
    this.#push({ kind: "character", test: classTest(parts, isNegated, this.#flags.i) });
  }

  /** Parses one part. @returns whether it was a repetition */
  #part(lastRepeat: number | undefined): boolean {
    const character = this.#pattern[this.#at];
    const { m, s } = this.#flags;
    switch (character) {
      case "(":
        this.#group();
        return false;
      case "|":
        this.#at++;
        this.#top.choices.push(this.#combine("sequence", this.#top.items));
        this.#top.items = [];
        return false;
      case ")": {
        if (this.#frames.length === 1) throw new GoRegExpError("unexpected )", this.#pattern);
        this.#at++;
        const group = this.#close();
        this.#push(group);
        return false;
      }
      case "^":
        this.#place(m ? "line-start" : "text-start");
        return false;
      case "$":
        this.#place(m ? "line-end" : "text-end");
        return false;
      case ".":
        this.#at++;
        this.#push({ kind: "character", test: s ? () => true : (codePoint) => codePoint !== 10 });
        return false;
      case "[":
        this.#characterClass();
        return false;
      case "*":
      case "+":
      case "?":
        this.#repeat(1, character === "+" ? 1 : 0, character === "?" ? 1 : undefined, lastRepeat);
        return true;
      case "{":
        return this.#counted(lastRepeat);
      case "\\":
        this.#escape();
        return false;
      default:
        this.#codePoint();
        return false;
    }
  }

  #codePoint(): void {
    const codePoint = this.#pattern.codePointAt(this.#at) ?? 0;
    this.#at += codePoint > 0xff_ff ? 2 : 1;
    this.#literal(codePoint);
  }

  #counted(lastRepeat: number | undefined): boolean {
    const [text, low, comma, high] = /^\{(0|[1-9]\d*)(,(0|[1-9]\d*)?)?\}/.exec(this.#pattern.slice(this.#at)) ?? [];
    if (text === undefined) {
      this.#codePoint();
      return false;
    }
    const min = Number(low);
    const noComma = comma === undefined ? min : undefined;
    const max = high === undefined ? noComma : Number(high);
    if (min > maxRepeat || (max !== undefined && (max > maxRepeat || min > max))) throw new GoRegExpError("invalid repeat count", text);
    this.#repeat(text.length, min, max, lastRepeat);
    return true;
  }

  #repeat(length: number, min: number, max: number | undefined, lastRepeat: number | undefined): void {
    const start = this.#at;
    this.#at += length;
    let isGreedy = !this.#flags.U;
    if (this.#pattern[this.#at] === "?") {
      this.#at++;
      isGreedy = !isGreedy;
    }
    if (lastRepeat !== undefined) throw new GoRegExpError("invalid nested repetition operator", this.#pattern.slice(lastRepeat, this.#at));
    const text = this.#pattern.slice(start, this.#at);
    const part = this.#top.items.pop();
    if (part === undefined) throw new GoRegExpError("missing argument to repetition operator", text);
    const node: Node = { kind: "repeat", part, min, max, isGreedy };
    const copies = max === 0 ? 1 : Math.max(max ?? min, 1) * this.#copiesOf(part);
    if (length > 1 && copies > maxRepeat) throw new GoRegExpError("invalid repeat count", text);
    this.#copies.set(node, copies);
    this.#push(node);
  }

  #group(): void {
    const rest = this.#pattern.slice(this.#at);
    if (!rest.startsWith("(?")) {
      this.#at++;
      this.#open();
      return;
    }
    if (/^\(\?P?<[^]/.test(rest)) {
      const end = rest.indexOf(">");
      const capture = end === -1 ? rest : rest.slice(0, end + 1);
      if (!/^\(\?P?<\w+>$/.test(capture)) throw new GoRegExpError("invalid named capture", capture);
      this.#at += capture.length;
      this.#open();
      return;
    }
    const [text = "", on = "", off, end] = /^\(\?([imsU]*)(?:-([imsU]+))?([:)])?/.exec(rest) ?? [];
    if (end === undefined) {
      const tail = /^\(\?[imsU]*(?:-[imsU]*)?[^]?/u.exec(rest)?.[0] ?? text;
      throw tail === rest && /[imsU?-]$/.test(rest)
        ? new GoRegExpError("missing closing )", this.#pattern)
        : new GoRegExpError("invalid or unsupported Perl syntax", tail);
    }
    this.#at += text.length;
    const before = this.#flags;
    const flags = { ...before };
    for (const letter of on) flags[letter as keyof Flags] = true;
    for (const letter of off ?? "") flags[letter as keyof Flags] = false;
    if (end === ":") this.#open(before);
    this.#flags = flags;
  }

  #escape(): void {
    const next = this.#pattern[this.#at + 1];
    switch (next) {
      case "A":
        return this.#place("text-start", 2);
      case "z":
        return this.#place("text-end", 2);
      case "b":
        return this.#place("word-boundary", 2);
      case "B":
        return this.#place("no-word-boundary", 2);
      case "Q": {
        const end = this.#pattern.indexOf("\\E", this.#at + 2);
        const quoted = this.#pattern.slice(this.#at + 2, end === -1 ? undefined : end);
        this.#at = end === -1 ? this.#pattern.length : end + 2;
        for (const character of quoted) this.#literal(character.codePointAt(0) ?? 0);
        return;
      }
      default: {
        const part = this.#escapedClass();
        if (part === undefined) this.#literal(this.#escapedCharacter());
        else this.#class([part]);
      }
    }
  }

  #escapedCharacter(): number {
    const { codePoint, length } = parseEscape(this.#pattern.slice(this.#at));
    this.#at += length;
    return codePoint;
  }

  /** A class such as `\d` or `\p{L}`; `undefined` if there is none here. */
  #escapedClass(): ClassPart | undefined {
    const rest = this.#pattern.slice(this.#at);
    if (!rest.startsWith("\\")) return undefined;
    const perl = perlClass(rest[1] ?? "");
    if (perl !== undefined) {
      this.#at += 2;
      return perl;
    }
    if (!/^\\[pP][^]/.test(rest)) return undefined;
    const [text = rest, sign, braced, single = ""] = /^\\([pP])(?:\{([^}]*)\}|([^{]))/u.exec(rest) ?? [];
    const name = braced ?? single;
    const part = unicodeClass(name.replace(/^\^/, ""), (sign === "P") !== name.startsWith("^"));
    if (part === undefined) throw new GoRegExpError("invalid character class range", text);
    this.#at += text.length;
    return part;
  }

  #characterClass(): void {
    const start = this.#at;
    this.#at++;
    const isNegated = this.#pattern[this.#at] === "^";
    if (isNegated) this.#at++;
    const parts: ClassPart[] = [];
    for (let isFirst = true; isFirst || this.#pattern[this.#at] !== "]"; isFirst = false) parts.push(this.#classPart(start));
    this.#at++;
    this.#class(parts, isNegated);
  }

  #classPart(classStart: number): ClassPart {
    const [text, name = ""] = /^\[:([^]*?):\]/.exec(this.#pattern.slice(this.#at)) ?? [];
    if (text !== undefined) {
      const part = posixClass(name);
      if (part === undefined) throw new GoRegExpError("invalid character class range", text);
      this.#at += text.length;
      return part;
    }
    const part = this.#escapedClass();
    if (part !== undefined) return part;
    const start = this.#at;
    const low = this.#classCharacter(classStart);
    let high = low;
    if (this.#pattern[this.#at] === "-" && this.#at + 1 < this.#pattern.length && this.#pattern[this.#at + 1] !== "]") {
      this.#at++;
      high = this.#classCharacter(classStart);
      if (high < low) throw new GoRegExpError("invalid character class range", this.#pattern.slice(start, this.#at));
    }
    return rangePart(low, high);
  }

  #classCharacter(classStart: number): number {
    const codePoint = this.#pattern.codePointAt(this.#at);
    if (codePoint === undefined) throw new GoRegExpError("missing closing ]", this.#pattern.slice(classStart));
    if (codePoint === 0x5c) return this.#escapedCharacter();
    this.#at += codePoint > 0xff_ff ? 2 : 1;
    return codePoint;
  }
}
