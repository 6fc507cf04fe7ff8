import fc from "fast-check";
import { expect, test } from "vitest";
import { LatestSizes } from "./latest-sizes.ts";
import { encodeSize, ResizeParser } from "./resizes.ts";
import type { TerminalSize } from "./terminal-size.ts";

const cells = fc.integer({ min: 0, max: 0xffff });

test("a size is encoded as kubectl encodes it", () => {
  expect(encodeSize({ width: 101, height: 33 }).toString()).toBe('{"Width":101,"Height":33}\n');
});

test("sizes are parsed the same however their bytes are split", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ width: cells, height: cells }), { maxLength: 5 }), fc.integer({ min: 1, max: 40 }), (sizes, step) => {
      const bytes = Buffer.concat(sizes.map(encodeSize));
      const parser = new ResizeParser();
      const parsed: TerminalSize[] = [];
      for (let start = 0; start < bytes.length; start += step) parsed.push(...parser.push(bytes.subarray(start, start + step)));

      expect(parsed).toEqual(sizes);
    }),
  );
});

test("an invalid size is skipped, and the next one is read", () => {
  const parser = new ResizeParser();

  expect(parser.push(Buffer.from('}{"Width":-1,"Height":2}{{"Width":70000,"Height":1}[]{"Width":1,"Height":2}'))).toEqual([
    { width: 1, height: 2 },
  ]);
});

test("bytes of a size that never ends are not kept", () => {
  const parser = new ResizeParser();
  for (let count = 0; count < 100; count++) parser.push(Buffer.alloc(1000, "{"));

  expect(parser.push(encodeSize({ width: 1, height: 2 }))).toEqual([{ width: 1, height: 2 }]);
});

test("garbage never throws", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 100 }), { maxLength: 5 }), (chunks) => {
      const parser = new ResizeParser();

      for (const chunk of chunks) expect(Array.isArray(parser.push(Buffer.from(chunk)))).toBe(true);
    }),
  );
});

test("a late reader gets the last size, and sizes that were not read are skipped", async () => {
  const sizes = new LatestSizes();
  sizes.set({ width: 1, height: 1 });
  sizes.set({ width: 2, height: 2 });
  const iterator = sizes[Symbol.asyncIterator]();

  expect(await iterator.next()).toEqual({ done: false, value: { width: 2, height: 2 } });
  const next = iterator.next();
  sizes.set({ width: 3, height: 3 });
  sizes.set({ width: 4, height: 4 });
  expect(await next).toEqual({ done: false, value: { width: 4, height: 4 } });
  sizes.end();
  expect(await iterator.next()).toEqual({ done: true, value: undefined });
});

test("a loop over sizes ends when the sizes end", async () => {
  const sizes = new LatestSizes();
  const seen: number[] = [];
  const loop = (async () => {
    for await (const { width } of sizes) seen.push(width);
  })();
  sizes.set({ width: 5, height: 1 });
  await Promise.resolve();

  sizes.end();
  await loop;

  expect(seen).toEqual([5]);
});
