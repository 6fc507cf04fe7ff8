import ts from "typescript";
import { parseSync } from "vite";
import { containsProse, isLogCall, isMessageFunction, isMessagePosition, logLevel } from "./people-texts.ts";

/** One change to one place of a source file. */
export interface Mutant {
  /** Relative to the top, with forward slashes. */
  readonly file: string;
  /** Where the replaced text stands, in characters. */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** From 1. */
  readonly line: number;
  /** Enclosing classes and functions: `StatusWriter.#flush`; empty at the top of a module. */
  readonly within: string;
  /** The replaced text on one line, shortened. */
  readonly original: string;
  /** The replacement on one line, shortened. */
  readonly mutated: string;
  /** Number of this mutant among those of the file whose `within`, `original` and `mutated` are the same, from 1. */
  readonly nth: number;
  /** The {@link Region} that has to run for the mutant to matter. */
  readonly region: number;
}

/** A function body or block. Region 0 is the module itself, which runs when it is imported. */
export interface Region {
  readonly id: number;
  readonly start: number;
  readonly end: number;
  /** Body of an arrow function without braces. */
  readonly expression: boolean;
}

/** All that can be changed in a source file. */
export interface FoundMutants {
  readonly mutants: readonly Mutant[];
  /** Without region 0. */
  readonly regions: readonly Region[];
}

const swappedOperators: ReadonlyMap<ts.SyntaxKind, readonly string[]> = new Map([
  [ts.SyntaxKind.EqualsEqualsEqualsToken, ["!=="]],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, ["==="]],
  [ts.SyntaxKind.EqualsEqualsToken, ["!="]],
  [ts.SyntaxKind.ExclamationEqualsToken, ["=="]],
  [ts.SyntaxKind.LessThanToken, ["<=", ">="]],
  [ts.SyntaxKind.LessThanEqualsToken, ["<", ">"]],
  [ts.SyntaxKind.GreaterThanToken, [">=", "<="]],
  [ts.SyntaxKind.GreaterThanEqualsToken, [">", "<"]],
  [ts.SyntaxKind.AmpersandAmpersandToken, ["||"]],
  [ts.SyntaxKind.BarBarToken, ["&&"]],
  [ts.SyntaxKind.QuestionQuestionToken, ["&&"]],
  [ts.SyntaxKind.PlusToken, ["-"]],
  [ts.SyntaxKind.MinusToken, ["+"]],
  [ts.SyntaxKind.AsteriskToken, ["/"]],
  [ts.SyntaxKind.SlashToken, ["*"]],
  [ts.SyntaxKind.PercentToken, ["*"]],
  [ts.SyntaxKind.PlusEqualsToken, ["-="]],
  [ts.SyntaxKind.MinusEqualsToken, ["+="]],
  [ts.SyntaxKind.AsteriskEqualsToken, ["/="]],
  [ts.SyntaxKind.SlashEqualsToken, ["*="]],
  [ts.SyntaxKind.QuestionQuestionEqualsToken, ["&&="]],
  [ts.SyntaxKind.BarBarEqualsToken, ["&&="]],
  [ts.SyntaxKind.AmpersandAmpersandEqualsToken, ["||="]],
]);

const comparisons: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
  ts.SyntaxKind.EqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsToken,
  ts.SyntaxKind.LessThanToken,
  ts.SyntaxKind.LessThanEqualsToken,
  ts.SyntaxKind.GreaterThanToken,
  ts.SyntaxKind.GreaterThanEqualsToken,
]);

/** Methods with an opposite, and, with `undefined`, methods whose call is replaced by what they are called on. */
const swappedMethods: ReadonlyMap<string, string | undefined> = new Map([
  ["some", "every"],
  ["every", "some"],
  ["startsWith", "endsWith"],
  ["endsWith", "startsWith"],
  ["toLowerCase", "toUpperCase"],
  ["toUpperCase", "toLowerCase"],
  ["min", "max"],
  ["max", "min"],
  ["filter", undefined],
  ["slice", undefined],
  ["sort", undefined],
  ["toSorted", undefined],
  ["reverse", undefined],
  ["toReversed", undefined],
  ["trim", undefined],
]);

