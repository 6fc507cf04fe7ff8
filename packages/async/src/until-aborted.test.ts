import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { untilAborted } from "./until-aborted.ts";

const reason = new Error("enough");

test("what the work comes to is handed on, and the signal is let go", async () => {
  const { signal } = new AbortController();

  expect(await untilAborted(Promise.resolve(7), signal)).toBe(7);
  await expect(untilAborted(Promise.reject(new Error("broken")), signal)).rejects.toThrow("broken");
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("who gives up waits no longer, and the work goes on", async () => {
  const abort = new AbortController();
  const work = Promise.withResolvers<string>();
  const waiting = untilAborted(work.promise, abort.signal);

  abort.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  work.resolve("done");
  expect(await work.promise).toBe("done");
});

test("with a signal that has aborted nobody waits, and a failure that comes later is nobody's", async () => {
  const work = Promise.withResolvers<string>();
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);

  await expect(untilAborted(work.promise, AbortSignal.abort(reason))).rejects.toBe(reason);
  work.reject(new Error("too late"));
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});
