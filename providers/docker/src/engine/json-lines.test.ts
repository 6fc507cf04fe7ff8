import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { jsonLines } from "./json-lines.ts";

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
