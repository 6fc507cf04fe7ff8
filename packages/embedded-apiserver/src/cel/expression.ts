/**
 * A parsed CEL expression, with macros expanded as cel-go does. Operators are calls of functions such as `_==_`.
 *
 * `offset` is the position in the source that messages point to, in UTF-16 units.
 *
 * Source of the shape: github.com/google/cel-go v0.26.0 common/ast/expr.go.
 */
export type Expression =
  | LiteralExpression
  | IdentExpression
  | SelectExpression
  | CallExpression
  | ListExpression
  | MapExpression
  | StructExpression
  | ComprehensionExpression;

/** Constant of an expression: `int` as bigint, `double` as number, `uint` apart. */
export type LiteralValue = string | number | bigint | boolean | null | Uint8Array | { readonly uint: bigint };

interface LiteralExpression {
  readonly kind: "literal";
  readonly offset: number;
  readonly value: LiteralValue;
}

export interface IdentExpression {
  readonly kind: "ident";
  readonly offset: number;
  readonly name: string;
}

interface SelectExpression {
  readonly kind: "select";
  readonly offset: number;
  readonly operand: Expression;
  readonly field: string;
  /** Set by the macro `has`. */
  readonly testOnly: boolean;
}

export interface CallExpression {
  readonly kind: "call";
  readonly offset: number;
  readonly name: string;
  readonly target?: Expression;
  readonly args: readonly Expression[];
}

export interface ListExpression {
  readonly kind: "list";
  readonly offset: number;
  readonly elements: readonly Expression[];
  /** Indexes of elements written as `?element`. */
  readonly optionals: ReadonlySet<number>;
}

export interface MapEntry {
  readonly key: Expression;
  readonly value: Expression;
  readonly optional: boolean;
}

export interface MapExpression {
  readonly kind: "map";
  readonly offset: number;
  readonly entries: readonly MapEntry[];
}

interface StructField {
  readonly name: string;
  readonly offset: number;
  readonly value: Expression;
  readonly optional: boolean;
}

export interface StructExpression {
  readonly kind: "struct";
  readonly offset: number;
  readonly typeName: string;
  readonly fields: readonly StructField[];
}

export interface ComprehensionExpression {
  readonly kind: "comprehension";
  readonly offset: number;
  readonly range: Expression;
  readonly variable: string;
  /** Second variable of a comprehension over index and value, or key and value. */
  readonly variable2?: string;
  readonly accumulator: string;
  readonly init: Expression;
  readonly condition: Expression;
  readonly step: Expression;
  readonly result: Expression;
}

/** An error at a position of an expression's source. */
export interface Issue {
  readonly offset: number;
  readonly message: string;
}

/**
 * Text of the errors of an expression, one block of three lines each.
 *
 * Source: github.com/google/cel-go v0.26.0 common/error.go, `ToDisplayString`, and common/errors.go.
 */
export function issuesText(source: string, issues: readonly Issue[]): string {
  return issues
    .toSorted((a, b) => a.offset - b.offset)
    .map((issue) => issueText(source, issue))
    .join("\n");
}

function issueText(source: string, { offset, message }: Issue): string {
  const before = source.slice(0, offset).split("\n");
  const line = (source.split("\n")[before.length - 1] ?? "").replaceAll("\t", " ");
  const characters = Array.from(line);
  const column = Array.from(before.at(-1) ?? "").length;
  const isWide = (character: string | undefined): boolean => character !== undefined && character > "\u007F";
  const dots = characters.slice(0, column).map((character) => (isWide(character) ? "\uFF0E" : "."));
  const mark = isWide(characters[column]) ? "\uFF3E" : "^";
  return `ERROR: <input>:${before.length}:${column + 1}: ${message}\n | ${line}\n | ${dots.join("")}${mark}`;
}
