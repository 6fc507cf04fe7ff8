import { VirtualClock } from "@virtual-kubelet/clock";
import { isDeadlineExceeded } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { eventually } from "./eventually.ts";

test("eventually returns what the check returns once it stops throwing", async () => {
  const clock = new VirtualClock();
  let tries = 0;

  const waiting = eventually(
    () => {
      if (++tries < 4) throw new Error("not yet");
      return tries;
    },
    { clock, intervalMs: 50 },
  );
  await clock.advance(150);

  expect(await waiting).toBe(4);
});

test("eventually says what it waited for, how long, and what the last check said", async () => {
  const clock = new VirtualClock();

  const waiting = eventually(() => Promise.reject(new Error("2 of 3 pods run")), {
    clock,
    timeoutMs: 200,
    intervalMs: 50,
    describe: "three pods",
  }).catch((error: unknown) => error);
  await clock.advance(200);

  const error = await waiting;
  expect(isDeadlineExceeded(error)).toBe(true);
  expect(String(error)).toContain("waiting for three pods: not reached within 200 ms (attempts: ");
  expect(String(error)).toContain("2 of 3 pods run");
});

test("eventually aborts a check that hangs at the deadline, and still reports the failure seen before", async () => {
  const clock = new VirtualClock();
  let tries = 0;

  const waiting = eventually(
    (signal) => {
      if (++tries === 1) throw new Error("first failure");
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
    },
    { clock, timeoutMs: 200, intervalMs: 50 },
  ).catch((error: unknown) => error);
  await clock.advance(250);

  expect(String(await waiting)).toContain("first failure");
});

test("eventually throws the caller's reason when aborted", async () => {
  const clock = new VirtualClock();
  const controller = new AbortController();

  const waiting = eventually(() => Promise.reject(new Error("never")), { clock, signal: controller.signal }).catch(
    (error: unknown) => error,
  );
  await clock.advance(50);
  controller.abort("enough");

  expect(await waiting).toBe("enough");
});