/** Numbers up to this are counted with and get one more; greater ones are sizes and times, and are doubled. */
const greatestCount = 16;

/** A shorter text than this is shown with what stands around it, in characters. */
const leastShown = 30;

/** Longest text of a mutant that is shown, in characters. */
const shownLength = 120;

/**
 * Finds all mutants of a source file: conditions, comparisons, logical and arithmetic operators, literals, optional chaining,
 * returned values, calls of well-known methods, and statements and blocks left out. Types, imports, log texts and messages for
 * people are left alone.
 *
 * @param file - names the file in the result
 */
export function findMutants(file: string, text: string): FoundMutants {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const finder = new MutantFinder(file, source);
  ts.forEachChild(source, (node) => finder.visit(node));
  return finder.found();
}

/** The source with the mutant in it. */
export function applyMutant(text: string, { start, end, replacement }: Pick<Mutant, "start" | "end" | "replacement">): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

/** Whether the text is a program: a mutant that is none would be noticed by any test. */
export function isParsed(text: string): boolean {
  return parseSync("mutant.ts", text, { showSemanticErrors: true }).errors.length === 0;
}

class MutantFinder {
  readonly #file: string;
  readonly #source: ts.SourceFile;
  readonly #mutants: Mutant[] = [];
  readonly #regions: Region[] = [];
  readonly #seen = new Map<string, number>();
  readonly #places = new Set<string>();
  #region = 0;
  #within: readonly string[] = [];

  constructor(file: string, source: ts.SourceFile) {
    this.#file = file;
    this.#source = source;
  }

  found(): FoundMutants {
    return { mutants: this.#mutants, regions: this.#regions };
  }

  visit(node: ts.Node): void {
    if (isNoBehaviour(node) || isUnreachable(node) || isMessagePosition(node)) return;
    const outerRegion = this.#region;
    const outerWithin = this.#within;
    const name = nameOf(node);
    if (name !== undefined) this.#within = [...this.#within, name];
    if (ts.isBlock(node)) this.#enter(node, false);
    else if (ts.isArrowFunction(node.parent) && node.parent.body === node) this.#enter(node, true);
    this.#mutate(node);
    if (!isLogCall(node)) ts.forEachChild(node, (child) => this.visit(child));
    this.#region = outerRegion;
    this.#within = outerWithin;
  }

  #enter(node: ts.Node, expression: boolean): void {
    const id = this.#regions.length + 1;
    this.#regions.push({ id, start: node.getStart(), end: node.end, expression });
    this.#region = id;
  }

