import { expect, test } from "vitest";
import { applyMutant, findMutants, isParsed } from "./mutants.ts";

/** All sources that one mutant makes of the text. */
function mutated(text: string): string[] {
  return findMutants("x.ts", text).mutants.map((mutant) => applyMutant(text, mutant));
}

test("a comparison is turned round, moved by one and decided both ways", () => {
  expect(mutated("f(a < b)")).toEqual(["f(a <= b)", "f(a >= b)", "f(true)", "f(false)"]);
  expect(mutated("f(a === b)")).toEqual(["f(a !== b)", "f(true)", "f(false)"]);
});

test("a logical operator is swapped within parentheses, so that the rest of the expression keeps its meaning", () => {
  expect(mutated("f(a ?? b ?? c)")).toEqual(["f(((a ?? b) && c))", "f((a && b) ?? c)"]);
});

test("conditions of branches are decided both ways, and loops never begin", () => {
  expect(mutated("if (ok) f();")).toEqual(["if (true) f();", "if (false) f();"]);
  expect(mutated("const x = ok ? a : b")).toEqual(["const x = true ? a : b", "const x = false ? a : b"]);
  expect(mutated("while (ok) f();")).toEqual(["while (false) f();"]);
});

test("numbers that count get one more, and sizes and times are doubled", () => {
  expect(mutated("f(0)")).toEqual(["f(1)"]);
  expect(mutated("f(30_000)")).toEqual(["f(60000)"]);
});

test("literals are emptied, negated or filled", () => {
  expect(mutated('f("a", "", true, [b], [], { c })')).toEqual([
    'f("", "", true, [b], [], { c })',
    'f("a", "mutated", true, [b], [], { c })',
    'f("a", "", false, [b], [], { c })',
    'f("a", "", true, [], [], { c })',
    'f("a", "", true, [b], ["mutated"], { c })',
    'f("a", "", true, [b], [], {})',
  ]);
});

test("a pattern loses its anchors", () => {
  expect(mutated("f(/^a$/u)")).toEqual(["f(/a$/u)", "f(/^a/u)"]);
});

test("an optional chain is taken for granted", () => {
  expect(mutated("f(a?.b, c?.[d], e?.())")).toEqual(["f(a.b, c?.[d], e?.())", "f(a?.b, c[d], e?.())", "f(a?.b, c?.[d], e())"]);
});

test("what an API server always sets may be taken for granted", () => {
  expect(mutated('f(pod.metadata?.uid, pod.spec?.nodeName, pod.metadata?.name ?? "")')).toEqual([
    'f(pod.metadata?.uid, pod.spec?.nodeName, (pod.metadata?.name && ""))',
  ]);
});

test("well-known methods are swapped or left out", () => {
  expect(mutated("f(a.some(b), c.slice(d))")).toEqual(["f(a.every(b), c.slice(d))", "f(a.some(b), c)"]);
});

test("a function loses its body, and each statement of several", () => {
  expect(mutated("function f() { g(); h = i; }")).toEqual(["function f() {}", "function f() { ; h = i; }", "function f() { g(); ; }"]);
  expect(mutated("function f() { g(); }")).toEqual(["function f() {}"]);
});

test("a returned value is left out, unless the function returns nothing else or the value has mutants itself", () => {
  expect(mutated("function f() { g(); return h; }")).toContain("function f() { g(); return undefined; }");
  expect(mutated("function f() { return g; }")).toEqual(["function f() {}"]);
  expect(mutated("const f = () => g(h)")).toEqual(["const f = () => undefined"]);
  expect(mutated("const f = () => !h")).toEqual(["const f = () => h"]);
});

test("a clause of a switch does nothing", () => {
  expect(mutated("switch (a) { case b: f(); break; }")).toContain("switch (a) { case b:  }");
});

test("a clause that the compiler has proved unreachable has no mutants", () => {
  expect(mutated("switch (a) { default: return a satisfies never; }")).toEqual([]);
  expect(mutated("switch (a) { default: a satisfies never; }")).toEqual([]);
  expect(mutated("switch (a) { default: return b; }")).not.toEqual([]);
});

test("types, imports and property names have no mutants", () => {
  const text =
    'import a from "a"; export { b } from "b"; type C = "c" | 1; interface D { e: "e" } const f: "f" = g as "g"; const h = { "i-j": k } satisfies 1;';
  expect(mutated(text)).toEqual([text.replace('{ "i-j": k }', "{}")]);
});

test("messages for people have no mutants, but the data beside them has", () => {
  expect(mutated('throw new InvalidInputError(`no ${a ?? "b"}`, { cause })')).toEqual([]);
  expect(mutated('throw new InvalidInputError(`no ${a}`, { field: "spec" })')).toEqual([
    "throw new InvalidInputError(`no ${a}`, {})",
    'throw new InvalidInputError(`no ${a}`, { field: "" })',
  ]);
  expect(mutated('f({ message: `no ${a}` , reason: "No" })')).toEqual(["f({})", 'f({ message: `no ${a}` , reason: "" })']);
  expect(mutated('f("this is no name")')).toEqual([]);
});

test("a warning must be given, what it says is open, and what is logged of normal work need not be", () => {
  expect(mutated('{ this.#logger.warn({ a: "b" }, "c"); d; }')).toEqual(["{ ; d; }", '{ this.#logger.warn({ a: "b" }, "c"); ; }']);
  expect(mutated('{ logger.debug({ a: "b" }, "c"); d; }')).toEqual(['{ logger.debug({ a: "b" }, "c"); ; }']);
});

test("what a constructor stores and the call of its parent's stay", () => {
  expect(mutated("class A extends B { constructor(a) { super(a); this.#a = a; } }")).toEqual([]);
});

test("a mutant says where it is, and a small one what stands around it", () => {
  const { mutants } = findMutants("x.ts", "class A {\n  #b() {\n    c();\n    this.d = 1;\n  }\n}\n");
  expect(mutants).toContainEqual(
    expect.objectContaining({ line: 4, within: "A.#b", original: "this.d = 1;", mutated: "this.d = 2;", nth: 1, region: 1 }),
  );
});

test("equal mutants of a function are numbered", () => {
  const { mutants } = findMutants("x.ts", "function f() { if (a) { g(); } h(); if (a) { g(); } }");
  expect(mutants.filter(({ mutated: to }) => to === "if (true) { g(); }").map(({ nth }) => nth)).toEqual([1, 2]);
});

test("a text that is no program is found out", () => {
  expect(isParsed("const a: B = 1;")).toBe(true);
  expect(isParsed("const a = b ?? c && d;")).toBe(false);
});
