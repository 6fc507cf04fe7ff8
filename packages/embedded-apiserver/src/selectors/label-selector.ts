import { badRequest } from "../errors/api-status-error.ts";
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
    if (problems.length > 0) throw requirementError(`<nil>: Invalid value: ${JSON.stringify(key)}: ${problems.join("; ")}`);
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

  #valueList(): string[] {
    const open = this.#next();
    if (open.text !== "(") throw requirementError(`found '${open.text}' expected: '('`);
    const values: string[] = [];
    let expectsValue = true;
    for (;;) {
      const token = this.#next();
      if (token.text === ")" || token.text === ",") {
        if (expectsValue) values.push("");
        expectsValue = true;
        if (token.text === ")") return values;
      } else if (token.kind === "identifier" && expectsValue) {
        values.push(token.text);
        expectsValue = false;
      } else {
        throw requirementError(`found '${token.text}', expected: ',' or ')'`);
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

function requirement(key: string, operator: Operator, values: readonly string[]): LabelMatcher {
  const problems = values.flatMap((value, index) =>
    labelValueProblems(value).map((problem) => `values[${index}][${key}]: Invalid value: ${JSON.stringify(value)}: ${problem}`),
  );
  if (problems.length > 0) throw requirementError(problems.join("; "));
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

function numericRequirement(key: string, operator: ">" | "<", value: string): LabelMatcher {
  const bound = tryInteger(value);
  if (bound === undefined)
    throw requirementError(`values[0]: Invalid value: ${JSON.stringify(value)}: for 'Gt', 'Lt' operators, the value must be an integer`);
  return (labels) => {
    const actual = tryInteger(labels[key] ?? "");
    return actual !== undefined && (operator === ">" ? actual > bound : actual < bound);
  };
}

function tryInteger(text: string): bigint | undefined {
  return /^[+-]?\d+$/.test(text) ? BigInt(text) : undefined;
}

function requirementError(problem: string): Error {
  return badRequest(`unable to parse requirement: ${problem}`);
}

/** Splits into the longest possible symbols: `!=` is one, `=!` is two. */
function tokensOf(text: string): Token[] {
  return [...text.matchAll(/==|!=|[=!(),><]|[^\s=!(),><]+/g)].map(([match]) => ({
    kind: /^[=!(),><]/.test(match) ? "symbol" : "identifier",
    text: match,
  }));
}
