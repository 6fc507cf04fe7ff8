import { checkExpression, type Checked } from "./check.ts";
import { CostLimitError, costLimitExceeded, CostTracker, perCallLimit } from "./cost.ts";
import type { Environment } from "./environment.ts";
import { planProgram, type Activation, type Program } from "./evaluate.ts";
import { issuesText, type Expression } from "./expression.ts";
import { literalIssues, patternProblem } from "./literal-issues.ts";
import { parseExpression } from "./parse.ts";
import { errorType, type CelType } from "./types.ts";
import { EvaluationError, type Value } from "./values.ts";

/** Result of an evaluation. */
export interface Evaluation {
  /** `undefined` if the evaluation failed. */
  readonly value?: Value;
  /** Why it failed, such as `no such key: x`. */
  readonly error?: string;
  readonly cost: number;
}

/** An expression that can be evaluated. */
export interface CompiledExpression {
  readonly source: string;
  readonly outputType: CelType;
  readonly expression: Expression;
  readonly checked: Checked;
  /** Evaluates the expression with the values of its variables. @param limit - greatest cost; default: 1,000,000 */
  evaluate(activation: Activation, limit?: number): Evaluation;
}

/**
 * Result of {@link compileExpression}: the expression, or what is wrong with it, such as `compilation failed: ERROR: …`. If only its program
 * cannot be made, the type of its result is known.
 */
export type Compilation =
  | { readonly compiled: CompiledExpression; readonly problem?: never; readonly outputType: CelType }
  | { readonly compiled?: never; readonly problem: string; readonly outputType?: CelType };

/** An expression with the types of its parts, or what is wrong with it, such as `ERROR: <input>:1:1: undeclared reference to 'a' …`. */
type Analysis =
  | { readonly issues: string }
  | { readonly issues?: never; readonly expression: Expression; readonly checked: Checked; readonly outputType: CelType };

/** Parses an expression and checks its types. */
export function analyzeExpression(environment: Environment, source: string): Analysis {
  const { expression, issue } = parseExpression(source);
  if (expression === undefined) return { issues: issuesText(source, [issue]) };
  const checked = checkExpression(environment, expression);
  const issues = checked.issues.length > 0 ? checked.issues : literalIssues(environment, checked, expression);
  if (issues.length > 0) return { issues: issuesText(source, issues) };
  return { expression, checked, outputType: checked.types.get(expression) ?? errorType };
}

/** Parses and checks an expression, and makes its program. */
export function compileExpression(environment: Environment, source: string): Compilation {
  const analysis = analyzeExpression(environment, source);
  if (analysis.issues !== undefined) return { problem: `compilation failed: ${analysis.issues}` };
  const { expression, checked, outputType } = analysis;
  const pattern = patternProblem(expression);
  if (pattern !== undefined) return { problem: `program instantiation failed: ${pattern}`, outputType };
  let program: Program;
  try {
    program = planProgram(environment, checked, expression);
  } catch (error) {
    if (error instanceof EvaluationError) return { problem: `program instantiation failed: ${error.message}`, outputType };
    throw error;
  }
  return {
    outputType,
    compiled: {
      source,
      expression,
      checked,
      outputType,
      evaluate: (activation, limit = perCallLimit) => {
        const tracker = new CostTracker(limit);
        try {
          return { value: program(activation, tracker), cost: tracker.cost };
        } catch (error) {
          if (error instanceof EvaluationError) return { error: error.message, cost: tracker.cost };
          if (error instanceof CostLimitError) return { error: costLimitExceeded, cost: tracker.cost };
          throw error;
        }
      },
    },
  };
}
