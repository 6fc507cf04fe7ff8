import { aggregateProblems } from "../errors/aggregate-problems.ts";
import { badRequest } from "../errors/api-status-error.ts";
import { goQuoted } from "../json/go-quote.ts";
import { byCodeUnits } from "../json/key-order.ts";
import { labelKeyProblems, labelValueProblems } from "../kinds/validation/label-syntax.ts";

export type LabelMatcher = (labels: Readonly<Record<string, string>>) => boolean;

type Operator = "in" | "notin" | "=" | "==" | "!=" | ">" | "<";
const operators: ReadonlySet<string> = new Set(["in", "notin", "=", "==", "!=", ">", "<"]);

interface Token {
  readonly kind: "identifier" | "symbol" | "end";
  readonly text: string;
}

/**
 * Parses a label selector such as `app=web,tier in (front,back),!canary`.
 *
 * Source of the grammar and of the messages: k8s.io/apimachinery v0.36.3 pkg/labels/selector.go.
 *
 * @returns `undefined` for an empty selector, which selects everything
 * @throws ApiStatusError 400 for an invalid selector
 */
export function parseLabelSelector(text: string): LabelMatcher | undefined {
  const parser = new Parser(tokensOf(text));
  const requirements = parser.requirements();
  if (requirements.length === 0) return undefined;
  return (labels) => requirements.every((matches) => matches(labels));
}

class Parser {
  readonly #tokens: readonly Token[];
  #position = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  requirements(): LabelMatcher[] {
    const requirements: LabelMatcher[] = [];
    for (;;) {
      const token = this.#peek();
      if (token.kind === "end") return requirements;
      if (!startsRequirement(token)) throw badRequest(`found '${token.text}', expected: !, identifier, or 'end of string'`);
      requirements.push(this.#requirement());
      const separator = this.#next();
      if (separator.kind === "end") return requirements;
      if (separator.text !== ",") throw badRequest(`found '${separator.text}', expected: ',' or 'end of string'`);
      if (!startsRequirement(this.#peek())) throw badRequest(`found '${this.#peek().text}', expected: identifier after ','`);
    }
  }

  #requirement(): LabelMatcher {
    let token = this.#next();
    const negated = token.text === "!" && token.kind === "symbol";
    if (negated) token = this.#next();
    if (token.kind !== "identifier") throw requirementError(`found '${token.text}', expected: identifier`);
    const key = token.text;
    const problems = labelKeyProblems(key);
    if (problems.length > 0) throw requirementError(`<nil>: Invalid value: ${goQuoted(key)}: ${problems.join("; ")}`);
    if (negated) return (labels) => !Object.hasOwn(labels, key);
    const following = this.#peek();
    if (following.kind === "end" || following.text === ",") return (labels) => Object.hasOwn(labels, key);
    const operator = this.#operator();
    const values = operator === "in" || operator === "notin" ? this.#valueList() : [this.#value()];
    return requirement(key, operator, values);
  }

  #operator(): Operator {
    const { text } = this.#next();
    if (!operators.has(text)) throw requirementError(`found '${text}', expected: in, notin, =, ==, !=, gt, lt`);
    return text as Operator;
  }

  #value(): string {
    const token = this.#peek();
    if (token.kind === "end" || token.text === ",") return "";
    this.#position++;
    if (token.kind !== "identifier") throw requirementError(`found '${token.text}', expected: identifier`);
    return token.text;
  }

  /** Values of `in` and `notin`. Source: `parseValues`. */
  #valueList(): string[] {
    const open = this.#next();
    if (open.text !== "(") throw requirementError(`found '${open.text}' expected: '('`);
    const first = this.#peek();
    if (first.text === ")") {
      this.#position++;
      return [""];
    }
    if (first.kind !== "identifier" && first.text !== ",")
      throw requirementError(`found '${first.text}', expected: ',', ')' or identifier`);
    const values = this.#identifiers();
    this.#position++;
    return values;
  }

  /** Values up to the closing parenthesis, which stays. Nothing beside a comma is an empty value. Source: `parseIdentifiersList`. */
  #identifiers(): string[] {
    const values: string[] = [];
    for (;;) {
      const token = this.#next();
      const following = this.#peek().text;
      if (token.kind === "identifier") {
        values.push(token.text);
        if (following === ")") return values;
        if (following !== ",") throw requirementError(`found '${following}', expected: ',' or ')'`);
      } else if (token.text === ",") {
        if (values.length === 0 || following === "," || following === ")") values.push("");
        if (following === ")") return values;
      } else {
        throw requirementError(`found '${token.text}', expected: ',', or identifier`);
      }
    }
  }

  #peek(): Token {
    return this.#tokens[this.#position] ?? { kind: "end", text: "" };
  }

  #next(): Token {
    const token = this.#peek();
    this.#position++;
    return token;
  }
}

function startsRequirement(token: Token): boolean {
  return token.kind === "identifier" || (token.kind === "symbol" && token.text === "!");
}

/** Source: `NewRequirement`. The parser's values are a sorted set. */
function requirement(key: string, operator: Operator, given: readonly string[]): LabelMatcher {
  const values = [...new Set(given)].toSorted(byCodeUnits);
  const problems = [
    ...(isNumeric(operator) ? values.flatMap(integerProblems) : []),
    ...values.flatMap((value, index) => {
      const found = labelValueProblems(value);
      return found.length === 0 ? [] : [`values[${String(index)}][${key}]: Invalid value: ${goQuoted(value)}: ${found.join("; ")}`];
    }),
  ];
  if (problems.length > 0) throw requirementError(aggregateProblems(problems));
  switch (operator) {
    case "in":
    case "=":
    case "==":
      return (labels) => Object.hasOwn(labels, key) && values.includes(labels[key] ?? "");
    case "notin":
    case "!=":
      return (labels) => !Object.hasOwn(labels, key) || !values.includes(labels[key] ?? "");
    case ">":
    case "<":
      return numericRequirement(key, operator, values[0] ?? "");
    default:
      return operator satisfies never;
  }
}

function isNumeric(operator: Operator): boolean {
  return operator === ">" || operator === "<";
}

function integerProblems(value: string, index: number): string[] {
  if (tryInteger(value) !== undefined) return [];
  const given = goQuoted(value);
  return [`values[${String(index)}]: Invalid value: ${given}: for 'Gt', 'Lt' operators, the value must be an integer`];
}

function numericRequirement(key: string, operator: ">" | "<", value: string): LabelMatcher {
  const bound = tryInteger(value) ?? 0n;
  return (labels) => {
    const actual = tryInteger(labels[key] ?? "");
    return actual !== undefined && (operator === ">" ? actual > bound : actual < bound);
  };
}

/** Integer of 64 bits; `undefined` for any other text. */
function tryInteger(text: string): bigint | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  const value = BigInt(text.replace("+", ""));
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

function requirementError(problem: string): Error {
  return badRequest(`unable to parse requirement: ${problem}`);
}

/** Splits into the longest possible symbols: `!=` is one, `=!` is two. White space is what Go's lexer takes for it. */
function tokensOf(text: string): Token[] {
  return [...text.matchAll(/==|!=|[=!(),><]|[^ \t\r\n=!(),><]+/g)].map(([match]) => ({
    kind: /^[=!(),><]/.test(match) ? "symbol" : "identifier",
    text: match,
  }));
}
