import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { Wake } from "./wake.ts";

const never = new AbortController().signal;

test("Wake.wait ends by itself after the time, and says that nobody called", async () => {
  const clock = new VirtualClock();
  const waiting = new Wake().wait(1_000, clock, never);

  await clock.advance(1_000);

  await expect(waiting).resolves.toBe(false);
});

test("Wake.wait ends when called, and leaves no timer", async () => {
  const clock = new VirtualClock();
  const wake = new Wake();
  const waiting = wake.wait(1_000, clock, never);

  wake.call();

  await expect(waiting).resolves.toBe(true);
  expect(clock.pending).toBe(0);
});

test("Wake.wait ends at once, and only once, for calls made while nobody waited", async () => {
  const clock = new VirtualClock();
  const wake = new Wake();
  wake.call();
  wake.call();

  await expect(wake.wait(1_000, clock, never)).resolves.toBe(true);
  const second = wake.wait(1_000, clock, never);
  await clock.advance(1_000);

  await expect(second).resolves.toBe(false);
});

test("Wake.wait throws the signal's reason, and leaves no timer", async () => {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const waiting = new Wake().wait(1_000, clock, abort.signal);

  abort.abort("stop");

  await expect(waiting).rejects.toBe("stop");
  expect(clock.pending).toBe(0);
});
