import ts from "typescript";

/** A reason that a source writes. */
export interface ReasonLiteral {
  /** The text, or for a template a regular expression of the texts that it can become. */
  readonly text: string;
  readonly isPattern: boolean;
  readonly line: number;
}

/** Functions whose arguments may be a reason, by the last part of their name. */
const tellers: ReadonlySet<string> = new Set([
  "event",
  "recordEvent",
  "recordNodeEvent",
  "onEvent",
  "onSlow",
  "normal",
  "warn",
  "warnLater",
  "warning",
  "tell",
  "told",
  "noteProbe",
  "refuse",
  "failPredicate",
]);

/** What Kubernetes accepts as a condition's reason, in the spelling that all of its reasons have. */
const camelCase = /^[A-Z][A-Za-z0-9]*(-[a-z]+)*$/;

/**
 * Finds the reasons that a source writes: literals assigned to a name that ends with "reason" or "reasons", returned by a function of such a
 * name, or passed to a function that records events.
 */
export function findReasonLiterals(fileName: string, text: string): readonly ReasonLiteral[] {
  const source = ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest, true);
  const found = new Map<ts.Node, ReasonLiteral>();
  const add = (node: ts.Node, pattern: string | undefined, literal: string): void => {
    const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
    if (pattern !== undefined) found.set(node, { text: pattern, isPattern: true, line });
    else if (camelCase.test(literal)) found.set(node, { text: literal, isPattern: false, line });
  };
  const collect = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node)) add(node, undefined, node.text);
    else if (ts.isTemplateExpression(node)) {
      const pattern = patternOf(node);
      if (pattern !== undefined) add(node, pattern, "");
    } else for (const child of valuesOf(node)) collect(child);
  };
  const visit = (node: ts.Node): void => {
    if (isReasonHolder(node) && node.initializer) collect(node.initializer);
    if (ts.isPropertySignature(node) && isReasonName(node.name) && node.type) collectTypes(node.type, collect);
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken && isReasonName(node.left))
      collect(node.right);
    if (ts.isReturnStatement(node) && node.expression && isInReasonFunction(node)) collect(node.expression);
    if (ts.isCallExpression(node) && tellers.has(lastName(node.expression))) node.arguments.forEach(collectArgument);
    if (ts.isNewExpression(node) && node.arguments && lastName(node.expression).endsWith("Error")) node.arguments.forEach(collectArgument);
    ts.forEachChild(node, visit);
  };
  const collectArgument = (argument: ts.Expression): void => {
    if (!ts.isObjectLiteralExpression(argument)) collect(argument);
  };
  visit(source);
  return [...found.values()];
}

/** The parts of an expression that can be its value. */
function valuesOf(node: ts.Node): readonly ts.Node[] {
  if (ts.isConditionalExpression(node)) return [node.whenTrue, node.whenFalse];
  if (ts.isBinaryExpression(node)) {
    const isChoice = [ts.SyntaxKind.QuestionQuestionToken, ts.SyntaxKind.BarBarToken].includes(node.operatorToken.kind);
    return isChoice ? [node.left, node.right] : [];
  }
  if (ts.isParenthesizedExpression(node) || ts.isSatisfiesExpression(node) || ts.isAsExpression(node)) return [node.expression];
  if (ts.isArrayLiteralExpression(node)) return node.elements;
  if (ts.isObjectLiteralExpression(node))
    return node.properties.flatMap((each) => (ts.isPropertyAssignment(each) ? [each.initializer] : []));
  return ts.isArrowFunction(node) && !ts.isBlock(node.body) ? [node.body] : [];
}

function isReasonHolder(
  node: ts.Node,
): node is ts.PropertyAssignment | ts.VariableDeclaration | ts.ParameterDeclaration | ts.BindingElement {
  const isHolder = ts.isPropertyAssignment(node) || ts.isVariableDeclaration(node) || ts.isParameter(node) || ts.isBindingElement(node);
  return isHolder && isReasonName(node.name);
}

function isReasonName(node: ts.Node): boolean {
  return /reasons?$/i.test(ts.isPropertyAccessExpression(node) ? node.name.text : ts.isIdentifier(node) ? node.text : "");
}

function isInReasonFunction(node: ts.Node): boolean {
  for (let current = node.parent; current; current = current.parent) {
    if (ts.isFunctionDeclaration(current) || ts.isMethodDeclaration(current))
      return current.name !== undefined && isReasonName(current.name);
    if (ts.isFunctionLike(current)) return false;
  }
  return false;
}

function collectTypes(type: ts.TypeNode, collect: (node: ts.Node) => void): void {
  if (ts.isUnionTypeNode(type)) for (const each of type.types) collectTypes(each, collect);
  else if (ts.isLiteralTypeNode(type)) collect(type.literal);
}

function lastName(callee: ts.Expression): string {
  const name = ts.isPropertyAccessExpression(callee) ? callee.name.text : ts.isIdentifier(callee) ? callee.text : "";
  return name.replace(/^#/, "");
}

/** Regular expression of a template in CamelCase; `undefined` for one that no reason can come from. */
function patternOf({ head, templateSpans }: ts.TemplateExpression): string | undefined {
  const texts = [head.text, ...templateSpans.map(({ literal }) => literal.text)];
  return texts.every((each) => /^[A-Za-z0-9]*$/.test(each)) && texts.some((each) => /^[A-Z]/.test(each))
    ? `^${texts.join("[\\w./-]+")}$`
    : undefined;
}
