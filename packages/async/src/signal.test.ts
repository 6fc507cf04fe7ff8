import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { Signal } from "./signal.ts";

const never = new AbortController().signal;

test("Signal.wait ends by itself after the time, and says that nobody notified it", async () => {
  const clock = new VirtualClock();
  const waiting = new Signal().wait(1_000, clock, never);

  await clock.advance(1_000);

  await expect(waiting).resolves.toBe(false);
});

test("Signal.wait ends when notified, and leaves no timer", async () => {
  const clock = new VirtualClock();
  const wake = new Signal();
  const waiting = wake.wait(1_000, clock, never);

  wake.notify();

  await expect(waiting).resolves.toBe(true);
  expect(clock.pending).toBe(0);
});

test("Signal.wait ends at once, and only once, for notifications that came while nobody waited", async () => {
  const clock = new VirtualClock();
  const wake = new Signal();
  wake.notify();
  wake.notify();

  await expect(wake.wait(1_000, clock, never)).resolves.toBe(true);
  const second = wake.wait(1_000, clock, never);
  await clock.advance(1_000);

  await expect(second).resolves.toBe(false);
});

test("Signal.wait throws the signal's reason, and leaves no timer", async () => {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const waiting = new Signal().wait(1_000, clock, abort.signal);

  abort.abort("stop");

  await expect(waiting).rejects.toBe("stop");
  expect(clock.pending).toBe(0);
});
