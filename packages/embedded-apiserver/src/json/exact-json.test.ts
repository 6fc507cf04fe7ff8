import { describe, expect, it } from "vitest";
import { exactNumbers, parseExactJson } from "./exact-json.ts";

describe("parseExactJson", () => {
  it("refuses an integer that a number would alter, and names its path", () => {
    const parse = (text: string) => () => parseExactJson(text);

    expect(parse('{"spec":{"items":[1,{"n":9007199254740993}]}}')).toThrow(
      "spec.items[1].n: the embedded API server cannot keep the integer 9007199254740993 exactly: use one between -9007199254740991 and 9007199254740991",
    );
    expect(parse('[{"n":-9223372036854775808}]')).toThrow("[0].n: ");
    expect(parse("9223372036854775807")).toThrow("the integer 9223372036854775807");
  });

  it("keeps integers that a number holds, and text that looks like one", () => {
    const text = '{"a":9007199254740991,"b":-9007199254740991,"c":9007199254740992,"d":"9007199254740993","e":" 9007199254740993"}';
    expect(JSON.stringify(parseExactJson(text))).toBe(text);
  });

  it("reads floating point and integers beyond 64 bits as Go does", () => {
    expect(parseExactJson("[1.00000000000000002345,12345678901234567890123,1e30,9007199254740993.0]")).toEqual([
      1, 1.2345678901234568e22, 1e30, 9007199254740992,
    ]);
  });
});

describe("exactNumbers", () => {
  it("turns big integers into numbers, or refuses them with their path", () => {
    expect(exactNumbers({ a: 1n, b: [2n, "x", null] })).toEqual({ a: 1, b: [2, "x", null] });
    expect(() => exactNumbers({ a: [{ b: 9007199254740993n }] })).toThrow("a[0].b: ");
  });
});
