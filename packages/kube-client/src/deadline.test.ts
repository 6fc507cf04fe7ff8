import { isDeadlineExceeded } from "@virtual-kubelet/errdefs";
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { withDeadline } from "./deadline.ts";
import { FakeClock } from "./fake-clock.ts";

const never = (): Promise<never> => Promise.withResolvers<never>().promise;

function deadline(clock: FakeClock): Parameters<typeof withDeadline>[0] {
  return { clock, timeoutMs: 5_000, what: "ping the provider" };
}

test("a call that ends in time is handed on, and leaves neither a timer nor a listener", async () => {
  const clock = new FakeClock();
  const { signal } = new AbortController();

  expect(await withDeadline(deadline(clock), signal, () => Promise.resolve(7))).toBe(7);
  expect(clock.pending).toBe(0);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("a call that does not heed its signal is left at the deadline, and the error names what was attempted", async () => {
  const clock = new FakeClock();
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
  const clock = new FakeClock();
  const reason = new Error("enough");
  const abort = new AbortController();
  const call = withDeadline(deadline(clock), abort.signal, never);

  abort.abort(reason);
  await expect(call).rejects.toBe(reason);
  let begun = 0;
  await expect(withDeadline(deadline(clock), abort.signal, async () => begun++)).rejects.toBe(reason);
  expect(begun).toBe(0);
});
