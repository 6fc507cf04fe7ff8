import { describe, expect, it } from "vitest";
import { withExactNumbers } from "./exact-json.ts";
import { parseYaml, writeYaml } from "./yaml.ts";

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
      duplicates: 'yaml: unmarshal errors:\n  line 5: key "a" already set in map\n  line 4: key "c" already set in map',
    });
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
