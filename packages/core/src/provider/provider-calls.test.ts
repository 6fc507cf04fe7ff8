import { isDeadlineExceeded, NotFoundError } from "@virtual-kubelet/errdefs";
import { noMetrics, noTracer, silentLogger } from "@virtual-kubelet/kube-client";
import { FakeClock } from "@virtual-kubelet/kube-client/testing";
import { expect, test } from "vitest";
import type { PodRef } from "./pod-ref.ts";
import type { PodLifecycleHandler } from "./provider.ts";
import { ProviderCalls } from "./provider-calls.ts";

const ref: PodRef = { namespace: "default", name: "web", uid: "u1" };
const never = new AbortController().signal;

function callsTo(deletePod: PodLifecycleHandler["deletePod"]): { calls: ProviderCalls; clock: FakeClock; late: PodRef[] } {
  const clock = new FakeClock();
  const late: PodRef[] = [];
  const unused = (): never => {
    throw new Error("not called in this test");
  };
  const provider = { createPod: unused, updatePod: unused, deletePod, getPod: unused, getPodStatus: unused, getPods: unused };
  const calls = new ProviderCalls({
    provider,
    clock,
    logger: silentLogger,
    metrics: noMetrics,
    tracer: noTracer,
    timeoutMs: 60_000,
    onLateEnd: (to) => late.push(to),
  });
  return { calls, clock, late };
}

test("a call's result and error pass through, and leave no timer behind", async () => {
  const { calls, clock } = callsTo(async () => {
    throw new NotFoundError("no such pod");
  });

  await expect(calls.deletePod(ref, { gracePeriodSeconds: 0 }, never)).rejects.toThrow("no such pod");

  expect(clock.pending).toBe(0);
});

test("a provider that throws before its first await rejects the call", async () => {
  const { calls } = callsTo(() => {
    throw new Error("sync");
  });

  await expect(calls.deletePod(ref, { gracePeriodSeconds: 0 }, never)).rejects.toThrow("sync");
});

test("a call past its deadline is aborted and fails with the deadline, naming method and pod", async () => {
  const { calls, clock } = callsTo(
    (_ref, _options, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  );

  const call = calls.deletePod(ref, { gracePeriodSeconds: 0 }, never);
  call.catch(() => {});
  await clock.advance(60_000);

  await expect(call).rejects.toSatisfy(isDeadlineExceeded);
  await expect(call).rejects.toThrow("deletePod of pod default/web: no answer within 60 s");
});

test("a provider that ignores its signal holds the caller up for five seconds, and its late end is told", async () => {
  const gate = Promise.withResolvers<void>();
  const { calls, clock, late } = callsTo(() => gate.promise);

  let failed = false;
  const call = calls.deletePod(ref, { gracePeriodSeconds: 0 }, never);
  call.catch(() => (failed = true));
  await clock.advance(64_999);
  expect(failed).toBe(false);
  await clock.advance(1);
  expect(failed).toBe(true);

  expect(late).toEqual([]);
  gate.resolve();
  await clock.advance(0);
  expect(late).toEqual([ref]);
});

test("what succeeds within the five seconds after an abort has succeeded", async () => {
  const gate = Promise.withResolvers<void>();
  const { calls, clock } = callsTo(() => gate.promise);
  const abort = new AbortController();

  const call = calls.deletePod(ref, { gracePeriodSeconds: 0 }, abort.signal);
  abort.abort(new Error("stop"));
  await clock.advance(1_000);
  gate.resolve();

  await expect(call).resolves.toBeUndefined();
});

test("an aborted caller makes no call", async () => {
  let called = false;
  const { calls } = callsTo(async () => {
    called = true;
  });

  await expect(calls.deletePod(ref, { gracePeriodSeconds: 0 }, AbortSignal.abort(new Error("stop")))).rejects.toThrow("stop");
  expect(called).toBe(false);
});
