import { describe, expect, it } from "vitest";
import { withExactNumbers } from "./exact-json.ts";
import { parseYaml, strictWarnings } from "./yaml.ts";
import { writeYaml } from "./yaml-writer.ts";

const parse = (text: string): unknown => withExactNumbers(parseYaml(text).value);

describe("parseYaml", () => {
  it("reads YAML 1.1 as Go's library does: on is true, times are text", () => {
    expect(parse("a: on\nb: 12:30\nc: 2024-01-02\nd: 0x10\ne: ~\nf: 1.5\ng: 'no'\n")).toEqual({
      a: true,
      b: "12:30",
      c: "2024-01-02",
      d: 16,
      e: null,
      f: 1.5,
      g: "no",
    });
  });

  it("reads the first document, with anchors and merge keys", () => {
    expect(parse("a: &a {x: 1}\nb: {<<: *a, z: 2}\n---\nc: 3\n")).toEqual({ a: { x: 1 }, b: { x: 1, z: 2 } });
  });

  it("keeps the last of two equal keys and tells their lines", () => {
    expect(parseYaml("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n")).toEqual({
      value: { a: 3n, b: { c: 2n } },
      duplicates: 'yaml: unmarshal errors:\n  line 4: key "c" already set in map\n  line 5: key "a" already set in map',
    });
  });

  it.each([
    [
      "the line is that of the value, or of its anchor or tag",
      "a:\na:\n\n  1\na: &x\n  2\na: !!str\n  3\n",
      ['4: "a"', '5: "a"', '7: "a"'],
    ],
    ["keys are compared with their types", "1: a\n'1': b\ntrue: c\nyes: d\n1: e\n", ["4: true", "5: 1"]],
    ["an alias is read again", "a: &x\n  b: 1\n  b: 2\nc: *x\n", ['3: "b"', '3: "b"']],
    ["merged keys count", "a: &x {b: 1}\nc: {<<: [*x, {b: 2}], b: 3}\nd:\n  b: 1\n  <<: *x\n", ['1: "b"', '2: "b"', '1: "b"']],
    ["a key without a value has its own line", "a: {b: 1,\n  b}\n", ['2: "b"']],
  ])("tells equal keys as Go's library does: %s", (_, text, keys) => {
    const lines = keys.map((key) => `  line ${key.replace(": ", ": key ")} already set in map`);
    expect(parseYaml(text).duplicates).toBe(`yaml: unmarshal errors:\n${lines.join("\n")}`);
  });

  it("throws for malformed text", () => {
    expect(() => parse("a: [")).toThrow();
  });
});

describe("writeYaml", () => {
  it("sorts keys and quotes what would be read as something else", () => {
    expect(writeYaml({ b: ["x", { d: 1, c: "on" }], a: "2026-11-29T10:58:12Z", n: "1", e: {}, t: "a\nb\n" })).toBe(
      'a: "2026-11-29T10:58:12Z"\nb:\n- x\n- c: "on"\n  d: 1\ne: {}\n"n": "1"\nt: |\n  a\n  b\n',
    );
  });
});

describe("strictWarnings", () => {
  it("is a warning for each key of YAML", () => {
    expect(strictWarnings(parseYaml("a: 1\na: 2\na: 3\n").duplicates ?? "")).toEqual([
      'line 2: key "a" already set in map',
      'line 3: key "a" already set in map',
    ]);
  });

  it("keeps any other problem", () => {
    expect(strictWarnings('unknown field "a"')).toEqual(['unknown field "a"']);
  });
});
