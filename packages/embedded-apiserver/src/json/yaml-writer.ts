import { isReadAsText } from "./yaml-plain.ts";
import { isJsonObject } from "./json-value.ts";
import { byNaturalOrder, goFloat } from "./yaml-order.ts";

/** Columns after which a text is continued on the next line. */
const bestWidth = 80;
const indentStep = 2;
/** UTF-8 bytes of the longest key that is written before its colon. */
const maxSimpleKeyBytes = 128;

/**
 * Writes a value as sigs.k8s.io/yaml does.
 *
 * Source: go.yaml.in/yaml/v2 v2.4.3 encode.go and emitterc.go.
 *
 * @param value - JSON
 */
export function writeYaml(value: unknown): string {
  const writer = new YamlWriter();
  writer.node(value, { indent: 0, isInMapping: false, isRoot: true });
  return writer.end();
}

interface Place {
  readonly indent: number;
  /** Whether the value belongs to a key, so that a list is not indented. */
  readonly isInMapping: boolean;
  readonly isRoot?: boolean;
}

type Style = "plain" | "single" | "double" | "literal";

class YamlWriter {
  #text = "";
  #column = 0;
  /** Whether the last character was a space or an indicator that needs none after it. */
  #isSpace = true;
  /** Whether only indentation and indicators are on the line. */
  #isIndentation = true;
  #isOpenEnded = false;

  node(value: unknown, place: Place): void {
    if (Array.isArray(value)) this.#list(value, place);
    else if (isJsonObject(value)) this.#map(value, place);
    else this.#scalar(value, place);
  }

  end(): string {
    this.#startLine(0);
    return this.#isOpenEnded ? `${this.#text}...\n` : this.#text;
  }

  #list(items: readonly unknown[], { indent, isInMapping, isRoot }: Place): void {
    if (items.length === 0) return this.#empty("[", "]");
    const inner = isRoot === true || (isInMapping && !this.#isIndentation) ? indent : indent + indentStep;
    for (const item of items) {
      this.#startLine(inner);
      this.#indicator("-", { needsSpace: true, isIndentation: true });
      this.node(item, { indent: inner, isInMapping: false });
    }
  }

