import { expect, test } from "vitest";
import { Inbox } from "./inbox.ts";

function inbox(limit = 1000): { readonly inbox: Inbox; readonly full: boolean[]; readonly taken: (string | undefined)[]; take(): void } {
  const full: boolean[] = [];
  const taken: (string | undefined)[] = [];
  const box = new Inbox(limit, (isFull) => void full.push(isFull));
  return { inbox: box, full, taken, take: () => box.take((chunk) => void taken.push(chunk?.toString())) };
}

test("chunks that wait are delivered as one", () => {
  const { inbox: box, taken, take } = inbox();
  box.add(Buffer.from("a"));
  box.add(Buffer.from("b"));

  take();

  expect(taken).toEqual(["ab"]);
});

test("a waiting reader gets the next chunk at once, and only that chunk", () => {
  const { inbox: box, taken, take } = inbox();
  take();

  box.add(Buffer.from("a"));
  box.add(Buffer.from("b"));

  expect(taken).toEqual(["a"]);
  take();
  expect(taken).toEqual(["a", "b"]);
});

test("the end is delivered once, after the buffered data", () => {
  const { inbox: box, taken, take } = inbox();
  box.add(Buffer.from("a"));
  box.end();
  box.add(Buffer.from("late"));

  take();
  take();
  take();

  expect(taken).toEqual(["a", undefined]);
});

test("the inbox is full above its limit, and no longer full once it is emptied", () => {
  const { inbox: box, full, take } = inbox(1000);
  box.add(Buffer.alloc(700));
  expect(full).toEqual([]);

  box.add(Buffer.alloc(100));
  box.add(Buffer.alloc(100));
  expect(full).toEqual([true]);

  take();
  expect(full).toEqual([true, false]);
});

test("many small chunks fill the inbox sooner than their bytes alone would", () => {
  const { inbox: box, full } = inbox(10_000);
  for (let count = 0; count < 100; count++) box.add(Buffer.alloc(1));

  expect(full).toEqual([true]);
});

test("discarding drops buffered chunks and all later ones", () => {
  const { inbox: box, full, taken, take } = inbox(100);
  box.add(Buffer.alloc(200));

  box.discard();
  box.add(Buffer.alloc(200));
  take();

  expect([full, taken]).toEqual([[true, false], []]);
});

test("a small chunk does not keep the large read it is part of", () => {
  const read = Buffer.alloc(64 * 1024);
  const { inbox: box } = inbox();
  box.add(read.subarray(0, 10));
  read.fill(1);
  let taken: Buffer | undefined;

  box.take((chunk) => (taken = chunk));

  expect(taken).toEqual(Buffer.alloc(10));
});