  #mutate(node: ts.Node): void {
    if (ts.isBinaryExpression(node)) this.#binary(node);
    else if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) this.#unary(node);
    else if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) this.#string(node);
    else if (ts.isNumericLiteral(node)) this.#number(node);
    else if (ts.isRegularExpressionLiteral(node)) this.#pattern(node);
    else if (node.kind === ts.SyntaxKind.TrueKeyword) this.#add(node, "false");
    else if (node.kind === ts.SyntaxKind.FalseKeyword) this.#add(node, "true");
    else if (ts.isArrayLiteralExpression(node)) this.#array(node);
    else if (ts.isObjectLiteralExpression(node)) this.#object(node);
    else if (ts.isCallExpression(node)) this.#call(node);
    else if (ts.isBlock(node)) this.#block(node);
    else if (ts.isCaseOrDefaultClause(node)) this.#clause(node);
    else this.#statement(node);
    this.#condition(node);
    this.#optionalChain(node);
    this.#arrowBody(node);
  }

  #binary(node: ts.BinaryExpression): void {
    const { left, operatorToken, right } = node;
    const operator = operatorToken.kind;
    const joinsTexts = operator === ts.SyntaxKind.PlusToken || operator === ts.SyntaxKind.PlusEqualsToken;
    if (joinsTexts && [left, right].some((side) => ts.isStringLiteralLike(side) || ts.isTemplateExpression(side))) return;
    for (const other of swappedOperators.get(operator) ?? []) {
      // Parentheses because `??` does not stand beside `&&`; an assignment's target cannot have them.
      const isLogical = other === "&&" || other === "||";
      if (isLogical) this.#add(node, `(${inParentheses(left)} ${other} ${inParentheses(right)})`);
      else this.#replace(operatorToken.getStart(), operatorToken.end, other, node);
    }
    if (comparisons.has(operator)) for (const value of ["true", "false"]) this.#add(node, value);
  }

  #unary(node: ts.PrefixUnaryExpression | ts.PostfixUnaryExpression): void {
    const { operator, operand } = node;
    if (operator === ts.SyntaxKind.ExclamationToken) this.#add(node, operand.getText());
    if (operator === ts.SyntaxKind.MinusToken && !ts.isNumericLiteral(operand)) this.#add(node, operand.getText());
    const other = { [ts.SyntaxKind.PlusPlusToken]: "--", [ts.SyntaxKind.MinusMinusToken]: "++" }[operator as number];
    if (other !== undefined) this.#add(node, ts.isPrefixUnaryExpression(node) ? other + operand.getText() : operand.getText() + other);
  }

  #string(node: ts.StringLiteralLike | ts.TemplateExpression): void {
    if (isPropertyName(node) || isFallbackOfIdentity(node) || containsProse(node.getText())) return;
    const isEmpty = ts.isStringLiteralLike(node) && node.text === "";
    this.#add(node, isEmpty ? '"mutated"' : '""');
  }

  #number(node: ts.NumericLiteral): void {
    if (isPropertyName(node)) return;
    const value = Number(node.text);
    this.#add(node, String(value <= greatestCount ? value + 1 : value * 2));
  }

  #pattern(node: ts.RegularExpressionLiteral): void {
    const end = node.text.lastIndexOf("/");
    const [body, flags] = [node.text.slice(1, end), node.text.slice(end)];
    if (body.startsWith("^")) this.#add(node, `/${body.slice(1)}${flags}`);
    if (/(?<!\\)\$$/.test(body)) this.#add(node, `/${body.slice(0, -1)}${flags}`);
  }

  #array(node: ts.ArrayLiteralExpression): void {
    if (!isAssignmentTarget(node)) this.#add(node, node.elements.length === 0 ? '["mutated"]' : "[]");
  }

  #object(node: ts.ObjectLiteralExpression): void {
    if (node.properties.length > 0 && !isAssignmentTarget(node) && !isOnlyCause(node)) this.#add(node, "{}");
  }

  #call(node: ts.CallExpression): void {
    const { expression } = node;
    if (!ts.isPropertyAccessExpression(expression) || !swappedMethods.has(expression.name.text)) return;
    const other = swappedMethods.get(expression.name.text);
    if (other === undefined) this.#add(node, expression.expression.getText());
    else this.#replace(expression.name.getStart(), expression.name.end, other, expression);
  }

  #block(node: ts.Block): void {
    if (node.statements.length === 0 || ts.isConstructorDeclaration(node.parent) || isEndless(node.parent)) return;
    if (node.statements.every((statement) => isUntestedStatement(statement))) return;
    if (ts.isBlock(node.parent) || ts.isSourceFile(node.parent) || ts.isCaseOrDefaultClause(node.parent)) return;
    this.#add(node, "{}");
  }

  #clause(node: ts.CaseOrDefaultClause): void {
    const [first] = node.statements;
    if (first !== undefined) this.#replace(first.getStart(), node.end, "", node);
  }

  #statement(node: ts.Node): void {
    if (!ts.isStatement(node)) return;
    const [isListed, isOnly] = placeInList(node);
    if (ts.isReturnStatement(node) && node.expression !== undefined) {
      const isWholeBody = isOnly && ts.isFunctionLike(node.parent.parent);
      if (!isWholeBody && !hasMutantsItself(node.expression)) this.#add(node.expression, "undefined");
      return;
    }
    const isJump = ts.isReturnStatement(node) || ts.isContinueStatement(node) || ts.isBreakStatement(node) || ts.isThrowStatement(node);
    if (!isListed || isOnly || (!isJump && !ts.isExpressionStatement(node)) || isUntestedStatement(node)) return;
    this.#add(node, ";");
  }

  #condition(node: ts.Node): void {
    const test = ts.isIfStatement(node) ? node.expression : ts.isConditionalExpression(node) ? node.condition : undefined;
    if (test !== undefined) for (const value of ["true", "false"]) this.#add(test, value);
    const loop = ts.isWhileStatement(node) ? node.expression : ts.isForStatement(node) ? node.condition : undefined;
    if (loop !== undefined) this.#add(loop, "false");
  }

  #optionalChain(node: ts.Node): void {
    const isChain = ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node) || ts.isCallExpression(node);
    if (!isChain || node.questionDotToken === undefined) return;
    const { questionDotToken } = node;
    if (isAlwaysPresent(node.expression)) return;
    this.#replace(questionDotToken.getStart(), questionDotToken.end, ts.isPropertyAccessExpression(node) ? "." : "", node);
  }

  #arrowBody(node: ts.Node): void {
    if (!ts.isArrowFunction(node.parent) || node.parent.body !== node || ts.isBlock(node)) return;
    if (ts.isExpression(node) && !hasMutantsItself(node)) this.#add(node, "undefined");
  }

  #add(node: ts.Node, replacement: string): void {
    this.#replace(node.getStart(), node.end, replacement, node);
  }

  /** @param changed - the node in which the replaced text stands */
  #replace(start: number, end: number, replacement: string, changed: ts.Node): void {
    const place = `${start} ${end} ${replacement}`;
    const text = this.#source.text;
    if (this.#places.has(place) || replacement === text.slice(start, end)) return;
    this.#places.add(place);
    const shown = surroundings(changed);
    const [from, to] = [shown.getStart(), shown.end];
    const original = shorten(text.slice(from, to));
    const mutated = shorten(text.slice(from, start) + replacement + text.slice(end, to));
    const within = this.#within.join(".");
    const key = JSON.stringify([within, original, mutated]);
    const nth = (this.#seen.get(key) ?? 0) + 1;
    this.#seen.set(key, nth);
    const line = this.#source.getLineAndCharacterOfPosition(start).line + 1;
    this.#mutants.push({ file: this.#file, start, end, replacement, line, within, original, mutated, nth, region: this.#region });
  }
}

