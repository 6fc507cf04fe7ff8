import { VirtualClock } from "@virtual-kubelet/clock";
import { isDeadlineExceeded } from "@virtual-kubelet/errdefs";
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { withDeadline } from "./deadline.ts";

const never = (): Promise<never> => Promise.withResolvers<never>().promise;

function deadline(clock: VirtualClock): Parameters<typeof withDeadline>[0] {
  return { clock, timeoutMs: 5_000, what: "ping the provider" };
}

test("a call that ends in time is handed on, and leaves neither a timer nor a listener", async () => {
  const clock = new VirtualClock();
  const { signal } = new AbortController();

  expect(await withDeadline(deadline(clock), signal, () => Promise.resolve(7))).toBe(7);
  expect(clock.pending).toBe(0);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("a call that does not heed its signal is left at the deadline, and the error names what was attempted", async () => {
  const clock = new VirtualClock();
  const signals: AbortSignal[] = [];
  const call = withDeadline(deadline(clock), new AbortController().signal, (inner) => {
    signals.push(inner);
    return never();
  });
  const ended = call.catch((error: unknown) => error);

  await clock.advance(5_000);
  const error = await ended;
  expect(isDeadlineExceeded(error)).toBe(true);
  expect(error).toMatchObject({ message: "ping the provider: no answer within 5 s" });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

test("an abort from outside ends the wait with its own reason, and a call is not begun after it", async () => {
  const clock = new VirtualClock();
  const reason = new Error("enough");
  const abort = new AbortController();
  const call = withDeadline(deadline(clock), abort.signal, never);

  abort.abort(reason);
  await expect(call).rejects.toBe(reason);
  let begun = 0;
  await expect(withDeadline(deadline(clock), abort.signal, async () => begun++)).rejects.toBe(reason);
  expect(begun).toBe(0);
});

test("a call that fails in time fails with its own error, and leaves neither a timer nor a listener", async () => {
  const clock = new VirtualClock();
  const { signal } = new AbortController();

  await expect(withDeadline(deadline(clock), signal, () => Promise.reject(new Error("refused")))).rejects.toThrow("refused");
  expect(clock.pending).toBe(0);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("the call's own signal has the reason why it is given up, and not a millisecond before the deadline", async () => {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const signals: AbortSignal[] = [];
  const call = (inner: AbortSignal): Promise<never> => {
    signals.push(inner);
    return never();
  };
  const late = withDeadline(deadline(clock), new AbortController().signal, call).catch((error: unknown) => error);
  const stopped = withDeadline(deadline(clock), abort.signal, call).catch((error: unknown) => error);

  abort.abort(new Error("enough"));
  await clock.advance(4_999);
  expect(signals.map(({ reason }) => (reason as Error | undefined)?.message)).toEqual([undefined, "enough"]);
  await clock.advance(1);

  expect(signals.map(({ reason }) => reason as unknown)).toEqual([await late, await stopped]);
});

test("thousands that wait for one signal have one listener, and all of them end with it", async () => {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const { signal } = abort;
  const work = Promise.withResolvers<never>().promise;
  const waiting = Array.from({ length: 1_000 }, () => withDeadline(deadline(clock), signal, () => work));
  expect(getEventListeners(signal, "abort")).toHaveLength(1);

  abort.abort(new Error("over"));
  const outcomes = await Promise.allSettled(waiting);

  expect(new Set(outcomes.map((outcome) => outcome.status === "rejected" && outcome.reason))).toEqual(new Set([signal.reason]));
});
