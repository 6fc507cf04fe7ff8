import { SyntaxProblem } from "./syntax.ts";

const tokenPattern = /\s*(\d+|[A-Za-z_]\w*|\$\w+|[<>=!]=|&&|\|\||[-+*/%()<>!])/y;
const precedence: Readonly<Record<string, number>> = {
  "||": 1,
  "&&": 2,
  "==": 3,
  "!=": 3,
  "<": 4,
  ">": 4,
  "<=": 4,
  ">=": 4,
  "+": 5,
  "-": 5,
  "*": 6,
  "/": 6,
  "%": 6,
};

/** Value of `$((…))`: integers, variables, `+ - * / %`, comparisons, `&& || !`. @throws SyntaxProblem */
export function evaluate(expression: string, variable: (name: string) => string | undefined): number {
  const tokens: string[] = [];
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < expression.trimEnd().length) {
    const match = tokenPattern.exec(expression);
    if (!match) throw new SyntaxProblem(`arithmetic syntax error: ${expression.trim()}`);
    tokens.push(match[1] ?? "");
  }
  let at = 0;
  const primary = (): number => {
    const token = tokens[at++] ?? "";
    if (token === "-") return -primary();
    if (token === "+") return primary();
    if (token === "!") return primary() === 0 ? 1 : 0;
    if (token === "(") {
      const value = binary(1);
      if (tokens[at++] !== ")") throw new SyntaxProblem(`arithmetic syntax error: ${expression.trim()}`);
      return value;
    }
    if (/^\d/.test(token)) return Number(token);
    if (/^[$A-Za-z_]/.test(token)) return Math.trunc(Number(variable(token.replace("$", "")) ?? 0)) || 0;
    throw new SyntaxProblem(`arithmetic syntax error: ${expression.trim()}`);
  };
  const binary = (lowest: number): number => {
    let left = primary();
    for (let operator = tokens[at]; operator !== undefined; operator = tokens[at]) {
      const level = precedence[operator];
      if (level === undefined || level < lowest) break;
      at++;
      left = apply(operator, left, binary(level + 1));
    }
    return left;
  };
  const value = binary(1);
  if (at < tokens.length) throw new SyntaxProblem(`arithmetic syntax error: ${expression.trim()}`);
  return value;
}

function apply(operator: string, left: number, right: number): number {
  switch (operator) {
    case "+":
      return left + right;
    case "-":
      return left - right;
    case "*":
      return left * right;
    case "/":
    case "%":
      if (right === 0) throw new SyntaxProblem("divide by zero");
      return operator === "/" ? Math.trunc(left / right) : left % right;
    case "<":
      return Number(left < right);
    case ">":
      return Number(left > right);
    case "<=":
      return Number(left <= right);
    case ">=":
      return Number(left >= right);
    case "==":
      return Number(left === right);
    case "!=":
      return Number(left !== right);
    case "&&":
      return Number(left !== 0 && right !== 0);
    default:
      return Number(left !== 0 || right !== 0);
  }
}