  #map(map: Readonly<Record<string, unknown>>, { indent, isRoot }: Place): void {
    const entries = Object.entries(map);
    if (entries.length === 0) return this.#empty("{", "}");
    const inner = isRoot === true ? indent : indent + indentStep;
    for (const [key, value] of entries.toSorted(([a], [b]) => byNaturalOrder(a, b))) {
      this.#startLine(inner);
      const isSimple = !/[\n\r\u0085\u2028\u2029]/.test(key) && Buffer.byteLength(key) <= maxSimpleKeyBytes;
      if (!isSimple) this.#indicator("?", { needsSpace: true, isIndentation: true });
      this.#string(key, { indent: inner, isKey: isSimple });
      if (!isSimple) this.#startLine(inner);
      this.#indicator(":", { needsSpace: !isSimple, isIndentation: !isSimple });
      this.node(value, { indent: inner, isInMapping: true });
    }
  }

  #empty(open: string, close: string): void {
    this.#indicator(open, { needsSpace: true, isIndentation: false });
    this.#indicator(close, { needsSpace: false, isIndentation: false });
  }

  #scalar(value: unknown, { indent }: Place): void {
    if (typeof value === "string") this.#string(value, { indent, isKey: false });
    else this.#plain(typeof value === "number" ? goFloat(value) : String(value), { indent, isKey: false });
  }

  #string(text: string, place: StringPlace): void {
    switch (styleOf(text, place.isKey)) {
      case "plain":
        return this.#plain(text, place);
      case "single":
        return this.#singleQuoted(text, place);
      case "double":
        return this.#doubleQuoted(text, place);
      case "literal":
        return this.#literal(text, place);
    }
  }

  #plain(text: string, place: StringPlace): void {
    if (!this.#isSpace) this.#put(" ");
    this.#folded(Array.from(text), place, (character) => character);
    this.#closeScalar();
  }

  #singleQuoted(text: string, place: StringPlace): void {
    this.#indicator("'", { needsSpace: true, isIndentation: false });
    const characters = Array.from(text);
    this.#folded(characters, { ...place, last: characters.length - 1 }, (character) => (character === "'" ? "''" : character));
    this.#indicator("'", { needsSpace: false, isIndentation: false });
    this.#closeScalar();
  }

  /** Writes characters and starts a new line at a single space after the best width. */
  #folded(
    characters: readonly string[],
    { indent, isKey, last = characters.length }: StringPlace & { readonly last?: number },
    write: (character: string) => string,
  ): void {
    let [spaces, breaks] = [false, false];
    for (const [at, character] of characters.entries()) {
      if (character === " ") {
        const mayBreak =
          !isKey && !spaces && this.#column > bestWidth && characters[at + 1] !== " " && (at > 0 || last === characters.length);
        if (mayBreak && at < last) this.#startLine(scalarIndent(indent));
        else this.#put(character);
        spaces = true;
      } else if (isBreak(character)) {
        if (!breaks && character === "\n") this.#break();
        this.#writeBreak(character);
        this.#isIndentation = true;
        breaks = true;
      } else {
        if (breaks) this.#startLine(scalarIndent(indent));
        this.#put(write(character));
        this.#isIndentation = false;
        [spaces, breaks] = [false, false];
      }
    }
  }

  #doubleQuoted(text: string, { indent, isKey }: StringPlace): void {
    this.#indicator('"', { needsSpace: true, isIndentation: false });
    const characters = Array.from(text);
    // Go's library takes each character of such a text for a byte order mark.
    const startsWithMark = text.startsWith("\ufeff");
    let spaces = false;
    for (const [at, character] of characters.entries()) {
      if (character === " " && !startsWithMark) {
        if (!isKey && !spaces && this.#column > bestWidth && at > 0 && at < characters.length - 1) {
          this.#startLine(scalarIndent(indent));
          if (characters[at + 1] === " ") this.#put("\\");
        } else this.#put(character);
        spaces = true;
      } else {
        this.#put(isEscaped(character) || startsWithMark ? escaped(character) : character);
        spaces = false;
      }
    }
    this.#indicator('"', { needsSpace: false, isIndentation: false });
    this.#closeScalar();
  }

  #literal(text: string, { indent }: StringPlace): void {
    const characters = Array.from(text);
    this.#indicator("|", { needsSpace: true, isIndentation: false });
    const first = characters[0] ?? "";
    if (first === " " || isBreak(first)) this.#indicator(String(indentStep), { needsSpace: false, isIndentation: false });
    this.#isOpenEnded = false;
    const [beforeLast, last = ""] = [characters.at(-2), characters.at(-1)];
    if (!isBreak(last)) this.#indicator("-", { needsSpace: false, isIndentation: false });
    else if (beforeLast === undefined || isBreak(beforeLast)) {
      this.#indicator("+", { needsSpace: false, isIndentation: false });
      // The indicator resets it, as in Go.
      this.#isOpenEnded = false;
    }
    this.#break();
    this.#isIndentation = true;
    this.#isSpace = true;
    let breaks = true;
    for (const character of characters) {
      if (isBreak(character)) {
        this.#writeBreak(character);
        this.#isIndentation = true;
        breaks = true;
      } else {
        if (breaks) this.#startLine(scalarIndent(indent));
        this.#put(character);
        this.#isIndentation = false;
        breaks = false;
      }
    }
  }

  #closeScalar(): void {
    this.#isSpace = false;
    this.#isIndentation = false;
  }

  #indicator(text: string, { needsSpace, isIndentation }: { readonly needsSpace: boolean; readonly isIndentation: boolean }): void {
    if (needsSpace && !this.#isSpace) this.#put(" ");
    this.#put(text);
    this.#isSpace = false;
    this.#isIndentation &&= isIndentation;
    this.#isOpenEnded = false;
  }

  #startLine(indent: number): void {
    if (!this.#isIndentation || this.#column > indent || (this.#column === indent && !this.#isSpace)) this.#break();
    if (this.#column < indent) this.#put(" ".repeat(indent - this.#column));
    this.#isSpace = true;
    this.#isIndentation = true;
  }

  #put(text: string): void {
    this.#text += text;
    this.#column += text.length === 1 ? 1 : Array.from(text).length;
  }

  #writeBreak(character: string): void {
    if (character === "\n") this.#break();
    else {
      this.#text += character;
      this.#column = 0;
    }
  }

  #break(): void {
    this.#text += "\n";
    this.#column = 0;
  }
}

