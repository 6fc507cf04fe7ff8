import { expect, test } from "vitest";
import { GoValue } from "../managed-fields/go-value.ts";
import { compileAdmissionExpression } from "./admission-expressions.ts";
import { configurationOf, ConversionError, patchOperation, typeNameProblems } from "./patch-values.ts";
import { MessageValue } from "./values.ts";

function message(source: string): MessageValue {
  const { compiled, problem } = compileAdmissionExpression(source, { patchTypes: true }, ["any"]);
  expect(problem).toBeUndefined();
  const { value } = compiled?.evaluate(() => undefined) ?? {};
  if (!(value instanceof MessageValue)) throw new TypeError(`${source} is no message`);
  return value;
}

test("fields of messages may have the names of reserved words", () => {
  expect(configurationOf(message("Object{package: 1, metadata: Object.metadata{namespace: 'x', ?name: optional.of('y')}}"))).toEqual({
    package: 1,
    metadata: { namespace: "x", name: "y" },
  });
});

test("integers keep their digits", () => {
  expect(configurationOf(message("Object{a: 9007199254740993 + 2, b: [9007199254740993], c: 3}"))).toEqual({
    a: 9007199254740995n,
    b: [9007199254740993n],
    c: 3,
  });
});

test("a field that is not set is null, and optional fields without a value are left out", () => {
  expect(configurationOf(message("Object{a: Object{}.b == null, ?c: optional.none(), d: [1, 2], e: 2.5}"))).toEqual({
    a: true,
    d: [1, 2],
    e: 2.5,
  });
});

test.each([
  ["Object{a: {'b': {'c': 'd'}}}", "map[ref.Val]ref.Val", 'map[ref.Val]ref.Val{"c":"d"}'],
  ["Object{a: {'b': ['c']}}", "[]ref.Val", '[]ref.Val{"c"}'],
  ["Object{a: {'b': timestamp('2020-01-02T03:04:05Z')}}", "time.Time", "time.Date(2020, time.January, 2, 3, 4, 5, 0, time.UTC)"],
  ["Object{a: {'b': duration('1s')}}", "time.Duration", "1000000000"],
  ["Object{a: {'b': 3u}}", "uint64", "0x3"],
  ["Object{a: {'b': null}}", "structpb.NullValue", "0"],
])("%s has a value that no schema accepts", (source, type, literal) => {
  const { a } = configurationOf(message(source)) as unknown as { a: { b: unknown } };
  expect(a.b).toBeInstanceOf(GoValue);
  expect(a.b).toMatchObject({ type, literal });
});

test("names of types have to be the path of their fields, also in lists and maps", () => {
  expect(typeNameProblems(message("Object{a: [Object.b{}], c: {'d': Object.c{}}}"))).toEqual([
    'unexpected type name "Object.b", expected "Object.a", which matches field name path from root Object type',
  ]);
});

test("values of a JSON patch become JSON", () => {
  expect(patchOperation(message("JSONPatch{op: 'add', path: '/a', value: {'b': [duration('90s'), duration('1s')]}}"))).toEqual({
    op: "add",
    path: "/a",
    value: { b: ["90s", "1s"] },
  });
  expect(patchOperation(message("JSONPatch{op: 'copy', from: '/a', path: '/b'}"))).toEqual({ op: "copy", from: "/a", path: "/b" });
});

test("values of a JSON patch that are no JSON are refused", () => {
  expect(() => patchOperation(message("JSONPatch{op: 'add', path: '/a', value: {1: 'x'}}"))).toThrow(ConversionError);
  expect(() => patchOperation(message("JSONPatch{op: 'add', path: '/a', value: type(1)}"))).toThrow(ConversionError);
});

test.each([
  ["1.0 / 0.0", "+Inf"],
  ["[-1.0 / 0.0]", "-Inf"],
  ["{'a': 0.0 / 0.0}", "NaN"],
  ["Object{a: [1.0 / 0.0]}", "+Inf", "*structpb.Struct"],
])("a patch with %s is refused, because JSON has no %s", (source, shown, type = "*structpb.Value") => {
  const patch = message(`JSONPatch{op: "add", path: "/a", value: ${source}}`);
  expect(() => patchOperation(patch)).toThrow(new ConversionError(infinite(shown, type)));
});

function infinite(shown: string, type: string): string {
  const problem = `proto: google.protobuf.Value.number_value: invalid ${shown} value`;
  return `JSONPath valueExpression evaluated to a type that could not marshal to JSON: json: error calling MarshalJSON for type ${type}: ${problem}`;
}
