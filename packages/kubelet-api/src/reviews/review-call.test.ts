import { codeOf, ForbiddenError, UnavailableError } from "@virtual-kubelet/errdefs";
import { noMetrics } from "@virtual-kubelet/kube-client";
import { FakeClock, SeededRandom } from "@virtual-kubelet/kube-client/testing";
import { expect, test } from "vitest";
import { callReview } from "./review-call.ts";

function rig(call: (signal: AbortSignal) => Promise<string>) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const times: number[] = [];
  const options = { clock, random: new SeededRandom(1), metrics: noMetrics, what: "ask", metric: "authz" as const, signal: stop.signal };
  const answer = callReview(async (signal) => {
    times.push(clock.monotonic());
    return call(signal);
  }, options);
  answer.catch(() => {});
  return { clock, stop, times, answer };
}

test("an API server that is away is asked five times within some seconds", async () => {
  const { clock, times, answer } = rig(() => Promise.reject(new UnavailableError("refused")));

  await clock.advance(10_000);

  await expect(answer).rejects.toThrow("ask: refused");
  const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  expect(waits).toHaveLength(4);
  for (const [index, ms] of [500, 750, 1125, 1687.5].entries()) {
    expect(waits[index]).toBeGreaterThanOrEqual(ms);
    expect(waits[index]).toBeLessThanOrEqual(ms * 1.2);
  }
});

test("one that comes back is believed", async () => {
  const answers = [new UnavailableError("refused"), undefined];
  const { clock, answer } = rig(async () => {
    const error = answers.shift();
    if (error) throw error;
    return "yes";
  });

  await clock.advance(1_000);

  expect(await answer).toBe("yes");
});

test("what cannot be asked for is not asked again, and is unavailable to the caller", async () => {
  const { times, answer } = rig(() => Promise.reject(new ForbiddenError("no create of tokenreviews")));

  const error: unknown = await answer.catch((caught: unknown) => caught);

  expect(codeOf(error)).toBe("VK_UNAVAILABLE");
  expect(times).toHaveLength(1);
});

test("a try that hangs is given up after ten seconds", async () => {
  const { clock, times, answer } = rig(
    (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  );

  await clock.advance(60_000);

  await expect(answer).rejects.toThrow("no answer within 10 s");
  expect(times).toHaveLength(5);
});

test("an abort ends the wait between tries", async () => {
  const { clock, stop, answer } = rig(() => Promise.reject(new UnavailableError("refused")));
  await clock.advance(100);

  stop.abort(new Error("stopping"));

  await expect(answer).rejects.toThrow("stopping");
  expect(clock.pending).toBe(0);
});
