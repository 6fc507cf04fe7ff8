import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import type { MetricLabels, Metrics } from "@virtual-kubelet/core";
import {
  ConflictError,
  DeadlineExceededError,
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  QuotaExceededError,
  UnauthorizedError,
  UnavailableError,
} from "@virtual-kubelet/errdefs";
import fc from "fast-check";
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import type { Rate } from "../backend/backend-limits.ts";
import { CallBudget, type BudgetedCall, type CallBudgetOptions } from "./call-budget.ts";
import { perWindow } from "./rate-limiter.ts";
import { isThrottled, ThrottledError } from "./throttled-error.ts";

const never = new AbortController().signal;
const read: BudgetedCall = { class: "read", operation: "Get", isIdempotent: true };
const write: BudgetedCall = { class: "write", operation: "Create", isIdempotent: false };
const remove: BudgetedCall = { class: "delete", operation: "Delete", isIdempotent: true };

class CountedMetrics implements Metrics {
  readonly counts = new Map<string, number>();
  readonly observed: [string, number, MetricLabels | undefined][] = [];
  readonly gauges = new Map<string, () => number>();

  count(name: string, labels: MetricLabels = {}, value = 1): void {
    const key = `${name} ${Object.values(labels).join(" ")}`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + value);
  }

  gauge(): void {}

  observe(name: string, value: number, labels?: MetricLabels): void {
    this.observed.push([name, value, labels]);
  }

  sampled(name: string, sample: () => number, labels: MetricLabels = {}): Disposable {
    const key = `${name} ${Object.values(labels).join(" ")}`;
    this.gauges.set(key, sample);
    return { [Symbol.dispose]: () => this.gauges.delete(key) };
  }
}

function budgetOf(options: Partial<CallBudgetOptions> = {}): {
  readonly clock: VirtualClock;
  readonly budget: CallBudget;
  readonly metrics: CountedMetrics;
} {
  const [clock, metrics] = [new VirtualClock(), new CountedMetrics()];
  return { clock, metrics, budget: new CallBudget({ backEnd: "aci", rates: {}, clock, random: new SeededRandom(1), metrics, ...options }) };
}

const failure = (error: unknown): unknown => error;

/** Fails with the errors one after the other, then succeeds; notes when it was called. */
function failing(clock: VirtualClock, ...errors: unknown[]): { readonly times: number[]; readonly send: () => Promise<string> } {
  const times: number[] = [];
  const send = async (): Promise<string> => {
    times.push(clock.monotonic());
    if (errors.length > 0) throw errors.shift();
    return "answer";
  };
  return { times, send };
}

test("requests stay within 70 % of every published rate over every window, whatever is asked, aborted and refused", async () => {
  const tokenRate = fc.record({ burst: fc.integer({ min: 1, max: 20 }), perSecond: fc.double({ min: 0.05, max: 20, noNaN: true }) });
  const windowRate = fc
    .tuple(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 100, max: 60_000 }))
    .map(([count, ms]) => perWindow(count, ms));
  const aCall = fc.record({
    afterMs: fc.nat(2_000),
    isUrgent: fc.boolean(),
    abortAfterMs: fc.option(fc.nat(5_000), { freq: 4 }),
    fails: fc.nat(2),
    retryAfterMs: fc.option(fc.nat(3_000)),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof<fc.Arbitrary<Rate>[]>(tokenRate, windowRate), { minLength: 1, maxLength: 3 }),
      fc.array(aCall, { minLength: 1, maxLength: 60 }),
      async (rates, calls) => {
        const { clock, budget } = budgetOf({ rates: { read: rates } });
        const times: number[] = [];
        for (const { afterMs, isUrgent, abortAfterMs, fails, retryAfterMs } of calls) {
          await clock.advance(afterMs);
          const abort = new AbortController();
          let failsLeft = fails;
          const send = async (): Promise<void> => {
            times.push(clock.monotonic());
            if (failsLeft-- > 0) throw new ThrottledError("refused", { retryAfterMs: retryAfterMs ?? undefined });
          };
          budget.run({ ...read, priority: isUrgent ? "urgent" : "background" }, abort.signal, send).catch(failure);
          if (abortAfterMs !== null) clock.setTimer(abortAfterMs, () => abort.abort(new Error("given up")));
        }
        await clock.advance(600_000);

        for (const rate of rates) {
          const excess = times.flatMap((from, first) =>
            times.slice(first).filter((until, index) => {
              const spanMs = until - from;
              const allowed = Math.max(1, 0.7 * rate.burst) + (rate.windowMs === undefined ? (0.7 * rate.perSecond * spanMs) / 1000 : 0);
              return (rate.windowMs === undefined || spanMs < rate.windowMs) && index + 1 > allowed + 1e-6;
            }),
          );
          expect(excess).toEqual([]);
        }
      },
    ),
  );
});