interface StringPlace {
  readonly indent: number;
  readonly isKey: boolean;
}

/** Indentation of the further lines of a scalar in a collection. */
function scalarIndent(indent: number): number {
  return indent + indentStep;
}

function styleOf(text: string, isKey: boolean): Style {
  const { isMultiline, allowsPlain, allowsSingle, allowsLiteral } = analyzed(text);
  if (text.includes("\n")) return allowsLiteral && !isKey ? "literal" : "double";
  if (!isReadAsText(text) || (isKey && isMultiline)) return "double";
  if (allowsPlain && text !== "") return "plain";
  return allowsSingle ? "single" : "double";
}

/** Source: emitterc.go, `yaml_emitter_analyze_scalar`, for block context. */
function analyzed(text: string): Readonly<Record<"isMultiline" | "allowsPlain" | "allowsSingle" | "allowsLiteral", boolean>> {
  const isMultiline = /[\n\r\u0085\u2028\u2029]/.test(text);
  const isSpecial = Array.from(text).some((character) => !isPrintable(character)) || / [\n\r\u0085\u2028\u2029]/.test(text);
  const hasBreakSpace = /[\n\r\u0085\u2028\u2029] /.test(text);
  const hasIndicators = /^(---|\.\.\.|[#,[\]{}&*!|>'"%@`]|[?:-](?:[ \t]|$))|:(?:[ \t]|$)|[ \t\n\r\u0085\u2028\u2029]#/.test(text);
  return {
    isMultiline,
    allowsPlain: !isMultiline && !isSpecial && !hasIndicators && !text.startsWith(" ") && !text.endsWith(" "),
    allowsSingle: !isSpecial && !hasBreakSpace,
    allowsLiteral: !isSpecial && !text.endsWith(" "),
  };
}

function isBreak(character: string): boolean {
  return character === "\n" || character === "\r" || character === "\u0085" || character === "\u2028" || character === "\u2029";
}

/** Whether a character of a text in double quotes is escaped. */
function isEscaped(character: string): boolean {
  return !isPrintable(character) || isBreak(character) || character === '"' || character === "\\";
}

function isPrintable(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0xa0) return code === 0x0a || (code >= 0x20 && code <= 0x7e);
  return code <= 0xfffd && code !== 0xfeff && !(code >= 0xd800 && code <= 0xdfff);
}

const escapes: Readonly<Record<string, string>> = {
  "\0": "0",
  "\u0007": "a",
  "\b": "b",
  "\t": "t",
  "\n": "n",
  "\v": "v",
  "\f": "f",
  "\r": "r",
  "\u001b": "e",
  '"': '"',
  "\\": "\\",
  "\u0085": "N",
  "\u00a0": "_",
  "\u2028": "L",
  "\u2029": "P",
};

function escaped(character: string): string {
  const short = escapes[character];
  if (short !== undefined) return `\\${short}`;
  const code = character.codePointAt(0) ?? 0;
  const [mark, digits]: readonly [string, number] = code <= 0xff ? ["x", 2] : code <= 0xffff ? ["u", 4] : ["U", 8];
  return `\\${mark}${code.toString(16).toUpperCase().padStart(digits, "0")}`;
}
