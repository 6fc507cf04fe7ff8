import { VirtualClock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { WorkQueue, type WorkResult } from "./work-queue.ts";

const keys = ["a", "b", "c"] as const;
const backoff = { initialMs: 1_000, maxMs: 10_000 };
type Ending = { kind: "done" } | { kind: "requeue"; ms: number } | { kind: "failed"; retryAfterMs: number };
type Action =
  | { kind: "add"; key: string }
  | { kind: "addAfter"; key: string; ms: number }
  | { kind: "forget"; key: string }
  | { kind: "reset" }
  | { kind: "pass"; ms: number }
  | { kind: "end"; which: number; ending: Ending };

const key = fc.constantFrom(...keys);
const ms = fc.integer({ min: 0, max: 12_000 });
const ending: fc.Arbitrary<Ending> = fc.oneof(
  fc.record({ kind: fc.constant("done" as const) }),
  fc.record({ kind: fc.constant("requeue" as const), ms }),
  fc.record({ kind: fc.constant("failed" as const), retryAfterMs: fc.oneof(fc.constant(0), ms) }),
);
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("add" as const), key }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("addAfter" as const), key, ms }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("forget" as const), key }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reset" as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("end" as const), which: fc.nat(20), ending }) },
);

interface ModelEntry {
  again: boolean;
  forgotten: boolean;
  failures: number;
  notBeforeMs: number;
  dueMs: number;
  order: number;
}

/** What the queue promises, written as plainly as can be: one record a key, one list, everything looked for from the start. */
class Model {
  readonly started: string[] = [];
  readonly ready: string[] = [];
  readonly working: string[] = [];
  nowMs = 0;
  readonly #concurrency: number;
  readonly #of = new Map(keys.map((each) => [each as string, this.#fresh(false)]));
  #order = 0;

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  #fresh(forgotten: boolean): ModelEntry {
    return { again: false, forgotten, failures: 0, notBeforeMs: 0, dueMs: Infinity, order: 0 };
  }

  #get(name: string): ModelEntry {
    return this.#of.get(name)!;
  }

  add(name: string): void {
    const entry = this.#get(name);
    if (entry.notBeforeMs > this.nowMs) return this.#due(name, entry.notBeforeMs);
    entry.dueMs = Infinity;
    if (this.working.includes(name)) entry.again = true;
    else if (!this.ready.includes(name)) this.ready.push(name);
    this.#start();
  }

  addAfter(name: string, afterMs: number): void {
    if (afterMs === 0) this.add(name);
    else this.#due(name, Math.max(this.nowMs + afterMs, this.#get(name).notBeforeMs));
  }

  forget(name: string): void {
    this.#of.set(name, this.#fresh(this.working.includes(name)));
    if (this.ready.includes(name)) this.ready.splice(this.ready.indexOf(name), 1);
  }

  reset(): void {
    const waiting = keys.filter((name) => this.#get(name).failures > 0 && this.#get(name).dueMs < Infinity);
    for (const name of keys) {
      if (this.#get(name).failures > 0) Object.assign(this.#get(name), { failures: 0, notBeforeMs: 0 });
    }
    for (const name of waiting.toSorted((a, b) => this.#byDueTime(a, b))) this.add(name);
  }

  pass(forMs: number): void {
    const untilMs = this.nowMs + forMs;
    for (;;) {
      const next = keys.filter((name) => this.#get(name).dueMs <= untilMs).toSorted((a, b) => this.#byDueTime(a, b))[0];
      if (next === undefined) break;
      this.nowMs = this.#get(next).dueMs;
      this.add(next);
    }
    this.nowMs = untilMs;
  }

  end(name: string, how: Ending): void {
    const entry = this.#get(name);
    this.working.splice(this.working.indexOf(name), 1);
    const again = entry.again;
    entry.again = false;
    if (entry.forgotten) entry.forgotten = false;
    else if (how.kind === "failed") {
      entry.failures++;
      entry.notBeforeMs = this.nowMs + how.retryAfterMs;
      const waitMs = Math.max(how.retryAfterMs, Math.min(backoff.maxMs, backoff.initialMs * 2 ** (entry.failures - 1)) / 2);
      if (entry.dueMs < entry.notBeforeMs) {
        entry.dueMs = Infinity;
        this.#due(name, entry.notBeforeMs);
      }
      if (!again) this.#due(name, this.nowMs + waitMs);
    } else {
      entry.failures = 0;
      entry.notBeforeMs = 0;
      if (how.kind === "requeue" && !again) this.addAfter(name, how.ms);
    }
    if (again) this.add(name);
    this.#start();
  }

  #byDueTime(a: string, b: string): number {
    return this.#get(a).dueMs - this.#get(b).dueMs || this.#get(a).order - this.#get(b).order;
  }

  #due(name: string, dueMs: number): void {
    const entry = this.#get(name);
    if (this.ready.includes(name) || entry.again || entry.dueMs <= dueMs) return;
    entry.dueMs = dueMs;
    entry.order = this.#order++;
  }

  #start(): void {
    while (this.working.length < this.#concurrency && this.ready.length > 0) {
      const name = this.ready.shift()!;
      this.working.push(name);
      this.started.push(`${name} at ${this.nowMs}`);
    }
  }
}

test("WorkQueue does what a plain model does, in the same order and at the same times", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(action, { maxLength: 60 }), async (concurrency, actions) => {
      const clock = new VirtualClock();
      const queue = new WorkQueue({ name: "test", clock, random: { next: () => 0, uuid: () => "" }, backoff });
      const model = new Model(concurrency);
      const started: string[] = [];
      const open = new Map<string, PromiseWithResolvers<WorkResult | void>>();
      const abort = new AbortController();
      const running = queue.run({
        concurrency,
        signal: abort.signal,
        handler: (name) => {
          expect(open.has(name)).toBe(false);
          started.push(`${name} at ${clock.monotonic()}`);
          const run = Promise.withResolvers<WorkResult | void>();
          open.set(name, run);
          return run.promise;
        },
      });

      const apply = (each: Action): void => {
        switch (each.kind) {
          case "add":
            queue.add(each.key);
            return model.add(each.key);
          case "addAfter":
            queue.addAfter(each.key, each.ms);
            return model.addAfter(each.key, each.ms);
          case "forget":
            queue.forget(each.key);
            return model.forget(each.key);
          case "reset":
            queue.resetBackoff();
            return model.reset();
          case "pass":
            return;
          case "end": {
            const name = model.working[each.which % Math.max(1, model.working.length)];
            if (name === undefined) return;
            const run = open.get(name)!;
            open.delete(name);
            if (each.ending.kind === "failed") run.reject(new UnavailableError("no", { retryAfterMs: each.ending.retryAfterMs }));
            else run.resolve(each.ending.kind === "requeue" ? { requeueAfterMs: each.ending.ms } : undefined);
            return model.end(name, each.ending);
          }
          default:
            each satisfies never;
        }
      };
      for (const each of actions) {
        apply(each);
        await clock.advance(each.kind === "pass" ? each.ms : 0);
        model.pass(each.kind === "pass" ? each.ms : 0);
        expect(started).toEqual(model.started);
        expect(queue.size).toBe(model.ready.length);
        expect([...open.keys()].toSorted()).toEqual(model.working.toSorted());
      }

      abort.abort();
      for (const run of open.values()) run.resolve();
      await running;
      expect(clock.pending).toBe(0);
    }),
    { numRuns: 1000 },
  );
});