test("all of 70 % of a rate is used: 210 of 300 creates an hour, and 70 of 100 in five minutes", async () => {
  const { clock, budget } = budgetOf({ rates: { write: [perWindow(300, 3_600_000), perWindow(100, 300_000)] } });
  const times: number[] = [];
  for (let index = 0; index < 500; index++) void budget.run(write, never, async () => times.push(clock.monotonic()));
  const within = (ms: number): number => times.filter((time) => time < ms).length;

  await clock.advance(7_200_000);

  expect([within(1), within(300_000), within(300_001), within(3_600_000), within(7_200_000)]).toEqual([70, 70, 140, 210, 420]);
});

test("a thousand waiting reads do not delay a delete of another class, and one of the same class by at most one token", async () => {
  const { clock, budget } = budgetOf({ rates: { read: [{ burst: 10, perSecond: 1 }], delete: [{ burst: 10, perSecond: 1 }] } });
  for (let index = 0; index < 1_000; index++) void budget.run(read, never, async () => {});
  const deletedMs: number[] = [];
  await clock.advance(100);
  void budget.run(remove, never, async () => deletedMs.push(clock.monotonic()));
  void budget.run({ ...remove, class: "read", priority: "urgent" }, never, async () => deletedMs.push(clock.monotonic()));

  await clock.advance(1_000 / 0.7);

  expect(deletedMs).toEqual([100, Math.ceil(1_000 / 0.7)]);
  expect(budget.waiting).toBe(1_000 - 7);
});

test("creates and deletes are urgent by themselves, and reads are not", async () => {
  const { clock, budget } = budgetOf({ rates: { read: [{ burst: 1, perSecond: 1 }], write: [{ burst: 1, perSecond: 1 }] } });
  const sent: string[] = [];
  const run = (call: BudgetedCall, name: string): void => void budget.run(call, never, async () => sent.push(name));
  run(read, "r0");
  run(read, "r1");
  run({ ...read, priority: "urgent" }, "r2");
  run(write, "w0");
  run({ ...write, priority: "background" }, "w1");
  run(write, "w2");

  await clock.advance(5_000);

  expect(sent.filter((name) => name.startsWith("r"))).toEqual(["r0", "r2", "r1"]);
  expect(sent.filter((name) => name.startsWith("w"))).toEqual(["w0", "w2", "w1"]);
});

test("a class without rates is not limited", async () => {
  const { clock, budget } = budgetOf();
  let sent = 0;
  for (let index = 0; index < 1_000; index++) void budget.run({ ...read, class: "launch" }, never, async () => sent++);
  await clock.settle();

  expect(sent).toBe(1_000);
});

test.each([
  ["UnavailableError", new UnavailableError("gone")],
  ["DeadlineExceededError", new DeadlineExceededError("slow")],
  ["an error without a code", new TypeError("socket closed")],
])("an idempotent call that met %s is repeated after a jittered back-off", async (_name, error) => {
  const { clock, budget } = budgetOf();
  const { times, send } = failing(clock, error, error, error);
  const answer = budget.run(read, never, send);
  await clock.advance(60_000);

  expect(await answer).toBe("answer");
  const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  for (const [index, longest] of [500, 1_000, 2_000].entries()) {
    expect(waits[index]).toBeGreaterThanOrEqual(longest / 2);
    expect(waits[index]).toBeLessThanOrEqual(longest);
  }
});

test("after four attempts the last error is thrown", async () => {
  const { clock, budget } = budgetOf();
  const errors = Array.from({ length: 5 }, (_, index) => new UnavailableError(`attempt ${index + 1}`));
  const { times, send } = failing(clock, ...errors);
  const answer = budget.run(read, never, send).catch(failure);
  await clock.advance(60_000);

  expect([await answer, times.length]).toEqual([errors[3], 4]);
});

