import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { addAbortCallback, removeAbortCallback } from "./abort-callbacks.ts";

const listeners = (signal: AbortSignal): number => getEventListeners(signal, "abort").length;

test("each callback of a signal is called once when it aborts, and a removed one is not", () => {
  const abort = new AbortController();
  const called: string[] = [];
  const removed = (): void => void called.push("removed");
  addAbortCallback(abort.signal, () => called.push("first"));
  addAbortCallback(abort.signal, removed);
  addAbortCallback(abort.signal, () => called.push("last"));
  removeAbortCallback(abort.signal, removed);

  abort.abort();
  abort.abort();

  expect(called).toEqual(["first", "last"]);
});

test("a callback can remove another while the signal aborts", () => {
  const abort = new AbortController();
  const called: string[] = [];
  const second = (): void => void called.push("second");
  addAbortCallback(abort.signal, () => removeAbortCallback(abort.signal, second));
  addAbortCallback(abort.signal, second);

  abort.abort();

  expect(called).toEqual([]);
});

test("many callbacks have one listener, and none is left when they are gone", () => {
  const { signal } = new AbortController();
  const callbacks = Array.from({ length: 20 }, () => () => {});
  for (const callback of callbacks) addAbortCallback(signal, callback);
  expect(listeners(signal)).toBe(1);

  for (const callback of callbacks) removeAbortCallback(signal, callback);
  expect(listeners(signal)).toBe(0);

  addAbortCallback(signal, () => {});
  expect(listeners(signal)).toBe(1);
});
