/** Value of an expression in a workflow. */
export type ExpressionValue = string | number | boolean | null | { readonly [name: string]: ExpressionValue };

/** Contexts and functions available to expressions. */
export interface ExpressionScope {
  /** `github`, `matrix`, `needs`, `steps` and the like, by name. */
  readonly contexts: Readonly<Record<string, ExpressionValue>>;
  /** Such as `hashFiles`, by name. */
  readonly functions: Readonly<Record<string, (...args: readonly ExpressionValue[]) => ExpressionValue>>;
}

/**
 * Value of an expression as it stands between `${{` and `}}` in a GitHub workflow.
 *
 * @throws SyntaxError if it is none, or names a context or function that the scope does not have
 */
export function evaluateExpression(text: string, scope: ExpressionScope): ExpressionValue {
  const parser = new Parser(text, scope);
  const value = parser.parseOr();
  parser.expectEnd();
  return value;
}

/** The text with each `${{ … }}` replaced by its value. @throws SyntaxError as {@link evaluateExpression} */
export function renderTemplate(text: string, scope: ExpressionScope): string {
  return text.replace(/\$\{\{([\s\S]*?)\}\}/g, (_, expression: string) => textOf(evaluateExpression(expression, scope)));
}

/** Whether a step or job with this `if` runs; without a status function in it, only after success. */
export function evaluateCondition(condition: string | undefined, hasSucceeded: boolean, scope: ExpressionScope): boolean {
  const status = {
    success: () => hasSucceeded,
    failure: () => !hasSucceeded,
    always: () => true,
    cancelled: () => false,
  };
  const expression = (condition ?? "success()").replace(/^\s*\$\{\{([\s\S]*)\}\}\s*$/, "$1");
  const isStatusAsked = /\b(success|failure|always|cancelled)\s*\(/.test(expression);
  if (!isStatusAsked && !hasSucceeded) return false;
  return isTrue(evaluateExpression(expression, { ...scope, functions: { ...scope.functions, ...status } }));
}

/** A value as text, as in a template. */
export function textOf(value: ExpressionValue): string {
  if (value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function isTrue(value: ExpressionValue): boolean {
  return value !== null && value !== false && value !== 0 && value !== "" && !Number.isNaN(value);
}

const tokens = /\s*(?:(?<text>'(?:[^']|'')*')|(?<number>-?\d+(?:\.\d+)?)|(?<name>[A-Za-z_][\w-]*)|(?<sign>&&|\|\||[=!<>]=|[!<>().,[\]]))/y;

type Token = { readonly kind: "text" | "number" | "name" | "sign" | "end"; readonly text: string };

class Parser {
  readonly #source: string;
  readonly #scope: ExpressionScope;
  #position = 0;
  #token: Token;

  constructor(source: string, scope: ExpressionScope) {
    this.#source = source.trimEnd();
    this.#scope = scope;
    this.#token = this.#next();
  }

  parseOr(): ExpressionValue {
    let value = this.#parseAnd();
    while (this.#takes("||")) {
      const right = this.#parseAnd();
      value = isTrue(value) ? value : right;
    }
    return value;
  }

  expectEnd(): void {
    if (this.#token.kind !== "end") throw this.#error(`unexpected ${this.#token.text}`);
  }

  #parseAnd(): ExpressionValue {
    let value = this.#parseComparison();
    while (this.#takes("&&")) {
      const right = this.#parseComparison();
      value = isTrue(value) ? right : value;
    }
    return value;
  }

  #parseComparison(): ExpressionValue {
    const left = this.#parseNot();
    for (const [sign, compare] of Object.entries(comparisons)) if (this.#takes(sign)) return compare(left, this.#parseNot());
    return left;
  }

  #parseNot(): ExpressionValue {
    return this.#takes("!") ? !isTrue(this.#parseNot()) : this.#parseMember();
  }

  #parseMember(): ExpressionValue {
    let value = this.#parsePrimary();
    for (;;) {
      if (this.#takes(".")) value = memberOf(value, this.#take("name"));
      else if (this.#takes("[")) {
        value = memberOf(value, textOf(this.parseOr()));
        this.#expect("]");
      } else return value;
    }
  }

  #parsePrimary(): ExpressionValue {
    const { kind, text } = this.#token;
    if (this.#takes("(")) {
      const value = this.parseOr();
      this.#expect(")");
      return value;
    }
    if (kind === "end" || kind === "sign") throw this.#error(kind === "end" ? "it ends too early" : `unexpected ${text}`);
    this.#token = this.#next();
    if (kind === "text") return text.slice(1, -1).replaceAll("''", "'");
    if (kind === "number") return Number(text);
    if (Object.hasOwn(literals, text)) return literals[text] ?? null;
    return this.#takes("(") ? this.#call(text) : this.#context(text);
  }

  #call(name: string): ExpressionValue {
    const args: ExpressionValue[] = [];
    while (!this.#takes(")")) {
      if (args.length > 0) this.#expect(",");
      args.push(this.parseOr());
    }
    const call = this.#scope.functions[name];
    if (call === undefined) throw this.#error(`there is no function ${name}`);
    return call(...args);
  }

  #context(name: string): ExpressionValue {
    const context = this.#scope.contexts[name];
    if (context === undefined) throw this.#error(`there is no context ${name}`);
    return context;
  }

  #takes(sign: string): boolean {
    if (this.#token.kind !== "sign" || this.#token.text !== sign) return false;
    this.#token = this.#next();
    return true;
  }

  #expect(sign: string): void {
    if (!this.#takes(sign)) throw this.#error(`expected ${sign}`);
  }

  #take(kind: Token["kind"]): string {
    const { text } = this.#token;
    if (this.#token.kind !== kind) throw this.#error(`expected a ${kind}`);
    this.#token = this.#next();
    return text;
  }

  #next(): Token {
    if (this.#position >= this.#source.length) return { kind: "end", text: "" };
    tokens.lastIndex = this.#position;
    const found = tokens.exec(this.#source)?.groups;
    if (found === undefined) throw this.#error("what is there is no token");
    this.#position = tokens.lastIndex;
    for (const kind of ["text", "number", "name", "sign"] as const) {
      const text = found[kind];
      if (text !== undefined) return { kind, text };
    }
    return { kind: "end", text: "" };
  }

  #error(problem: string): SyntaxError {
    return new SyntaxError(`expression "${this.#source.trim()}", near character ${this.#position}: ${problem}`);
  }
}