test.each([
  new NotFoundError("x"),
  new InvalidInputError("x"),
  new ConflictError("x"),
  new UnauthorizedError("x"),
  new ForbiddenError("x"),
  new QuotaExceededError("x"),
])("%s is the caller's to judge, and not repeated", async (error) => {
  const { clock, budget } = budgetOf();
  const { times, send } = failing(clock, error);

  expect(await budget.run(read, never, send).catch(failure)).toBe(error);
  expect(times).toHaveLength(1);
});

test("a call that is not idempotent is repeated only if it was refused before it had an effect", async () => {
  const { clock, budget } = budgetOf();
  const unclear = new UnavailableError("503", { retryAfterMs: 10 });
  const lost = failing(clock, unclear);
  expect(await budget.run(write, never, lost.send).catch(failure)).toBe(unclear);
  await clock.advance(100);
  const refused = failing(clock, new Error("create", { cause: new ThrottledError("429", { retryAfterMs: 2_000 }) }));
  const answer = budget.run(write, never, refused.send);
  await clock.advance(60_000);

  expect(await answer).toBe("answer");
  expect([lost.times, refused.times]).toEqual([[0], [100, 2_100]]);
});

test("Retry-After pauses the class for everyone, and no other class", async () => {
  const { clock, budget } = budgetOf({ rates: { read: [{ burst: 100, perSecond: 10 }] } });
  const busy = new UnavailableError("busy", { retryAfterMs: 5_000 });
  void budget.run(read, never, failing(clock, busy, new NotFoundError("x")).send).catch(failure);
  await clock.settle();
  const others = [failing(clock), failing(clock)];
  const deletes = failing(clock);
  for (const { send } of others) void budget.run(read, never, send);
  void budget.run(remove, never, deletes.send);
  await clock.advance(20_000);

  expect([others.map(({ times }) => times), deletes.times]).toEqual([[[5_143], [5_286]], [0]]);
});

test("a pod without room does not hold up the calls for others", async () => {
  const { clock, budget } = budgetOf();
  const full = new QuotaExceededError("no GPUs", { retryAfterMs: 3_600_000 });
  expect(await budget.run(write, never, failing(clock, full).send).catch(failure)).toBe(full);
  const { times, send } = failing(clock);

  expect(await budget.run(write, never, send)).toBe("answer");
  expect(times).toEqual([0]);
});

test("a back end can ask for a pause of an hour, and not of a day", async () => {
  const { clock, budget } = budgetOf();
  const { times, send } = failing(clock, new UnavailableError("later", { retryAfterMs: 86_400_000 }));
  void budget.run(read, never, send);
  await clock.advance(4_000_000);

  expect(times).toEqual([0, 3_600_000]);
});

test("refusals that do not say for how long pause the class longer each time, until a request succeeds", async () => {
  const { clock, budget } = budgetOf({ maxAttempts: 10 });
  const refusals = Array.from({ length: 3 }, () => new ThrottledError("429"));
  const first = failing(clock, ...refusals);
  void budget.run(write, never, first.send);
  await clock.advance(60_000);
  const again = failing(clock, new ThrottledError("429"));
  void budget.run(write, never, again.send);
  await clock.advance(60_000);
  const waits = [...first.times.slice(1), again.times[1] ?? 0].map(
    (time, index) => time - ([...first.times.slice(0, 3), 60_000][index] ?? 0),
  );

  for (const [index, longest] of [1_000, 2_000, 4_000, 1_000].entries()) {
    expect(waits[index]).toBeGreaterThanOrEqual(longest / 2);
    expect(waits[index]).toBeLessThanOrEqual(longest);
  }
});

test("refusals of one operation pause the class longer each time, although others of the class succeed in between", async () => {
  const { clock, budget } = budgetOf({ maxAttempts: 5 });
  const refused = failing(clock, ...Array.from({ length: 4 }, () => new ThrottledError("429")));
  void budget.run({ ...read, operation: "Describe" }, never, refused.send);
  let lists = 0;
  for (let seconds = 0; seconds < 60; seconds++) {
    void budget.run({ ...read, operation: "List" }, never, async () => void lists++);
    await clock.advance(1_000);
  }

  expect(lists).toBeGreaterThan(30);
  for (const [index, longest] of [1_000, 2_000, 4_000, 8_000].entries())
    expect((refused.times[index + 1] ?? 0) - (refused.times[index] ?? 0)).toBeGreaterThanOrEqual(longest / 2);
});

