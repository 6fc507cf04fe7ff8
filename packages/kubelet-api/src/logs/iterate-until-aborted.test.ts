import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { iterateUntilAborted } from "./iterate-until-aborted.ts";

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const values: T[] = [];
  for await (const value of source) values.push(value);
  return values;
}

test("all values are returned, and no listener is left", async () => {
  const { signal } = new AbortController();
  let ended = 0;
  async function* source(): AsyncGenerator<number> {
    try {
      yield* [1, 2, 3];
    } finally {
      ended++;
    }
  }

  expect(await collect(iterateUntilAborted(source(), signal))).toEqual([1, 2, 3]);
  expect([ended, getEventListeners(signal, "abort")]).toEqual([1, []]);
});

test("a source does not need a return method", async () => {
  let left = 2;
  const source = { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: left-- === 0, value: left }) }) };

  expect(await collect(iterateUntilAborted(source as AsyncIterable<number>, new AbortController().signal))).toEqual([1, 0]);
});

test("an error of the source is thrown, even if its return method throws as well", async () => {
  const source: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => ({
      next: () => Promise.reject(new Error("broken")),
      return: () => Promise.reject(new Error("broken again")),
    }),
  };

  await expect(collect(iterateUntilAborted(source, new AbortController().signal))).rejects.toThrow("broken");
});

test("after an abort no further value is requested, and the source is ended", async () => {
  const stop = new AbortController();
  const calls: string[] = [];
  const source: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        calls.push("next");
        return { done: false, value: 1 };
      },
      return: async () => {
        calls.push("return");
        return { done: true, value: undefined };
      },
    }),
  };
  const values = iterateUntilAborted(source, stop.signal);
  await values.next();

  stop.abort(new Error("gone"));

  await expect(values.next()).rejects.toThrow("gone");
  expect(calls).toEqual(["next", "return"]);
});

test("if the signal is already aborted, nothing is started", async () => {
  let begun = 0;
  const source: AsyncIterable<number> = {
    [Symbol.asyncIterator]: () => {
      begun++;
      return { next: async () => ({ done: true, value: undefined }) };
    },
  };

  await expect(collect(iterateUntilAborted(source, AbortSignal.abort(new Error("gone"))))).rejects.toThrow("gone");
  expect(begun).toBe(0);
});