/** Types, imports and exports: nothing of them runs. */
function isNoBehaviour(node: ts.Node): boolean {
  return (
    (ts.isTypeNode(node) && !ts.isExpressionWithTypeArguments(node)) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isImportDeclaration(node) ||
    ts.isExportDeclaration(node) ||
    ts.isModuleDeclaration(node) ||
    ts.isTypeParameterDeclaration(node)
  );
}

/** Whether the compiler has proved that the node never runs: `default: return kind satisfies never`. */
function isUnreachable(node: ts.Node): boolean {
  const isProof = (found: ts.Node): boolean => ts.isSatisfiesExpression(found) && found.type.kind === ts.SyntaxKind.NeverKeyword;
  const [only, ...others] = ts.isDefaultClause(node) ? node.statements : [];
  if (only === undefined || others.length > 0) return isProof(node);
  return (ts.isReturnStatement(only) || ts.isExpressionStatement(only)) && only.expression !== undefined && isProof(only.expression);
}

function nameOf(node: ts.Node): string | undefined {
  if (ts.isConstructorDeclaration(node)) return "constructor";
  const isNamed =
    ts.isClassLike(node) ||
    ts.isFunctionDeclaration(node) ||
    ts.isFunctionExpression(node) ||
    ts.isMethodDeclaration(node) ||
    ts.isAccessor(node);
  if (isNamed) return node.name?.getText();
  if (!ts.isVariableDeclaration(node) && !ts.isPropertyDeclaration(node) && !ts.isPropertyAssignment(node)) return undefined;
  const { initializer } = node;
  if (initializer === undefined) return undefined;
  if (ts.isArrowFunction(initializer)) return node.name.getText();
  const isConstant = ts.isVariableDeclaration(node) && ts.isSourceFile(node.parent.parent.parent);
  return isConstant ? node.name.getText() : undefined;
}

function isPropertyName(node: ts.Node): boolean {
  const { parent } = node;
  return (ts.isPropertyAssignment(parent) || ts.isMethodDeclaration(parent) || ts.isPropertyDeclaration(parent)) && parent.name === node;
}

