import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { jsonLines } from "./json-lines.ts";

test("a line that is too long is skipped where something stands for it", async () => {
  const chunks = ['{"a":1}\n{"b":"', ..."xy".split("").map((letter) => letter.repeat(5_000_000)), 'z"}\n{"c":3}\n'];
  const values: unknown[] = [];
  for await (const value of jsonLines(Readable.from(chunks), "too long")) values.push(value);

  expect(values).toEqual([{ a: 1 }, "too long", { c: 3 }]);
});

async function read(...chunks: readonly (string | Buffer)[]): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const value of jsonLines(Readable.from(chunks))) values.push(value);
  return values;
}

test("a value is a line, wherever chunks end, also in the middle of a character", async () => {
  const bytes = Buffer.from('{"a":"ü"}\r\n\r\n{"b":1}\n[2]');

  for (let at = 0; at <= bytes.length; at++)
    expect(await read(bytes.subarray(0, at), bytes.subarray(at))).toEqual([{ a: "ü" }, { b: 1 }, [2]]);
});

test("what is no JSON, or has no end, is an error", async () => {
  await expect(read("no\n")).rejects.toThrow(SyntaxError);
  await expect(read("x".repeat(5_000_000))).rejects.toThrow(RangeError);
});
