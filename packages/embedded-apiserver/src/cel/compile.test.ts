import { expect, test } from "vitest";
import { compileExpression } from "./compile.ts";
import { baseFunctions } from "./functions/index.ts";

const environment = { variables: new Map(), functions: baseFunctions, fieldType: () => undefined };

test.each([
  ["int('0x10') == 16", "program instantiation failed: type conversion error from 'string' to 'int'"],
  ["bool('yes')", "program instantiation failed: type conversion error from 'string' to 'bool'"],
  ["double('') == 0.0", "program instantiation failed: type conversion error from 'string' to 'double'"],
  ["uint(-1) == 1u", "program instantiation failed: unsigned integer overflow"],
  ["int(1e300) == 1", "program instantiation failed: integer overflow"],
])("%s is refused, because its constant cannot be converted", (source, problem) => {
  expect(compileExpression(environment, source).problem).toBe(problem);
});

/** Answers of a kube-apiserver v1.36.3. */
test.each([
  "string(1234567.0) == '1.234567e+06'",
  "string(123456.0) == '123456'",
  "string(1e20) == '1e+20'",
  "'%s'.format([1e6]) == '1e+06'",
  "'%.2f'.format([2.675]) == '2.67'",
  "'%.2f'.format([-0.125]) == '-0.12'",
  "'%.0f'.format([0.5]) == '0'",
  "'%.0f'.format([1.5]) == '2'",
  "'%.0f'.format([2.5]) == '2'",
  "'%.1f'.format([0.25]) == '0.2'",
  "'%f'.format([1234567.0]) == '1,234,567.000000'",
  "'%.3f'.format([1e22]) == '10,000,000,000,000,000,000,000.000'",
  "'%.101f'.format([1.0]).size() == 103",
  "'\\ufeffx'.trim() != 'x'",
  "'\\u0085x\\u2028'.trim() == 'x'",
  "dyn(9007199254740993) == dyn(9007199254740992.0)",
  "optional.of({'k': 'v'})['k'].orValue('') == 'v'",
  "!optional.of({'k': 'v'})['x'].hasValue()",
  "optional.of(['x'])[0].orValue('') == 'x'",
  "duration('1h') == duration('60m') && !(dyn(1) == dyn(1.5))",
])("%s", (source) => {
  expect(compileExpression(environment, source).compiled?.evaluate(() => undefined)).toMatchObject({ value: true });
});