function inParentheses(node: ts.Expression): string {
  return ts.isBinaryExpression(node) ? `(${node.getText()})` : node.getText();
}

function isAssignmentTarget(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isBinaryExpression(parent)) return parent.operatorToken.kind === ts.SyntaxKind.EqualsToken && parent.left === node;
  return ts.isForOfStatement(parent) && parent.initializer === node;
}

/** `{ cause }` of an error: for people who look for the reason. */
function isOnlyCause(node: ts.ObjectLiteralExpression): boolean {
  return node.properties.every(({ name }) => name?.getText() === "cause");
}

/** Without its body such a loop has no end, and any test notices. */
function isEndless(node: ts.Node): boolean {
  if (ts.isForStatement(node)) return node.condition === undefined;
  return (ts.isWhileStatement(node) || ts.isDoStatement(node)) && node.expression.kind === ts.SyntaxKind.TrueKeyword;
}

/** Whether the statement stands in a list of statements, and whether it is the only one there. */
function placeInList({ parent }: ts.Statement): readonly [isListed: boolean, isOnly: boolean] {
  const isListed = ts.isBlock(parent) || ts.isSourceFile(parent) || ts.isCaseOrDefaultClause(parent);
  return [isListed, isListed && parent.statements.length === 1];
}

/** Whether the expression has mutants that say more than `undefined` in its place. */
function hasMutantsItself(node: ts.Expression): boolean {
  if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isSatisfiesExpression(node))
    return hasMutantsItself(node.expression);
  if (ts.isBinaryExpression(node)) return swappedOperators.has(node.operatorToken.kind);
  return (
    ts.isLiteralExpression(node) ||
    ts.isTemplateExpression(node) ||
    ts.isConditionalExpression(node) ||
    ts.isPrefixUnaryExpression(node) ||
    (ts.isArrayLiteralExpression(node) && node.elements.length > 0) ||
    (ts.isObjectLiteralExpression(node) && node.properties.length > 0) ||
    isMessageFunction(node) ||
    ["true", "false", "undefined", "null"].includes(node.getText())
  );
}

/** What cannot be left out (`super()`), says nothing if it is noticed (`this.#x = x` in a constructor), or only tells people. */
function isUntestedStatement(node: ts.Statement): boolean {
  if (!ts.isExpressionStatement(node)) return false;
  const { expression } = node;
  if (isLogCall(expression)) return ["debug", "info", "trace"].includes(logLevel(expression) ?? "");
  if (ts.isCallExpression(expression)) return expression.expression.kind === ts.SyntaxKind.SuperKeyword;
  if (ts.isVoidExpression(expression) && ts.isIdentifier(expression.expression)) return true;
  return (
    ts.isBinaryExpression(expression) &&
    expression.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    ts.isIdentifier(expression.right) &&
    ts.isConstructorDeclaration(node.parent.parent)
  );
}

/** Whether the node is `metadata` or `spec` of an object: an API server always sets them, though the generated types call them optional. */
function isAlwaysPresent(node: ts.Node): boolean {
  return /(^|\.)(metadata|spec)$/.test(node.getText());
}

/** Whether the node is the fallback of a field that an API server always sets: `pod.metadata?.name ?? ""`. */
function isFallbackOfIdentity(node: ts.Node): boolean {
  const { parent } = node;
  if (!ts.isBinaryExpression(parent) || parent.right !== node || !ts.isPropertyAccessExpression(parent.left)) return false;
  const { expression, name } = parent.left;
  return /(^|\.)metadata$/.test(expression.getText()) && ["name", "namespace", "uid", "resourceVersion"].includes(name.text);
}

/** The node, or if that says too little, the expression or declaration around it. */
function surroundings(node: ts.Node): ts.Node {
  let shown = node;
  while (shown.end - shown.getStart() < leastShown) {
    const { parent } = shown;
    if (ts.isSourceFile(parent) || ts.isBlock(parent) || ts.isFunctionLike(parent) || parent.end - parent.getStart() > shownLength - 20)
      break;
    shown = parent;
  }
  return shown;
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= shownLength ? line : `${line.slice(0, shownLength - 32)} … ${line.slice(-28)}`;
}