test("an abort ends a wait for a turn, a request under way and a back-off, and leaves neither timers nor listeners", async () => {
  const { clock, budget } = budgetOf({ rates: { read: [{ burst: 1, perSecond: 0.001 }] } });
  const abort = new AbortController();
  const signals: AbortSignal[] = [];
  const hang = (signal: AbortSignal): Promise<never> => (signals.push(signal), Promise.withResolvers<never>().promise);
  const calls = [
    budget.run(read, abort.signal, hang),
    ...Array.from({ length: 100 }, () => budget.run(read, abort.signal, hang)),
    budget.run({ ...read, class: "other" }, abort.signal, failing(clock, new UnavailableError("x")).send),
  ].map((call) => call.catch(failure));
  await clock.advance(100);
  // One timer each of the next turn, of the back-off, and of the deadline of the request under way.
  expect([budget.waiting, clock.pending]).toEqual([100, 3]);

  const reason = new Error("given up");
  abort.abort(reason);

  expect(new Set(await Promise.all(calls))).toEqual(new Set([reason]));
  expect(signals.map((signal) => signal.reason as unknown)).toEqual([reason]);
  expect([budget.waiting, clock.pending, getEventListeners(abort.signal, "abort").length]).toEqual([0, 0, 0]);
  await expect(budget.run(read, abort.signal, hang)).rejects.toBe(reason);
  expect(signals).toHaveLength(1);
});

const ignoring = (): Promise<never> => Promise.withResolvers<never>().promise;
const obeying = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(new UnavailableError("cut off"))));

test.for([
  ["ignores its signal", ignoring, undefined, 120_000],
  ["ends with its signal", obeying, undefined, 120_000],
  ["ignores its signal", ignoring, 5_000, 5_000],
] as const)(
  "a request that is never answered and %s is given up at its deadline, and not repeated",
  async ([, hang, callTimeoutMs, afterMs]) => {
    const { clock, budget, metrics } = budgetOf({ callTimeoutMs });
    const signals: AbortSignal[] = [];
    const endedMs: number[] = [];
    const call = budget
      .run(read, never, (signal) => (signals.push(signal), hang(signal)))
      .catch((error: unknown) => (endedMs.push(clock.monotonic()), error));
    await clock.advance(600_000);
    const error = await call;

    expect(error).toBeInstanceOf(DeadlineExceededError);
    expect(String(error)).toContain(`call Get of aci: no answer within ${afterMs / 1000} s`);
    expect([signals.map(({ reason }) => reason === error), endedMs, clock.pending]).toEqual([[true], [afterMs], 0]);
    expect([...metrics.counts]).toEqual([["virtual_kubelet_backend_requests_total aci read Get deadline_exceeded", 1]]);
  },
);

test("the deadline counts from the moment a request is sent, not while it waits for its turn, and anew for each attempt", async () => {
  const { clock, budget } = budgetOf({ rates: { read: [{ burst: 1, perSecond: 0.001 }] } });
  await budget.run(read, never, async () => {});
  const sentMs: number[] = [];
  const slow = async (signal: AbortSignal): Promise<string> => {
    sentMs.push(clock.monotonic());
    await clock.sleep(119_000, signal);
    if (sentMs.length === 1) throw new UnavailableError("503");
    return "answer";
  };
  const call = budget.run(read, never, slow);
  await clock.advance(5_000_000);

  expect(await call).toBe("answer");
  expect(sentMs).toHaveLength(2);
  expect(sentMs[0]).toBeGreaterThan(1_000_000);
});

test("fifty requests that are never answered do not hold up the others of their class", async () => {
  const { clock, budget } = budgetOf({ rates: { read: [{ burst: 100, perSecond: 10 }] } });
  for (let count = 0; count < 50; count++) budget.run(read, never, ignoring).catch(failure);
  const { times, send } = failing(clock);
  void budget.run(read, never, send);
  await clock.advance(1_000);

  expect(times).toEqual([0]);
});

test("a thousand calls aborted one after the other leave the turn of the next one as it was", async () => {
  const { clock, budget } = budgetOf({ rates: { read: [{ burst: 1, perSecond: 1 }] } });
  await budget.run(read, never, async () => {});
  for (let index = 0; index < 1_000; index++) {
    const abort = new AbortController();
    const call = budget.run(read, abort.signal, async () => {}).catch(failure);
    abort.abort(new Error("given up"));
    await call;
  }
  const { times, send } = failing(clock);
  void budget.run(read, never, send);
  await clock.advance(10_000);

  expect(times).toEqual([Math.ceil(1_000 / 0.7)]);
});

