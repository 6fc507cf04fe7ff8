import { describe, expect, it } from "vitest";
import { jsonText, parseExactJson, withExactNumbers } from "./exact-json.ts";

describe("parseExactJson", () => {
  it("keeps the digits of integers that a number would alter", () => {
    expect(parseExactJson('{"a":[1,{"n":9007199254740993}],"b":-9223372036854775808}')).toEqual({
      a: [1, { n: 9007199254740993n }],
      b: -9223372036854775808n,
    });
    expect(parseExactJson("9223372036854775807")).toBe(9223372036854775807n);
  });

  it("makes numbers of integers that a number holds, and keeps text that looks like one", () => {
    const text = '{"a":9007199254740991,"b":-9007199254740991,"c":9007199254740992,"d":"9007199254740993","e":" 9007199254740993"}';
    expect(JSON.stringify(parseExactJson(text))).toBe(text);
  });

  it("reads floating point and integers beyond 64 bits as Go does", () => {
    expect(parseExactJson("[1.00000000000000002345,12345678901234567890123,1e30,9007199254740993.0]")).toEqual([
      1, 1.2345678901234568e22, 1e30, 9007199254740992,
    ]);
  });
});

describe("jsonText", () => {
  it("writes bigints as integers", () => {
    expect(jsonText({ a: [9007199254740993n], b: "x" })).toBe('{"a":[9007199254740993],"b":"x"}');
    expect(jsonText([1n], 1)).toBe("[\n 1\n]");
  });

  it("throws for what JSON cannot have", () => {
    const circle: unknown[] = [];
    circle.push(circle);
    expect(() => jsonText(circle)).toThrow(TypeError);
  });
});

describe("withExactNumbers", () => {
  it("turns bigints into numbers, except those that a number would alter", () => {
    expect(withExactNumbers({ a: 1n, b: [2n, "x", null], c: [{ d: 9007199254740993n }] })).toEqual({
      a: 1,
      b: [2, "x", null],
      c: [{ d: 9007199254740993n }],
    });
  });
});
