import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DecodeError } from "../errors/decode-error.ts";
import { decodeLines } from "./line-decoder.ts";

describe("decodeLines", () => {
  test("gives the same lines however the bytes are cut", async () => {
    const character = fc.constantFrom("a", "é", "漢", "😀", " ", "\r", "\0", "\u2028", "\uFEFF");
    const line = fc.array(character, { maxLength: 8 }).map((characters) => characters.join(""));

    await fc.assert(
      fc.asyncProperty(
        fc.array(line),
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
        fc.boolean(),
        async (lines, sizes, ended) => {
          const bytes = Buffer.from(lines.join("\n") + (ended ? "\n" : ""));
          expect(await collect(decodeLines(cut(bytes, sizes)))).toEqual(lines.filter((text) => text !== ""));
        },
      ),
    );
  });

  test("hands out the lines before one that is not UTF-8, and then throws", async () => {
    const lines: string[] = [];
    const read = async (): Promise<void> => {
      for await (const batch of decodeLines(cut(Buffer.concat([Buffer.from("one\ntwo\n"), Buffer.from([0xc3, 0x28, 0x0a])]), [2, 20])))
        lines.push(...batch);
    };

    await expect(read()).rejects.toThrow(new DecodeError("a line is not UTF-8"));
    expect(lines).toEqual(["one", "two"]);
  });

  test("refuses a line over the limit before it has arrived whole", async () => {
    let sent = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (; ; sent++) yield Buffer.alloc(1000, "x");
    }

    await expect(collect(decodeLines(endless(), { maxLineBytes: 10_000 }))).rejects.toThrow("longer than 10000 bytes");
    expect(sent).toBe(10);
  });

  test("takes lines of up to 8 MiB unless told otherwise", async () => {
    const longest = "x".repeat(8 * 1024 * 1024);

    expect(await collect(decodeLines(cut(Buffer.from(`${longest}\n`), [2 ** 24])))).toEqual([longest]);
    await expect(collect(decodeLines(cut(Buffer.from(`${longest}x\n`), [2 ** 24])))).rejects.toThrow("a line is longer than 8388608 bytes");
  });

  test("hands out together the lines that arrive together", async () => {
    const batches: string[][] = [];
    for await (const lines of decodeLines(cut(Buffer.from("a\nb\n\nc\n\nd\nee"), [7, 2, 3]))) batches.push(lines);

    expect(batches).toEqual([["a", "b", "c"], ["d"], ["ee"]]);
  });

  test("counts each line for itself", async () => {
    const lines = ["x".repeat(90), "y".repeat(90)];

    expect(await collect(decodeLines(cut(Buffer.from(lines.join("\n")), [64]), { maxLineBytes: 90 }))).toEqual(lines);
  });

  test("leaves the source when it is left", async () => {
    let left = false;
    async function* source(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield Buffer.from("line\n");
      } finally {
        left = true;
      }
    }

    for await (const lines of decodeLines(source())) {
      expect(lines).toEqual(["line"]);
      break;
    }

    expect(left).toBe(true);
  });
});

async function* cut(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let start = 0, index = 0; start < bytes.length; index++) {
    const size = sizes[index % sizes.length] ?? 1;
    yield bytes.subarray(start, start + size);
    start += size;
  }
}

async function collect(batches: AsyncIterable<readonly string[]>): Promise<string[]> {
  const all: string[] = [];
  for await (const lines of batches) all.push(...lines);
  return all;
}
