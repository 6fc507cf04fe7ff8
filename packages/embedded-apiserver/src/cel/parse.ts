import { Environment, ParseError, type ASTNode } from "@marcbachmann/cel-js";
import type { CallExpression, Expression, Issue, LiteralValue, MapEntry } from "./expression.ts";
import { expandMacro, MacroError } from "./macros.ts";
import { rewriteSource, type RewrittenSource } from "./source-rewrite.ts";

/** Limits of cel-go's parser, as far as the library has them. */
const parser = new Environment({
  enableOptionalTypes: true,
  limits: { maxDepth: 250, maxAstNodes: 100_000, maxListElements: 100_000, maxMapEntries: 100_000, maxCallArguments: 1000 },
});

/** Result of {@link parseExpression}. */
export type Parsed = { readonly expression: Expression; readonly issue?: never } | { readonly expression?: never; readonly issue: Issue };

/** Parses a CEL expression and expands its macros. */
export function parseExpression(source: string): Parsed {
  const rewritten = rewriteSource(source);
  try {
    const { ast } = parser.parse(rewritten.text);
    return { expression: new Converter(rewritten).convert(ast) };
  } catch (error) {
    if (error instanceof MacroError) return { issue: error.issue };
    if (!(error instanceof ParseError)) throw error;
    const { node } = error;
    if (error.code === "invalid_macro_argument" && node !== undefined)
      return { issue: { offset: new Converter(rewritten).convert(node as ASTNode).offset, message: "argument must be a simple name" } };
    const offset = rewritten.originalOffset(error.range?.start ?? 0);
    return { issue: { offset, message: `Syntax error: ${syntaxProblem(source, offset, error)}` } };
  }
}

const operands = "'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER";
const tokenNames: Readonly<Record<string, string>> = {
  RPAREN: "')'",
  RBRACKET: "']'",
  RBRACE: "'}'",
  COLON: "':'",
  DOT: "'.'",
  LPAREN: "'('",
};

