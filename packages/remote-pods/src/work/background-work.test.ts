import { VirtualClock } from "@virtual-kubelet/clock";
import { NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BackgroundWork } from "./background-work.ts";

let clock: VirtualClock;
let background: BackgroundWork;
/** Times at which the work was done, in seconds. */
let times: number[];
/** Errors of the next attempts, in order. */
let failures: Error[];

beforeEach(() => {
  [clock, times, failures] = [new VirtualClock(), [], []];
  background = new BackgroundWork({ clock, logger: silentLogger, backEnd: "Boxes" });
});
afterEach(async () => {
  await background[Symbol.asyncDispose]();
  expect(clock.pending).toBe(0);
});

async function work(): Promise<void> {
  times.push(clock.monotonic() / 1000);
  const failure = failures.shift();
  if (failure) throw failure;
}

test("work that fails is done again after pauses that grow to 30 s, until it succeeds", async () => {
  failures = Array.from({ length: 7 }, () => new UnavailableError("away"));
  const startS = clock.monotonic() / 1000;

  background.run("free", work);
  await clock.advance(600_000);

  expect(times.map((time) => time - startS)).toEqual([0, 1, 3, 7, 15, 31, 61, 91]);
});

test("work that finds nothing is done", async () => {
  failures = [new NotFoundError("gone")];
  background.run("free", work);
  await clock.advance(60_000);

  expect(times).toHaveLength(1);
});

test("of one key, one work runs at a time; of two keys, two", async () => {
  const slow = (signal: AbortSignal): Promise<void> => work().then(() => clock.sleep(5_000, signal));
  for (const key of ["free", "free", "stop"]) background.run(key, slow);
  await clock.advance(0);
  expect(times).toHaveLength(2);

  await clock.advance(5_000);
  background.run("free", work);
  expect(times).toHaveLength(3);
});

test("disposing aborts work, and none begins after it", async () => {
  let reason: unknown;
  background.run("free", (signal) => clock.sleep(60_000, signal).catch((error: unknown) => void (reason = error)));
  await background[Symbol.asyncDispose]();
  background.run("free", work);

  expect([reason, times]).toEqual([new Error("the provider of Boxes is disposed"), []]);
});
