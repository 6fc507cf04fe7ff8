import { VirtualClock } from "@virtual-kubelet/clock";
import { isDeadlineExceeded } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { ExclusiveCall } from "./exclusive-call.ts";

const never = new AbortController().signal;

test("ExclusiveCall.run returns what the call returns, and leaves no timer", async () => {
  const clock = new VirtualClock();
  const call = new ExclusiveCall({ clock, timeoutMs: 1_000, what: "ask" }, () => Promise.resolve(5));

  await expect(call.run(never)).resolves.toBe(5);
  expect(clock.pending).toBe(0);
});

test("ExclusiveCall.run aborts the call at its deadline, and does not wait for one that ignores that", async () => {
  const clock = new VirtualClock();
  const signals: AbortSignal[] = [];
  const call = new ExclusiveCall({ clock, timeoutMs: 1_000, what: "ask" }, (signal) => {
    signals.push(signal);
    return new Promise<never>(() => {});
  });

  const outcome = call.run(never).catch((error: unknown) => error);
  await clock.advance(1_000);

  const error = await outcome;
  expect(isDeadlineExceeded(error)).toBe(true);
  expect(error).toMatchObject({ message: "ask: no answer within 1 s" });
  expect(signals[0]?.aborted).toBe(true);
});

test("ExclusiveCall.run begins no second call while one has not come back", async () => {
  const clock = new VirtualClock();
  const held = Promise.withResolvers<number>();
  let calls = 0;
  const call = new ExclusiveCall({ clock, timeoutMs: 1_000, what: "ask" }, () => (calls++ === 0 ? held.promise : Promise.resolve(2)));
  const first = call.run(never).catch((error: unknown) => error);
  await clock.advance(1_000);
  await first;

  await expect(call.run(never)).rejects.toThrow("ask: the previous call has not returned yet");
  held.resolve(1);
  await clock.advance(0);
  await expect(call.run(never)).resolves.toBe(2);

  expect(calls).toBe(2);
});

test("ExclusiveCall.run ends with the signal's reason, and with what the call throws, also at once", async () => {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const hanging = new ExclusiveCall({ clock, timeoutMs: 1_000, what: "ask" }, () => new Promise<never>(() => {}));
  const throwing = new ExclusiveCall({ clock, timeoutMs: 1_000, what: "ask" }, () => {
    throw new Error("sync");
  });

  const outcome = hanging.run(abort.signal).catch((error: unknown) => error);
  abort.abort("stop");

  expect(await outcome).toBe("stop");
  await expect(throwing.run(never)).rejects.toThrow("sync");
  expect(clock.pending).toBe(0);
});
