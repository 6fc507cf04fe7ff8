import { describe, expect, test } from "vitest";
import { evaluateCondition, evaluateExpression, renderTemplate, type ExpressionScope } from "./expression.ts";

const scope: ExpressionScope = {
  contexts: {
    matrix: { kubernetes: "1.34", "node-version": 24 },
    needs: { select: { outputs: { mode: "version" } } },
    github: { ref: "refs/heads/main", event_name: "pull_request" },
  },
  functions: { join: (...words) => words.join("+") },
};

describe("an expression", () => {
  test.for<[string, unknown]>([
    ["'it''s'", "it's"],
    ["1.5", 1.5],
    ["matrix.kubernetes", "1.34"],
    ["matrix['node-version']", 24],
    ["matrix.node-version == 24", true],
    ["matrix.other", null],
    ["matrix.other.deeper", null],
    ["needs.select.outputs.mode == 'VERSION'", true],
    ["needs.select.outputs.mode != 'version'", false],
    ["github.event_name == 'push' || github.ref == 'refs/heads/main'", true],
    ["github.event_name == 'pull_request' && github.ref", "refs/heads/main"],
    ["!(1 < 2)", false],
    ["2 >= 3", false],
    ["join('a', matrix.kubernetes, true)", "a+1.34+true"],
    ["null == 0", true],
  ])("%s is worth %s", ([text, value]) => {
    expect(evaluateExpression(text, scope)).toBe(value);
  });

  test.for([
    ["secrets.TOKEN", "there is no context secrets"],
    ["toJSON(matrix)", "there is no function toJSON"],
    ["'a' 'b'", "unexpected 'b'"],
    ["matrix.", "expected a name"],
    ["(1", "expected )"],
    ['"double"', "no token"],
    ["", "ends too early"],
  ])("%s is refused", ([text = "", problem = ""]) => {
    expect(() => evaluateExpression(text, scope)).toThrow(problem);
  });
});

test("a template's expressions are replaced by their values, and null by nothing", () => {
  expect(renderTemplate("k-${{ matrix.kubernetes }}-${{matrix.other}}-$HOME", scope)).toBe("k-1.34--$HOME");
});

describe("a condition", () => {
  test.for<[string | undefined, boolean, boolean]>([
    [undefined, true, true],
    [undefined, false, false],
    ["needs.select.outputs.mode == 'version'", true, true],
    ["needs.select.outputs.mode == 'version'", false, false],
    ["needs.select.outputs.mode == 'publish'", true, false],
    ["${{ always() }}", false, true],
    ["failure()", false, true],
    ["failure()", true, false],
    ["success() || github.ref == 'refs/heads/main'", false, true],
  ])("%s after success %s holds: %s", ([condition, hasSucceeded, holds]) => {
    expect(evaluateCondition(condition, hasSucceeded, scope)).toBe(holds);
  });
});
