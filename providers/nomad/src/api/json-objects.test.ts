import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonObjects } from "./json-objects.ts";

async function* cut(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (const size of sizes) {
    yield bytes.subarray(at, at + size);
    at += size;
  }
  yield bytes.subarray(at);
}

async function all(chunks: AsyncIterable<Uint8Array>): Promise<unknown[]> {
  const objects: unknown[] = [];
  for await (const object of jsonObjects(chunks)) objects.push(object);
  return objects;
}

test("objects come one by one, however they are cut and whatever stands in their strings", async () => {
  const objects = fc.array(fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.constant({ "}": '{"\\' }))), { maxLength: 6 });
  const separators = fc.constantFrom("", "\n", "\n\n");
  await fc.assert(
    fc.asyncProperty(objects, separators, fc.array(fc.integer({ min: 1, max: 9 })), async (values, separator, sizes) => {
      const bytes = Buffer.from(values.map((value) => JSON.stringify(value)).join(separator));
      expect(await all(cut(bytes, sizes))).toEqual(values.map((value) => JSON.parse(JSON.stringify(value)) as unknown));
    }),
  );
});

test("an object that breaks off is not given", async () => {
  expect(await all(cut(Buffer.from('{"a":1}{"b":'), []))).toEqual([{ a: 1 }]);
});
