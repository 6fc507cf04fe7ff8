import { parseGoRegExp, type Node, type Place } from "./parse.ts";
import { GoRegExpError } from "./parse-escape.ts";
import type { CharacterTest } from "./character-test.ts";

/** Compiled expressions; schemas and rules use the same few again and again. */
const compiled = new Map<string, GoRegExp>();
const maxCompiled = 1000;
/** Largest program, as in Go. Source: Go 1.26 regexp/syntax/parse.go, `maxSize`. */
const maxInstructions = (128 * 2 ** 20) / 40;

/** The next instructions are indexes. Of two, the first is preferred. */
type Instruction =
  | { readonly kind: "character"; readonly test: CharacterTest; readonly next: number }
  | { readonly kind: "place"; readonly place: Place; readonly next: number }
  | { readonly kind: "either"; readonly first: number; readonly second: number }
  | { readonly kind: "match" };

/**
 * Compiles a regular expression of Go.
 *
 * @throws GoRegExpError in Go's words
 */
export function compileGoRegExp(pattern: string): GoRegExp {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const made = new GoRegExp(pattern);
  if (compiled.size >= maxCompiled) compiled.clear();
  compiled.set(pattern, made);
  return made;
}

/** Go's error for a pattern that does not compile, such as "error parsing regexp: unexpected ): `)`"; `undefined` if it does. */
export function goRegExpProblem(pattern: string): string | undefined {
  try {
    compileGoRegExp(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof GoRegExpError) return error.message;
    throw error;
  }
}

/**
 * A regular expression with the syntax and the running time of Go's: the time grows with the length of the text times the length of the
 * expression, where JavaScript's own expressions can take exponential time and block the server.
 *
 * Source: Go 1.26 regexp, and "Regular Expression Matching: the Virtual Machine Approach", https://swtch.com/~rsc/regexp/regexp2.html.
 */
export class GoRegExp {
  readonly #instructions: Instruction[] = [{ kind: "match" }];
  readonly #start: number;

  /** @throws GoRegExpError in Go's words */
  constructor(pattern: string) {
    this.#start = this.#compile(parseGoRegExp(pattern), 0, pattern);
  }

  /** Whether the expression matches somewhere in the text. */
  test(text: string): boolean {
    return this.#find(text, 0, true) !== undefined;
  }

  /** First match; `undefined` if there is none. */
  find(text: string): string | undefined {
    const found = this.#find(text, 0, false);
    return found === undefined ? undefined : text.slice(...found);
  }

  /** Matches that do not overlap. An empty match directly after another is left out, as in Go's `FindAllString`. */
  findAll(text: string, limit: number = Number.POSITIVE_INFINITY): string[] {
    const all: string[] = [];
    let previousEnd = -1;
    for (let at = 0; at <= text.length && all.length < limit;) {
      const found = this.#find(text, at, false);
      if (found === undefined) break;
      const [start, end] = found;
      if (start !== end || start !== previousEnd) all.push(text.slice(start, end));
      previousEnd = end;
      at = end > at ? end : at + Math.max(1, widthAt(text, at));
    }
    return all;
  }

  #add(instruction: Instruction, pattern: string): number {
    if (this.#instructions.length > maxInstructions) throw new GoRegExpError("expression too large", pattern);
    return this.#instructions.push(instruction) - 1;
  }

  /** Adds the instructions of a part in front of those at `next`. @returns where they start */
  #compile(node: Node, next: number, pattern: string): number {
    switch (node.kind) {
      case "character":
        return this.#add({ kind: "character", test: node.test, next }, pattern);
      case "place":
        return this.#add({ kind: "place", place: node.place, next }, pattern);
      case "sequence":
        return node.parts.reduceRight((after, part) => this.#compile(part, after, pattern), next);
      case "choice": {
        const starts = node.parts.map((part) => this.#compile(part, next, pattern));
        return starts.reduceRight((second, first) => this.#add({ kind: "either", first, second }, pattern));
      }
      case "repeat":
        return this.#compileRepeat(node, next, pattern);
    }
  }

  #compileRepeat({ part, min, max, isGreedy }: Node & { readonly kind: "repeat" }, next: number, pattern: string): number {
    const either = (inside: number, after: number): Instruction =>
      isGreedy ? { kind: "either", first: inside, second: after } : { kind: "either", first: after, second: inside };
    let start = next;
    if (max === undefined) {
      // A loop is entered at its end or, if at least one is needed, at its start.
      const loop = this.#add({ kind: "match" }, pattern);
      const inside = this.#compile(part, loop, pattern);
      this.#instructions[loop] = either(inside, next);
      if (min > 0) start = inside;
      // What can be empty is tried before it is left out, as in `(?:x+)?`.
      else start = this.#add(either(inside, next), pattern);
    } else {
      for (let count = min; count < max; count++) start = this.#add(either(this.#compile(part, start, pattern), next), pattern);
    }
    const rest = max === undefined ? min - 1 : min;
    for (let count = 0; count < rest; count++) start = this.#compile(part, start, pattern);
    return start;
  }

  /** Start and end of the leftmost match at or after an offset. @param isAny - whether any match will do */
  #find(text: string, from: number, isAny: boolean): readonly [number, number] | undefined {
    let threads: Thread[] = [];
    let found: readonly [number, number] | undefined;
    for (let at = from, seen = new Set<number>(); ;) {
      if (found === undefined) this.#follow(threads, seen, { index: this.#start, start: at }, text, at);
      if (threads.length === 0 && found !== undefined) return found;
      const codePoint = text.codePointAt(at);
      const width = widthAt(text, at);
      const following: Thread[] = [];
      seen = new Set();
      for (const { instruction, start } of threads) {
        if (instruction.kind === "match") {
          found = [start, at];
          if (isAny) return found;
          // Later threads are less preferred.
          break;
        }
        if (codePoint !== undefined && instruction.test(codePoint))
          this.#follow(following, seen, { index: instruction.next, start }, text, at + width);
      }
      if (codePoint === undefined) return found;
      threads = following;
      at += width;
    }
  }

  /** Adds the threads that go on at an instruction, in the order of preference. */
  #follow(threads: Thread[], seen: Set<number>, from: { readonly index: number; readonly start: number }, text: string, at: number): void {
    const stack = [from.index];
    const { start } = from;
    for (let index = stack.pop(); index !== undefined; index = stack.pop()) {
      if (seen.has(index)) continue;
      seen.add(index);
      const instruction = this.#instructions[index] as Instruction;
      if (instruction.kind === "either") stack.push(instruction.second, instruction.first);
      else if (instruction.kind !== "place") threads.push({ instruction, start });
      else if (isAtPlace(instruction.place, text, at)) stack.push(instruction.next);
    }
  }
}

interface Thread {
  readonly instruction: Exclude<Instruction, { readonly kind: "place" | "either" }>;
  readonly start: number;
}

function widthAt(text: string, at: number): number {
  const codePoint = text.codePointAt(at);
  if (codePoint === undefined) return 0;
  return codePoint > 0xff_ff ? 2 : 1;
}

function isAtPlace(place: Place, text: string, at: number): boolean {
  switch (place) {
    case "text-start":
      return at === 0;
    case "text-end":
      return at === text.length;
    case "line-start":
      return at === 0 || text[at - 1] === "\n";
    case "line-end":
      return at === text.length || text[at] === "\n";
    case "word-boundary":
      return isWord(text[at - 1]) !== isWord(text[at]);
    case "no-word-boundary":
      return isWord(text[at - 1]) === isWord(text[at]);
  }
}

function isWord(character: string | undefined): boolean {
  return character !== undefined && /^\w$/.test(character);
}