test("disposal aborts all calls, waiting or under way, removes the gauges, and refuses later calls", async () => {
  const { clock, budget, metrics } = budgetOf({ rates: { read: [{ burst: 1, perSecond: 1 }] } });
  const calls = [1, 2].map(() => budget.run(read, never, () => Promise.withResolvers<never>().promise).catch(failure));
  await clock.settle();
  budget[Symbol.dispose]();

  for (const error of await Promise.all(calls)) expect(error).toEqual(new UnavailableError("call aci: the provider is being closed"));
  await expect(budget.run(read, never, async () => {})).rejects.toThrow("is being closed");
  expect([clock.pending, metrics.gauges.size]).toEqual([0, 0]);
});

test("requests, waits and the used share are counted", async () => {
  const { clock, budget, metrics } = budgetOf({ rates: { read: [{ burst: 2, perSecond: 1 }] } });
  const abort = new AbortController();
  const errors = [new UnavailableError("x"), new TypeError("x"), new ThrottledError("x", { retryAfterMs: 0 })];
  void budget.run(read, never, failing(clock, ...errors).send);
  await clock.advance(60_000);
  expect(metrics.gauges.get("virtual_kubelet_backend_budget_used_ratio aci read")?.()).toBe(0);
  const aborted = budget.run(read, abort.signal, () => Promise.withResolvers<never>().promise).catch(failure);
  await budget.run({ ...remove, isIdempotent: false }, never, failing(clock, new NotFoundError("x")).send).catch(failure);
  expect(metrics.gauges.get("virtual_kubelet_backend_budget_used_ratio aci read")?.()).toBeCloseTo(0.5);
  abort.abort();
  await aborted;

  expect(Object.fromEntries(metrics.counts)).toEqual({
    "virtual_kubelet_backend_requests_total aci read Get unavailable": 1,
    "virtual_kubelet_backend_requests_total aci read Get error": 1,
    "virtual_kubelet_backend_requests_total aci read Get throttled": 1,
    "virtual_kubelet_backend_requests_total aci read Get ok": 1,
    "virtual_kubelet_backend_requests_total aci read Get aborted": 1,
    "virtual_kubelet_backend_requests_total aci delete Delete not_found": 1,
  });
  expect(metrics.observed).toHaveLength(6);
  expect(metrics.observed[0]).toEqual(["virtual_kubelet_backend_wait_seconds", 0, { backend: "aci", class: "read" }]);
  expect(metrics.observed[1]?.[1]).toBeGreaterThan(0.5);
});

test("a refusal is recognized through causes and in another copy of the package, and a loop of causes ends", () => {
  const loop = new Error("x");
  loop.cause = loop;

  expect(isThrottled(new Error("create", { cause: Object.assign(new Error("429"), { code: "VK_UNAVAILABLE", isThrottled: true }) }))).toBe(
    true,
  );
  expect([new UnavailableError("x"), loop, undefined, "text"].map(isThrottled)).toEqual([false, false, false, false]);
});

test("a call that does not wait for a pause fails at once while the back end has asked for one, also after its own refusal", async () => {
  const { clock, budget } = budgetOf();
  const ping: BudgetedCall = { ...read, operation: "Ping", waitsForPause: false };
  const refused = failing(clock, new ThrottledError("slow down", { retryAfterMs: 60_000 }));
  await expect(budget.run(ping, never, refused.send)).rejects.toSatisfy(isThrottled);
  const { times, send } = failing(clock);
  await clock.advance(1_000);

  await expect(budget.run(ping, never, send)).rejects.toMatchObject({ code: "VK_UNAVAILABLE", isThrottled: true, retryAfterMs: 59_000 });
  await clock.advance(59_000);
  expect(await budget.run(ping, never, send)).toBe("answer");

  expect([refused.times, times]).toEqual([[0], [60_000]]);
});

test.each([
  { burst: 0, perSecond: 1 },
  { burst: 1, perSecond: 0 },
  { burst: 1, perSecond: Number.NaN },
])("a rate that allows nothing is refused, because it would limit nothing: %j", (rate) => {
  expect(() => budgetOf({ rates: { read: [rate] } })).toThrow(/^limit requests: a burst of .* expected more than 0$/);
});