const literals: Readonly<Record<string, ExpressionValue>> = { true: true, false: false, null: null };

const comparisons: Readonly<Record<string, (left: ExpressionValue, right: ExpressionValue) => boolean>> = {
  "==": areEqual,
  "!=": (left, right) => !areEqual(left, right),
  "<=": (left, right) => numberOf(left) <= numberOf(right),
  ">=": (left, right) => numberOf(left) >= numberOf(right),
  "<": (left, right) => numberOf(left) < numberOf(right),
  ">": (left, right) => numberOf(left) > numberOf(right),
};

/** As GitHub compares: texts without regard to case, values of different types as numbers. */
function areEqual(left: ExpressionValue, right: ExpressionValue): boolean {
  if (typeof left === "string" && typeof right === "string") return left.toLowerCase() === right.toLowerCase();
  if (typeof left === typeof right && left !== null && right !== null) return left === right;
  return numberOf(left) === numberOf(right);
}

function numberOf(value: ExpressionValue): number {
  if (value === null) return 0;
  if (typeof value === "string") return value.trim() === "" ? 0 : Number(value);
  return typeof value === "object" ? Number.NaN : Number(value);
}

/** Returns null for a missing member, as workflows do. */
function memberOf(value: ExpressionValue, name: string): ExpressionValue {
  return typeof value === "object" && value !== null ? (value[name] ?? null) : null;
}
