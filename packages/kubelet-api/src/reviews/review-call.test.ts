import { SeededRandom, VirtualClock, type Random } from "@virtual-kubelet/clock";
import { codeOf, ForbiddenError, UnavailableError } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { RecordingMetrics } from "../test-support/recording-metrics.ts";
import { callReview } from "./review-call.ts";

function rig(call: (signal: AbortSignal) => Promise<string>, random: Random = new SeededRandom(1)) {
  const [clock, metrics] = [new VirtualClock(), new RecordingMetrics()];
  const stop = new AbortController();
  const times: number[] = [];
  const options = { clock, random, metrics, what: "ask", metric: "authz" as const, signal: stop.signal };
  const answer = callReview(async (signal) => {
    times.push(clock.monotonic());
    return call(signal);
  }, options);
  answer.catch(() => {});
  return { clock, metrics, stop, times, answer };
}

test("if the API server is unreachable, it is asked five times within a few seconds", async () => {
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

test("an answer after failed attempts is returned", async () => {
  const answers = [new UnavailableError("refused"), undefined];
  const { clock, answer } = rig(async () => {
    const error = answers.shift();
    if (error) throw error;
    return "yes";
  });

  await clock.advance(1_000);

  expect(await answer).toBe("yes");
});

test("a call that the API server refuses is not repeated, and is reported as unavailable", async () => {
  const { times, answer } = rig(() => Promise.reject(new ForbiddenError("no create of tokenreviews")));

  const error: unknown = await answer.catch((caught: unknown) => caught);

  expect(codeOf(error)).toBe("VK_UNAVAILABLE");
  expect(times).toHaveLength(1);
});

test("an attempt without an answer ends after ten seconds", async () => {
  const { clock, times, answer } = rig(
    (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  );

  await clock.advance(60_000);

  await expect(answer).rejects.toThrow("no answer within 10 s");
  expect(times).toHaveLength(5);
});

test("an abort ends the wait between two attempts", async () => {
  const { clock, stop, answer } = rig(() => Promise.reject(new UnavailableError("refused")));
  await clock.advance(100);

  stop.abort(new Error("stopping"));

  await expect(answer).rejects.toThrow("stopping");
  expect(clock.pending).toBe(0);
});

test.each([
  [0, [500, 750, 1125, 1687.5]],
  [1, [600, 900, 1350, 2025]],
])("with the random number %d the delays are %j ms", async (chance, expected) => {
  const { clock, times } = rig(() => Promise.reject(new UnavailableError("refused")), { next: () => chance, uuid: () => "" });

  await clock.advance(10_000);

  const waits = times.slice(1).map((time, index) => Math.round((time - (times[index] ?? 0)) * 10) / 10);
  expect(waits).toEqual(expected);
});

test("each attempt is counted and timed, by the API server's status code", async () => {
  const failure = new ForbiddenError("no", { cause: { kind: "Status", code: 403 } });
  const { metrics, answer } = rig(() => Promise.reject(failure));
  await answer.catch(() => {});
  const well = rig(async () => "yes");
  await well.answer;

  expect(well.metrics.samples).toEqual([
    'apiserver_delegated_authz_request_total{code="201"}',
    'apiserver_delegated_authz_request_duration_seconds{code="201"} 0',
  ]);
  expect(metrics.samples[0]).toMatch(/^apiserver_delegated_authz_request_total\{code="(403|<error>)"\}$/);
});

test("the duration of an attempt is measured in seconds", async () => {
  const { clock, metrics } = rig((signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))));

  await clock.advance(9_999);
  expect(metrics.samples).toEqual([]);
  await clock.advance(1);

  expect(metrics.samples).toEqual([
    'apiserver_delegated_authz_request_total{code="<error>"}',
    'apiserver_delegated_authz_request_duration_seconds{code="<error>"} 10',
  ]);
});

test("an abort ends the attempt in progress without waiting for its timeout", async () => {
  const { clock, stop, answer } = rig(
    (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new UnavailableError("cut off")))),
  );
  await clock.advance(100);

  stop.abort(new Error("stopping"));

  await expect(answer).rejects.toThrow("stopping");
  expect(clock.pending).toBe(0);
});

test("an attempt that was answered leaves no timer", async () => {
  const { clock, answer } = rig(async () => "yes");

  await answer;

  expect(clock.pending).toBe(0);
});

test("after an abort no further attempt is made", async () => {
  const { clock, stop, times, answer } = rig(() => Promise.reject(new UnavailableError("refused")));
  stop.abort(new Error("stopping"));
  await clock.advance(0);

  await expect(answer).rejects.toThrow("stopping");
  expect(times.length).toBeLessThanOrEqual(1);
});

test("after an abort the error is the signal's reason, whatever the attempt failed with", async () => {
  const { clock, stop, answer } = rig(
    (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new ForbiddenError("cut off")))),
  );
  await clock.advance(100);

  stop.abort(new Error("stopping"));

  await expect(answer).rejects.toThrow(/^stopping$/);
});
