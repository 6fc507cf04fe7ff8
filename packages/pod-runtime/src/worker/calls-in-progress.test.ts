import { expect, test } from "vitest";
import { CallsInProgress } from "./calls-in-progress.ts";

const reason = new Error("aborted");

test("aborting a call by its name passes the reason, and affects no other call", () => {
  const calls = new CallsInProgress(new AbortController().signal);
  const [one, other] = [calls.begin("one"), calls.begin("other")];

  calls.abort("one", reason);

  expect([one.signal.reason, other.signal.aborted]).toEqual([reason, false]);
});

test("a call can abort itself", () => {
  const call = new CallsInProgress(new AbortController().signal).begin("one");

  call.abort(reason);

  expect(call.signal.reason).toBe(reason);
});

test("all calls are aborted together", () => {
  const all = new AbortController();
  const call = new CallsInProgress(all.signal).begin("one");

  all.abort(reason);

  expect(call.signal.reason).toBe(reason);
});

test("a call that has ended is not aborted", () => {
  const calls = new CallsInProgress(new AbortController().signal);
  const call = calls.begin("one");
  call[Symbol.dispose]();

  calls.abort("one", reason);
  calls.abortUnless(() => false, reason);

  expect(call.signal.aborted).toBe(false);
});

test("of two calls with the same name the later one is aborted, even after the first has ended", () => {
  const calls = new CallsInProgress(new AbortController().signal);
  const [first, second] = [calls.begin("one"), calls.begin("one")];
  first[Symbol.dispose]();

  calls.abort("one", reason);

  expect([first.signal.aborted, second.signal.aborted]).toEqual([false, true]);
});

test("calls that are not wanted are aborted, and the others continue", () => {
  const calls = new CallsInProgress(new AbortController().signal);
  const [wanted, unwanted] = [calls.begin("wanted"), calls.begin("unwanted")];

  calls.abortUnless((name) => name === "wanted", reason);

  expect([wanted.signal.aborted, unwanted.signal.reason]).toEqual([false, reason]);
});
