import ts from "typescript";

const logLevels: readonly string[] = ["trace", "debug", "info", "warn", "error"];

/** Names of properties that hold text for people. */
const textProperties: readonly string[] = ["message", "description", "hint"];

/** The level of a call of a logger: `this.#logger.warn(…)`; `undefined` for any other node. */
export function logLevel(node: ts.Node): string | undefined {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  const { expression: receiver, name } = node.expression;
  return logLevels.includes(name.text) && /(^|\b|#)(log|\w*logger)$/i.test(receiver.getText()) ? name.text : undefined;
}

/** Whether the node is a call of a logger, whose arguments are text for people. */
export function isLogCall(node: ts.Node): boolean {
  return logLevel(node) !== undefined;
}

/** Whether the node makes a message and nothing else: it stands in an error's arguments, or in a property or list of messages. */
export function isMessagePosition(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isObjectLiteralExpression(node)) return false;
  if (ts.isNewExpression(parent)) return node !== parent.expression && parent.expression.getText().endsWith("Error");
  if (ts.isPropertyAssignment(parent)) return node === parent.initializer && textProperties.includes(parent.name.getText());
  if (!ts.isCallExpression(parent) || node === parent.expression) return false;
  if (parent.expression.kind === ts.SyntaxKind.SuperKeyword) return isInErrorClass(parent);
  return /(problems|messages|warnings)\.push$/i.test(parent.expression.getText()) || isMessageFunction(parent);
}

/** Whether the node is a call of a function that makes a message: `messageOf(error)`, `z.string().describe("…")`. */
export function isMessageFunction(node: ts.Node): boolean {
  return ts.isCallExpression(node) && /(^|\.)(messageOf|describe|\w*Message)$/.test(node.expression.getText());
}

/** Whether a literal's source reads as a sentence: three words or more, between which there are spaces. */
export function containsProse(literal: string): boolean {
  const words = literal.replace(/\$\{[^}]*\}/g, "x").match(/[A-Za-z][a-z']*[,;:]? (?=\S)/g) ?? [];
  return words.length >= 2;
}

function isInErrorClass(node: ts.Node): boolean {
  const owner = ts.findAncestor(node, ts.isClassLike);
  return owner?.heritageClauses?.some(({ types }) => types.some((type) => type.expression.getText().endsWith("Error"))) ?? false;
}
