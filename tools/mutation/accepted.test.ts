import { expect, test } from "vitest";
import { findAccepted, parseAccepted } from "./accepted.ts";
import { findMutants } from "./mutants.ts";

const { mutants } = findMutants("x.ts", "function f(a) { return a === 1; }");
const entry = `
- file: x.ts
  in: f
  original: return a === 1;
  mutant: return true;
  reason: Nobody calls it with anything else.
`;

test("an entry names the mutant of a function by its text", () => {
  const { found, gone } = findAccepted(parseAccepted(entry, "x.yaml"), mutants);
  expect([...found.keys()].map(({ line, replacement }) => [line, replacement])).toEqual([[1, "true"]]);
  expect(gone).toEqual([]);
});

test("an entry whose mutant no longer exists is found", () => {
  const { found, gone } = findAccepted(parseAccepted(entry.replace("=== 1", "=== 9"), "x.yaml"), mutants);
  expect(found.size).toBe(0);
  expect(gone).toHaveLength(1);
});

test("an entry needs a reason", () => {
  expect(() => parseAccepted(entry.replace(/reason: .*/, 'reason: ""'), "x.yaml")).toThrow(/^x\.yaml: 0\.reason: /);
});

test("an empty file accepts nothing", () => {
  expect(parseAccepted("# none\n", "x.yaml")).toEqual([]);
});