/** The commonest syntax errors in the words of cel-go's parser; the library's words for the others. */
function syntaxProblem(source: string, offset: number, { code, summary }: ParseError): string {
  const found = /^(?:[A-Za-z_]\w*|\d+|[&|]{1,2}|[=!<>]=|[^])/.exec(source.slice(offset))?.[0];
  const input = found === undefined ? "<EOF>" : found;
  if (/^[^\w\s"'.,:?()[\]{}+\-*/%=!<>]$/u.test(input)) return `token recognition error at: '${input}'`;
  switch (code) {
    case "unexpected_token":
      return `mismatched input '${input}' expecting {${operands}}`;
    case "unexpected_character":
      return `mismatched input '${input}' expecting <EOF>`;
    case "expected_token": {
      const expected = /^Expected (\w+)/.exec(summary)?.[1] ?? "";
      if (expected === "RPAREN" && found === undefined) return "missing ')' at '<EOF>'";
      return `mismatched input '${input}' expecting ${tokenNames[expected] ?? expected}`;
    }
    case "reserved_identifier":
      return summary.replace("Reserved identifier", "reserved identifier");
    default:
      return summary;
  }
}

const binaryOperators: ReadonlySet<string> = new Set(["!=", "==", "in", "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "||", "&&"]);

/** Converts the library's tree into the shape of cel-go's, with its positions. */
class Converter {
  readonly #source: RewrittenSource;

  constructor(source: RewrittenSource) {
    this.#source = source;
  }

  convert(node: ASTNode): Expression {
    const at = (offset: number): number => this.#source.originalOffset(offset);
    switch (node.op) {
      case "value":
        return { kind: "literal", offset: at(node.start), value: literal(node.args) };
      case "id":
        return { kind: "ident", offset: at(node.start), name: node.args };
      case ".":
        return {
          kind: "select",
          offset: at(this.#text.lastIndexOf(".", node.pos)),
          operand: this.convert(node.args[0]),
          field: node.args[1],
          testOnly: false,
        };
      case ".?": {
        const offset = at(this.#text.lastIndexOf(".", node.pos));
        return this.#call("_?._", offset, [this.convert(node.args[0]), { kind: "literal", offset, value: node.args[1] }]);
      }
      case "[]":
      case "[?]":
        return this.#call(
          node.op === "[]" ? "_[_]" : "_[?_]",
          at(this.#after(node.args[0].end, "[")),
          node.args.map((arg) => this.convert(arg)),
        );
      case "call":
        return this.#function(node.args[0], node.args[1], node.start);
      case "rcall":
        return this.#method(node.args[0], node.args[1], node.args[2]);
      case "list":
        return this.#list(node.args, at(node.start));
      case "map":
        return { kind: "map", offset: at(node.start), entries: node.args.map((entry) => this.#entry(entry)) };
      case "?:":
        return this.#call(
          "_?_:_",
          at(this.#after(node.args[0].end, "?")),
          node.args.map((arg) => this.convert(arg)),
        );
      case "!_":
        return this.#call("!_", at(node.start), [this.convert(node.args)]);
      case "-_":
        return this.#negate(node.args, at(node.start));
      default:
        return this.#binary(node);
    }
  }

  get #text(): string {
    return this.#source.text;
  }

  #call(name: string, offset: number, args: readonly Expression[]): CallExpression {
    return { kind: "call", name, offset, args };
  }

  #binary(node: ASTNode): Expression {
    if (!binaryOperators.has(node.op) || !Array.isArray(node.args))
      throw new TypeError(`convert a CEL expression: unknown operator ${node.op}`);
    const [left, right] = node.args as [ASTNode, ASTNode];
    const name = node.op === "in" ? "@in" : `_${node.op}_`;
    return this.#call(name, this.#source.originalOffset(this.#after(left.end, node.op)), [this.convert(left), this.convert(right)]);
  }

  /** A minus in front of a number belongs to the number. */
  #negate(operand: ASTNode, offset: number): Expression {
    if (operand.op === "value" && (typeof operand.args === "bigint" || typeof operand.args === "number"))
      return { kind: "literal", offset, value: -operand.args };
    return this.#call("-_", offset, [this.convert(operand)]);
  }

  #function(name: string, args: readonly ASTNode[], start: number): Expression {
    const open = this.#after(start + name.length, "(");
    if (this.#source.structMarks.has(open)) return this.#struct(name, args[0], open);
    return expandMacro(
      this.#call(
        name,
        this.#source.originalOffset(open),
        args.map((arg) => this.convert(arg)),
      ),
    );
  }

  #method(name: string, target: ASTNode, args: readonly ASTNode[]): Expression {
    const nameStart = this.#text.indexOf(name, this.#after(target.end, "."));
    const open = this.#after(nameStart + name.length, "(");
    if (this.#source.structMarks.has(open)) return this.#struct(`${qualifiedName(target) ?? ""}.${name}`, args[0], open);
    const call = this.#call(
      name,
      this.#source.originalOffset(open),
      args.map((arg) => this.convert(arg)),
    );
    return expandMacro({ ...call, target: this.convert(target) });
  }

  #list(elements: readonly ASTNode[], offset: number): Expression {
    const optionals = new Set<number>();
    const converted = elements.map((element, index) => {
      const optional = this.#optional(element);
      if (optional !== undefined) optionals.add(index);
      return this.convert(optional ?? element);
    });
    return { kind: "list", offset, elements: converted, optionals };
  }

  #entry([key, value]: readonly [ASTNode, ASTNode]): MapEntry {
    const optional = this.#optional(key);
    return { key: this.convert(optional ?? key), value: this.convert(value), optional: optional !== undefined };
  }

  #struct(typeName: string, fields: ASTNode | undefined, open: number): Expression {
    const entries = fields?.op === "map" ? fields.args : [];
    return {
      kind: "struct",
      offset: this.#source.originalOffset(open),
      typeName,
      fields: entries.map(([key, value]) => {
        const optional = this.#optional(key);
        const name = optional ?? key;
        return {
          name: this.#fieldName(name),
          offset: this.#source.originalOffset(this.#after(name.end, ":")),
          value: this.convert(value),
          optional: optional !== undefined,
        };
      }),
    };
  }

  /** @throws MacroError if the field was not written as a name */
  #fieldName({ op, args, start, end }: ASTNode): string {
    if (op === "value" && typeof args === "string" && this.#source.fieldMarks.has(start)) return args;
    const given = this.#text.slice(start, end);
    const problem = `Syntax error: mismatched input '${given}' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}`;
    throw new MacroError(this.#source.originalOffset(start), problem);
  }

  /** Operand of an exclamation mark that was a question mark. */
  #optional(node: ASTNode): ASTNode | undefined {
    return node.op === "!_" && this.#source.optionalMarks.has(node.start) ? node.args : undefined;
  }

  /** Offset of the next occurrence of a token, outside comments. */
  #after(offset: number, wanted: string): number {
    let at = offset;
    while (at < this.#text.length && !this.#text.startsWith(wanted, at)) {
      if (this.#text.startsWith("//", at)) at = this.#text.indexOf("\n", at);
      if (at < 0) return offset;
      at++;
    }
    return at;
  }
}

function qualifiedName(node: ASTNode): string | undefined {
  if (node.op === "id") return node.args;
  const prefix = node.op === "." ? qualifiedName(node.args[0]) : undefined;
  return prefix === undefined ? undefined : `${prefix}.${String(node.op === "." ? node.args[1] : "")}`;
}

function literal(value: (ASTNode & { op: "value" })["args"]): LiteralValue {
  return typeof value === "object" && value !== null && !(value instanceof Uint8Array) ? { uint: value.valueOf() } : value;
}
