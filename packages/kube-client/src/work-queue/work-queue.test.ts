import { AsyncLocalStorage } from "node:async_hooks";
import { VirtualClock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { silentLogger } from "../telemetry/logger.ts";
import { noMetrics, type Metrics } from "../telemetry/metrics.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import { WorkQueue, type WorkFailure, type WorkQueueOptions, type WorkQueueRun, type WorkResult } from "./work-queue.ts";

const lowestJitter = { next: () => 0, uuid: () => "" };

describe("WorkQueue", () => {
  test("works a key once, however often it was added before", async () => {
    const { queue, started, settle } = start();

    queue.add("a");
    queue.add("a");
    await settle();

    expect(started).toEqual(["a"]);
  });

  test("never works a key twice at once, and works one added meanwhile exactly once more", async () => {
    const { queue, started, finish, settle } = start();

    queue.add("a");
    await settle();
    queue.add("a");
    queue.add("a");
    await settle();
    expect(started).toEqual(["a"]);

    await finish("a");
    expect(started).toEqual(["a", "a"]);

    await finish("a");
    expect(started).toEqual(["a", "a"]);
  });

  test("works as many keys at once as it may, in the order they were added", async () => {
    const { queue, started, finish, settle } = start({ concurrency: 2 });

    for (const key of ["a", "b", "c", "d"]) queue.add(key);
    await settle();
    expect(started).toEqual(["a", "b"]);
    expect(queue.size).toBe(2);
    expect(queue.working).toBe(2);

    await finish("b");
    expect(started).toEqual(["a", "b", "c"]);
  });

  test("starts 10,000 first adds without any wait", async () => {
    const clock = new VirtualClock();
    const { queue, started, settle } = start({ clock, concurrency: 10_000 });

    for (let index = 0; index < 10_000; index++) queue.add(`pod-${index}`);
    await settle();

    expect(started.length).toBe(10_000);
    expect(clock.monotonic()).toBe(0);
  });

  test("begins so many keys before the event loop has a turn, and the others right after, without a wait", async () => {
    const clock = new VirtualClock();
    const { queue, started, settle } = start({ clock, concurrency: 100, startsPerTurn: 2 });

    for (const key of ["a", "b", "c", "d", "e"]) queue.add(key);
    await settle();
    expect(started).toEqual(["a", "b"]);

    await clock.advance(0);
    expect(started).toEqual(["a", "b", "c", "d", "e"]);
    expect(clock.monotonic()).toBe(0);
  });

  test("that is stopped in the midst of a flood begins no more, and leaves no timer", async () => {
    const clock = new VirtualClock();
    const { queue, started, settle, finish, abort } = start({ clock, concurrency: 100, startsPerTurn: 1 });
    for (const key of ["a", "b"]) queue.add(key);
    await settle();

    abort();
    await finish("a");
    await clock.advance(0);

    expect(started).toEqual(["a"]);
    expect(clock.pending).toBe(0);
  });

  test("does not call the handler inside add", async () => {
    const { queue, started, settle } = start();

    queue.add("a");

    expect(started).toEqual([]);
    await settle();
    expect(started).toEqual(["a"]);
  });
});

describe("WorkQueue.addAfter", () => {
  test("keeps the earlier time", async () => {
    const { queue, started, clock } = start();

    queue.addAfter("a", 100);
    queue.addAfter("a", 50);
    queue.addAfter("a", 200);
    await clock.advance(49);
    expect(started).toEqual([]);

    await clock.advance(1);
    expect(started).toEqual(["a"]);
    await clock.advance(1000);
    expect(started).toEqual(["a"]);
  });

  test("is replaced by an add", async () => {
    const { queue, started, finish, clock, settle } = start();

    queue.addAfter("a", 100);
    queue.add("a");
    await settle();
    await finish("a");
    await clock.advance(1000);

    expect(started).toEqual(["a"]);
  });

  test("fires for each of 10,000 keys at its time, with one timer", async () => {
    const { queue, started, clock } = start({ concurrency: 10_000 });

    for (let index = 9_999; index >= 0; index--) queue.addAfter(`pod-${index}`, 1 + (index % 100));
    expect(clock.pending).toBe(1);
    await clock.advance(50);

    expect(started.length).toBe(5_000);
  });

  test("asked for by the handler works the key again after that time", async () => {
    const { queue, started, finish, clock, settle } = start();

    queue.add("a");
    await settle();
    await finish("a", { requeueAfterMs: 500 });
    await clock.advance(499);
    expect(started).toEqual(["a"]);

    await clock.advance(1);
    expect(started).toEqual(["a", "a"]);
  });
});

describe("WorkQueue after a failure", () => {
  test("waits twice as long each time, up to the cap, and never gives up", async () => {
    const { queue, started, fail, clock, settle } = start({ backoff: { initialMs: 1_000, maxMs: 8_000 } });
    const waits: number[] = [];

    queue.add("a");
    await settle();
    for (let round = 1; round <= 30; round++) {
      await fail("a");
      const beforeMs = clock.monotonic();
      while (started.length === round) await clock.advance(500);
      waits.push(clock.monotonic() - beforeMs);
    }

    expect(waits.slice(0, 5)).toEqual([500, 1_000, 2_000, 4_000, 4_000]);
    expect(waits[29]).toBe(4_000);
  });

  test("runs an explicitly added key at once, and keeps its failure count", async () => {
    const { queue, started, fail, failures, settle } = start();

    queue.add("a");
    await settle();
    await fail("a");
    queue.add("a");
    await settle();
    expect(started).toEqual(["a", "a"]);

    await fail("a");
    expect(failures.map((failure) => failure.failures)).toEqual([1, 2]);
  });

  test("counts anew after a success", async () => {
    const { queue, finish, fail, failures, clock, settle } = start();

    queue.add("a");
    await settle();
    await fail("a");
    await clock.advance(500);
    await finish("a", { requeueAfterMs: 10 });
    await clock.advance(10);
    await fail("a");

    expect(failures.map((failure) => failure.failures)).toEqual([1, 1]);
  });

  test("leaves the other side alone for as long as it asked, also when the key is added", async () => {
    const { queue, started, fail, clock, settle } = start();

    queue.add("a");
    await settle();
    await fail("a", new Error("patch failed", { cause: new UnavailableError("busy", { retryAfterMs: 7_000 }) }));
    queue.add("a");
    await clock.advance(6_999);
    expect(started).toEqual(["a"]);

    await clock.advance(1);
    expect(started).toEqual(["a", "a"]);
  });

  test("works a key that is added at once where its handler keeps to what the other side asked for, and waits so long otherwise", async () => {
    const { queue, started, fail, failures, clock, settle } = start({ throttlesAdds: false });
    queue.add("a");
    await settle();
    await fail("a", new UnavailableError("busy", { retryAfterMs: 7_000 }));
    queue.add("a");
    await settle();
    expect(started).toEqual(["a", "a"]);

    await fail("a", new UnavailableError("busy", { retryAfterMs: 7_000 }));
    await clock.advance(6_999);
    expect(started).toEqual(["a", "a"]);
    await clock.advance(1);
    expect(started).toEqual(["a", "a", "a"]);
    expect(failures.map(({ delayMs }) => delayMs)).toEqual([7_000, 7_000]);
  });

  test("a wish from before a failure does not come before the time the other side asked for", async () => {
    const { queue, started, fail, settle, clock } = start();
    queue.add("a");
    await settle();
    queue.addAfter("a", 50);

    await fail("a", new UnavailableError("busy", { retryAfterMs: 7_000 }));
    await clock.advance(6_999);
    expect(started).toEqual(["a"]);
    await clock.advance(1);

    expect(started).toEqual(["a", "a"]);
  });

  test("runs all that wait for a retry when the back-off is reset, and nothing else", async () => {
    const { queue, started, fail, failures, settle } = start({ concurrency: 3 });

    queue.add("a");
    queue.add("b");
    queue.addAfter("later", 60_000);
    await settle();
    await fail("a");
    await fail("b", new UnavailableError("busy", { retryAfterMs: 7_000 }));
    queue.resetBackoff();
    await settle();
    expect(started).toEqual(["a", "b", "a", "b"]);

    await fail("a");
    expect(failures.at(-1)?.failures).toBe(1);
  });

  test("logs the failure with key, attempt and delay when nobody else wants to know", async () => {
    const records: unknown[] = [];
    const logger = { debug() {}, info() {}, warn: (fields: object) => void records.push(fields), error() {}, child: () => logger };
    const { queue, fail, settle } = start({ logger });

    queue.add("a");
    await settle();
    const error = new Error("no");
    await fail("a", error);

    expect(records).toEqual([{ queue: "test", key: "a", attempt: 1, delayMs: 500, err: error }]);
  });
});

describe("WorkQueue.forget", () => {
  test("drops a queued key and a waiting one", async () => {
    const { queue, started, clock } = start({ concurrency: 1 });

    for (const key of ["busy", "queued"]) queue.add(key);
    queue.addAfter("waiting", 10);
    await clock.advance(0);
    queue.forget("queued");
    queue.forget("waiting");
    await clock.advance(1000);

    expect(queue.size).toBe(0);
    expect(started).toEqual(["busy"]);
  });

  test("makes the run under way end without consequence", async () => {
    const { queue, started, fail, failures, clock, settle } = start();

    queue.add("a");
    await settle();
    queue.forget("a");
    await fail("a");
    await clock.advance(1_000_000);

    expect(started).toEqual(["a"]);
    expect(failures).toEqual([]);
  });

  test("does not stop a later add, which starts without failures", async () => {
    const { queue, started, fail, failures, settle } = start();

    queue.add("a");
    await settle();
    queue.forget("a");
    queue.add("a");
    await fail("a");
    expect(started).toEqual(["a", "a"]);

    await fail("a");
    expect(failures.map((failure) => failure.failures)).toEqual([1]);
  });
});

describe("WorkQueue.run", () => {
  test("resolves after the last handler when aborted, starts none meanwhile, and keeps what is queued", async () => {
    const { queue, started, finish, abort, running, clock, settle } = start({ concurrency: 1 });
    let ended = false;
    void running.then(() => (ended = true));

    queue.add("a");
    queue.add("b");
    queue.addAfter("c", 10);
    await settle();
    abort();
    await clock.advance(1000);
    expect(ended).toBe(false);
    expect(started).toEqual(["a"]);

    await finish("a");
    expect(ended).toBe(true);
    expect(started).toEqual(["a"]);
    expect(queue.size).toBe(1);
    expect(clock.pending).toBe(0);
  });

  test("hands its signal to the handler, and a handler cut short by it is no failure", async () => {
    const abort = new AbortController();
    const queue = new WorkQueue({ name: "test", clock: new VirtualClock(), random: lowestJitter });
    const failures: unknown[] = [];
    queue.add("a");

    const running = queue.run({
      concurrency: 1,
      signal: abort.signal,
      onError: (failure) => void failures.push(failure),
      handler: (_, signal) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
    });
    await new Promise(setImmediate);
    abort.abort();
    await running;

    expect(failures).toEqual([]);
    expect(queue.size).toBe(1);
  });

  test("can follow an earlier run, and takes up what was left", async () => {
    const clock = new VirtualClock();
    const queue = new WorkQueue({ name: "test", clock, random: lowestJitter });
    queue.add("a");
    queue.addAfter("b", 10);
    await queue.run({ concurrency: 1, signal: AbortSignal.abort(), handler: () => Promise.reject(new Error("must not run")) });

    const { started } = runOn(queue, { concurrency: 1 });
    await clock.advance(0);
    expect(started).toEqual(["a"]);
  });

  test.for([0, -1, 0.5, Number.NaN])("refuses to process %s keys at once", async (concurrency) => {
    const queue = new WorkQueue({ name: "test", clock: new VirtualClock(), random: lowestJitter });
    const run = queue.run({ concurrency, signal: new AbortController().signal, handler: async () => {} });
    await expect(run).rejects.toThrow(`a limit of ${concurrency} keys at once: expected 1 or more`);
  });

  test("refuses to run twice at once", async () => {
    const { queue } = start();

    await expect(queue.run({ concurrency: 1, signal: AbortSignal.abort(), handler: () => Promise.resolve() })).rejects.toThrow(
      "work queue test: it is already being run",
    );
  });
});

test("WorkQueue counts under client-go's names", async () => {
  const seen = new Map<string, number>();
  const metrics = {
    count: (name: string, _: unknown, value = 1) => void seen.set(name, (seen.get(name) ?? 0) + value),
    gauge: (name: string, value: number) => void seen.set(name, value),
    observe: (name: string, value: number) => void seen.set(name, (seen.get(name) ?? 0) + value),
  };
  const clock = new VirtualClock();
  const queue = new WorkQueue({ name: "test", clock, random: lowestJitter, metrics });
  expect(seen.get("workqueue_retries_total")).toBe(0);
  const { finish, fail } = runOn(queue, { concurrency: 1 });

  queue.add("a");
  queue.add("b");
  expect(seen.get("workqueue_depth")).toBe(2);
  await clock.advance(2_000);
  await fail("a");
  await clock.advance(1_000);
  await finish("b");

  expect(Object.fromEntries(seen)).toEqual({
    workqueue_adds_total: 3,
    workqueue_retries_total: 1,
    workqueue_depth: 0,
    workqueue_queue_duration_seconds: 2.5,
    workqueue_work_duration_seconds: 3,
  });
});

test("WorkQueue's length is read when somebody looks, so that queues of one name, one for each node, add up", async () => {
  const reads = new Set<() => number>();
  const set: string[] = [];
  const metrics: Metrics = {
    ...noMetrics,
    gauge: (name) => void set.push(name),
    sampled: (name, read) => {
      if (name === "workqueue_depth") reads.add(read);
      return { [Symbol.dispose]: () => void reads.delete(read) };
    },
  };
  const queues = ["a", "b"].map(() => new WorkQueue({ name: "pods", clock: new VirtualClock(), random: lowestJitter, metrics }));
  for (const queue of queues) {
    runOn(queue, { concurrency: 1 });
    for (const key of ["x", "y", "z"]) queue.add(key);
  }

  expect([...reads].map((read) => read())).toEqual([3, 3]);
  expect(set).toEqual([]);
});

test("WorkQueue tells how long work under way has taken so far, while it runs", async () => {
  const gauges = new Map<string, () => number>();
  const metrics: Metrics = {
    ...noMetrics,
    sampled: (name, read, labels) => {
      expect(labels).toEqual({ name: "test" });
      gauges.set(name, read);
      return { [Symbol.dispose]: () => void gauges.delete(name) };
    },
  };
  const clock = new VirtualClock();
  const queue = new WorkQueue({ name: "test", clock, random: lowestJitter, metrics });
  expect(gauges.size).toBe(0);
  const { finish, abort, running } = runOn(queue, { concurrency: 2 });
  const told = (): (number | undefined)[] =>
    ["unfinished_work_seconds", "longest_running_processor_seconds"].map((name) => gauges.get(`workqueue_${name}`)?.());
  expect(told()).toEqual([0, 0]);

  queue.add("a");
  await clock.advance(2_000);
  queue.add("b");
  await clock.advance(1_000);
  expect(told()).toEqual([4, 3]);

  await finish("a");
  expect(told()).toEqual([1, 1]);
  await finish("b");
  expect(told()).toEqual([0, 0]);
  abort();
  await running;
  expect(gauges.size).toBe(0);
});

type StartOptions = Partial<Pick<WorkQueueOptions, "backoff" | "throttlesAdds">> &
  Partial<Pick<WorkQueueRun, "concurrency" | "logger" | "startsPerTurn">> & { clock?: VirtualClock };

function start(options: StartOptions = {}): ReturnType<typeof runOn> & { queue: WorkQueue; clock: VirtualClock } {
  const clock = options.clock ?? new VirtualClock();
  const { backoff, throttlesAdds } = options;
  const queue = new WorkQueue({ name: "test", clock, random: lowestJitter, backoff, throttlesAdds });
  return { queue, clock, ...runOn(queue, options) };
}

/** Runs a queue with handlers that end when the test says so. */
function runOn(
  queue: WorkQueue,
  { concurrency = 5, logger, startsPerTurn }: StartOptions,
): {
  started: string[];
  failures: WorkFailure[];
  running: Promise<void>;
  settle: () => Promise<void>;
  finish: (key: string, result?: WorkResult) => Promise<void>;
  fail: (key: string, error?: Error) => Promise<void>;
  abort: () => void;
} {
  const started: string[] = [];
  const failures: WorkFailure[] = [];
  const open = new Map<string, PromiseWithResolvers<WorkResult | void>>();
  const controller = new AbortController();
  const running = queue.run({
    concurrency,
    startsPerTurn,
    signal: controller.signal,
    logger,
    ...(!logger && { onError: (failure) => void failures.push(failure) }),
    handler: (key) => {
      expect(open.has(key)).toBe(false);
      started.push(key);
      const run = Promise.withResolvers<WorkResult | void>();
      open.set(key, run);
      return run.promise;
    },
  });
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const take = (key: string): PromiseWithResolvers<WorkResult | void> => {
    const run = open.get(key);
    if (!run) throw new Error(`${key} is not being worked`);
    open.delete(key);
    return run;
  };
  onTestFinished(() => {
    controller.abort();
    for (const run of open.values()) run.resolve();
    return running;
  });
  return {
    started,
    failures,
    running,
    settle,
    finish: (key, result) => (take(key).resolve(result), settle()),
    fail: (key, error = new Error("no")) => (take(key).reject(error), settle()),
    abort: () => controller.abort(),
  };
}

describe("an inspection of a WorkQueue", () => {
  test("of a key tells since when it is queued or worked, and when it is due", async () => {
    const { queue, clock, settle, finish } = start({ concurrency: 1 });
    queue.add("a");
    queue.add("b");
    await settle();
    await clock.advance(50);

    expect(queue.inspect("a")).toEqual({ state: "working", sinceMs: 0, dueMs: undefined, failures: 0, failure: undefined });
    expect(queue.inspect("b")).toMatchObject({ state: "queued", sinceMs: 0 });
    await finish("a", { requeueAfterMs: 100 });

    expect(queue.inspect("a")).toEqual({ state: "idle", sinceMs: undefined, dueMs: 150, failures: 0, failure: undefined });
    expect(queue.inspect("c")).toBeUndefined();
  });

  test("of a key has its last failure until it succeeds", async () => {
    const { queue, clock, settle, fail, finish } = start();
    const error = new Error("refused");
    queue.add("a");
    await settle();
    await clock.advance(10);
    await fail("a", error);

    expect(queue.inspect("a")).toMatchObject({ state: "idle", failures: 1, failure: { error, atMs: 10 } });
    queue.add("a");
    await settle();
    await finish("a", { requeueAfterMs: 5 });

    expect(queue.inspect("a")).toMatchObject({ failures: 0, failure: undefined });
  });

  test("of all keys counts them", async () => {
    const { queue, clock, settle, fail } = start({ concurrency: 2 });
    for (const key of ["a", "b", "c", "d"]) queue.add(key);
    queue.addAfter("e", 1_000);
    await settle();
    await clock.advance(20);
    await fail("a");

    expect(queue.inspectAll()).toEqual({ name: "test", queued: 1, working: 2, delayed: 2, failing: 1, longestRunMs: 20 });
  });
});

describe("WorkQueue's timing", () => {
  test("a key whose time came before the run is worked at once", async () => {
    const clock = new VirtualClock();
    const queue = new WorkQueue({ name: "test", clock, random: lowestJitter });
    queue.addAfter("a", 10);
    await clock.advance(20);

    const { started } = runOn(queue, {});
    await clock.advance(0);

    expect(started).toEqual(["a"]);
  });

  test.each([0, -5])("a wait of %i ms is none", async (ms) => {
    const { queue, started, settle } = start();

    queue.addAfter("a", ms);
    await settle();

    expect(started).toEqual(["a"]);
  });

  test("a handler that asks for no wait at all is called again at once", async () => {
    const { queue, started, finish, settle } = start();
    queue.add("a");
    await settle();

    await finish("a", { requeueAfterMs: 0 });

    expect(started).toEqual(["a", "a"]);
  });

  test("keys that are due at one time are worked in the order in which they were asked for", async () => {
    const { queue, started, clock } = start({ concurrency: 20 });
    const keys = Array.from({ length: 20 }, (_, index) => `pod-${index}`);

    for (const key of keys) queue.addAfter(key, 100);
    await clock.advance(100);

    expect(started).toEqual(keys);
  });

  test("after failures the wait grows from one second to five minutes unless told otherwise", async () => {
    const { queue, fail, failures, clock, started, settle } = start();
    queue.add("a");
    await settle();
    for (let round = 1; round <= 12; round++) {
      await fail("a");
      if (round < 12) await clock.advance(failures.at(-1)?.delayMs ?? 0);
      if (round < 12) expect(started).toHaveLength(round + 1);
    }

    expect(failures.map(({ delayMs }) => delayMs)).toEqual([
      500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 150_000, 150_000, 150_000,
    ]);
  });

  test("a failure that asks for less than the back-off waits for the back-off", async () => {
    const { queue, fail, failures, settle } = start();
    queue.add("a");
    await settle();
    const error = new UnavailableError("busy", { retryAfterMs: 100 });

    await fail("a", error);

    expect(failures).toEqual([{ key: "a", error, failures: 1, delayMs: 500 }]);
  });

  test("a key that waits for its time is not among those that wait for a worker", async () => {
    const { queue, settle } = start();

    queue.addAfter("a", 10);
    await settle();

    expect([queue.size, queue.working]).toEqual([0, 0]);
  });
});

describe("WorkQueue's runs", () => {
  test("follow one another: the next takes up what is queued, what waits, and what was cut short", async () => {
    const clock = new VirtualClock();
    const queue = new WorkQueue({ name: "test", clock, random: lowestJitter });
    const first = runOn(queue, { concurrency: 1 });
    queue.add("cut short");
    queue.add("queued");
    queue.addAfter("waiting", 100);
    await clock.advance(0);
    first.abort();
    await first.fail("cut short");
    await first.running;
    await clock.advance(50);

    const second = runOn(queue, { concurrency: 3 });
    await clock.advance(49);
    expect(second.started).toEqual(["queued", "cut short"]);
    await clock.advance(1);

    expect(second.started).toEqual(["queued", "cut short", "waiting"]);
    expect(first.started).toEqual(["cut short"]);
    expect(first.failures).toEqual([]);
  });

  test("end at once where nothing is worked, and leave no timer", async () => {
    const { queue, abort, running, clock } = start();
    queue.addAfter("a", 10);

    abort();
    await running;

    expect(clock.pending).toBe(0);
    queue.addAfter("b", 5);
    expect(clock.pending).toBe(0);
  });

  test("tell the one who asked of failures, and then log nothing", async () => {
    const queue = new WorkQueue({ name: "test", clock: new VirtualClock(), random: lowestJitter });
    const records: unknown[] = [];
    const told: unknown[] = [];
    const warn = (fields: object): void => void records.push(fields);
    const abort = new AbortController();
    const running = queue.run({
      concurrency: 1,
      signal: abort.signal,
      logger: { ...silentLogger, warn },
      onError: ({ key }) => void told.push(key),
      handler: () => Promise.reject(new Error("no")),
    });
    queue.add("a");
    await new Promise(setImmediate);

    abort.abort();
    await running;

    expect(told).toEqual(["a"]);
    expect(records).toEqual([]);
  });

  test("take a handler that throws at once for one that fails", async () => {
    const queue = new WorkQueue({ name: "test", clock: new VirtualClock(), random: lowestJitter });
    const told: unknown[] = [];
    const abort = new AbortController();
    const running = queue.run({
      concurrency: 1,
      signal: abort.signal,
      onError: ({ error }) => void told.push(String(error)),
      handler: () => {
        throw new Error("at once");
      },
    });
    queue.add("a");
    await new Promise(setImmediate);

    abort.abort();
    await running;

    expect(told).toEqual(["Error: at once"]);
  });
});

test("WorkQueue says how many keys wait whenever that changes, and counts what it takes in, under its name", async () => {
  const told: string[] = [];
  const note = (what: string, name: string, labels: object | undefined, value: number): void =>
    void told.push(`${what} ${name} ${JSON.stringify(labels)} ${value}`);
  const metrics: Metrics = {
    count: (name, labels, value = 1) => note("count", name, labels, value),
    gauge: (name, value, labels) => note("gauge", name, labels, value),
    observe: (name, value, labels) => note("observe", name, labels, value),
  };
  const label = '{"name":"pods"}';
  const queue = new WorkQueue({ name: "pods", clock: new VirtualClock(), random: lowestJitter, metrics });
  expect(told.splice(0)).toEqual([
    `count workqueue_adds_total ${label} 0`,
    `count workqueue_retries_total ${label} 0`,
    `gauge workqueue_depth ${label} 0`,
  ]);
  const taken = [`count workqueue_adds_total ${label} 1`, `gauge workqueue_depth ${label} 1`];

  queue.add("a");
  queue.add("a");
  expect(told.splice(0)).toEqual(taken);
  queue.forget("a");
  queue.forget("a");
  queue.forget("never there");
  expect(told.splice(0)).toEqual([`gauge workqueue_depth ${label} 0`]);

  const { settle, fail } = runOn(queue, {});
  queue.add("a");
  await settle();
  expect(told.splice(0)).toEqual([...taken, `gauge workqueue_depth ${label} 0`, `observe workqueue_queue_duration_seconds ${label} 0`]);
  queue.add("a");
  queue.add("a");
  expect(told.splice(0)).toEqual([`count workqueue_adds_total ${label} 1`]);
  queue.forget("a");
  await fail("a");
  expect(told.splice(0)).toEqual([`observe workqueue_work_duration_seconds ${label} 0`]);
  queue.add("b");
  await settle();
  told.length = 0;
  await fail("b");
  expect(told).toEqual([`observe workqueue_work_duration_seconds ${label} 0`, `count workqueue_retries_total ${label} 1`]);
});

test("WorkQueue works a key that was forgotten and added again while it was worked, once", async () => {
  const { queue, started, failures, fail, finish, settle, clock } = start();
  queue.add("a");
  await settle();

  queue.forget("a");
  queue.add("a");
  await fail("a");
  expect(started).toEqual(["a", "a"]);
  await finish("a");
  await clock.advance(1_000_000);

  expect(started).toEqual(["a", "a"]);
  expect(failures).toEqual([]);
});

test("WorkQueue works a key that is restarted at once, whatever the other side asked for, and the next time as well", async () => {
  const { queue, started, finish, fail, settle } = start();
  queue.add("a");
  await settle();
  await fail("a", new UnavailableError("busy", { retryAfterMs: 7_000 }));

  queue.restart("a");
  queue.add("a");
  await settle();
  expect(started).toEqual(["a", "a"]);
  queue.add("a");
  await finish("a");

  expect(started).toEqual(["a", "a", "a"]);
});

test("WorkQueue drops the outcome of a run whose key is restarted meanwhile", async () => {
  const { queue, started, fail, failures, settle } = start();
  queue.add("a");
  await settle();

  queue.restart("a");
  await fail("a");

  expect([started, failures]).toEqual([["a", "a"], []]);
});

test("WorkQueue forgets with a key how long the other side asked to be left alone", async () => {
  const { queue, started, fail, settle } = start();
  queue.add("a");
  await settle();
  await fail("a", new UnavailableError("busy", { retryAfterMs: 7_000 }));

  queue.forget("a");
  queue.add("a");
  await settle();

  expect(started).toEqual(["a", "a"]);
});

test("WorkQueue keeps its order over thousands of keys that come and go", async () => {
  const { queue, started, finish, settle } = start({ concurrency: 1 });
  const keys = Array.from({ length: 5_000 }, (_, index) => `pod-${index}`);
  for (const key of keys) queue.add(key);
  for (let index = 0; index < 5_000; index += 3) queue.forget(`pod-${index}`);
  await settle();

  const kept = keys.filter((_, index) => index % 3 !== 0);
  for (const key of kept) {
    expect(started.at(-1)).toBe(key);
    await finish(key);
  }

  expect(started).toEqual(kept);
  expect(queue.size).toBe(0);
});

describe("WorkQueues that share a limit", () => {
  test("take turns, one key each, in the order in which they began to wait", async () => {
    const { a, b, settle } = startTwo(2);
    for (const key of ["a1", "a2", "a3", "a4"]) a.queue.add(key);
    for (const key of ["b1", "b2"]) b.queue.add(key);
    await settle();
    expect([a.started, b.started]).toEqual([["a1", "a2"], []]);
    expect([a.queue.working, a.queue.size, b.queue.working, b.queue.size]).toEqual([2, 2, 0, 2]);

    await a.finish("a1");
    expect([a.started, b.started]).toEqual([["a1", "a2", "a3"], []]);
    await a.fail("a2");
    expect([a.started, b.started]).toEqual([["a1", "a2", "a3"], ["b1"]]);
    await b.finish("b1");
    expect([a.started, b.started]).toEqual([["a1", "a2", "a3", "a4"], ["b1"]]);
    await a.finish("a3");

    expect([a.started, b.started]).toEqual([
      ["a1", "a2", "a3", "a4"],
      ["b1", "b2"],
    ]);
  });

  test("pass the turn on when nothing is left to do, and when they are stopped", async () => {
    const limit = new ConcurrencyLimit(1);
    const [a, b, c] = [start({ concurrency: limit }), start({ concurrency: limit }), start({ concurrency: limit })];
    for (const { queue } of [a, b, c]) queue.add("1");
    await a.settle();
    expect([a.started, b.started, c.started]).toEqual([["1"], [], []]);

    b.queue.forget("1");
    await a.finish("1");
    expect(c.started).toEqual(["1"]);
    a.queue.add("2");
    b.queue.add("2");
    await a.settle();
    a.abort();
    await a.running;
    await c.finish("1");

    expect([a.started, b.started]).toEqual([["1"], ["2"]]);
  });

  test("give their places back when the last handlers of a stopped queue end", async () => {
    const { a, b, settle } = startTwo(1);
    a.queue.add("a1");
    await settle();
    a.abort();
    b.queue.add("b1");
    await settle();
    expect(b.started).toEqual([]);

    await a.finish("a1");

    expect(b.started).toEqual(["b1"]);
  });

  test("process their keys each in the context in which it is run", async () => {
    const context = new AsyncLocalStorage<string>();
    const limit = new ConcurrencyLimit(1);
    const seen: string[] = [];
    const abort = new AbortController();
    const queues = ["a", "b"].map((name) => ({
      name,
      queue: new WorkQueue({ name, clock: new VirtualClock(), random: lowestJitter }),
    }));
    const running = queues.map(({ name, queue }) => {
      const handler = async (key: string): Promise<void> => void seen.push(`${key} in ${context.getStore()}`);
      return context.run(name, () => {
        for (const key of ["1", "2", "3"]) queue.add(name + key);
        return queue.run({ concurrency: limit, signal: abort.signal, handler });
      });
    });

    await new Promise((resolve) => setImmediate(resolve));

    expect(seen).toEqual(["a1 in a", "a2 in a", "b1 in b", "a3 in a", "b2 in b", "b3 in b"]);
    abort.abort();
    await Promise.all(running);
  });

  test("no longer wait when they are stopped", async () => {
    const limit = new ConcurrencyLimit(1);
    expect(limit.take(() => {})).toBe(true);
    const { queue, started, abort, running, settle } = start({ concurrency: limit });
    queue.add("1");
    await settle();
    const cancelled = vi.spyOn(limit, "cancel");
    abort();
    await running;
    expect(cancelled).toHaveBeenCalledOnce();

    limit.release();
    expect([started, limit.take(() => {})]).toEqual([[], true]);
  });

  test("keep to the limit, and lose no key, when thousands come and go", async () => {
    const limit = new ConcurrencyLimit(7);
    let working = 0;
    let most = 0;
    const done: string[] = [];
    const abort = new AbortController();
    const queues = Array.from({ length: 50 }, () => new WorkQueue({ name: "test", clock: new VirtualClock(), random: lowestJitter }));
    const running = queues.map((queue, index) =>
      queue.run({
        concurrency: limit,
        startsPerTurn: index % 2 === 0 ? undefined : 1_000,
        signal: abort.signal,
        handler: async (key) => {
          most = Math.max(most, ++working);
          for (let turn = 0; turn < key.length % 4; turn++) await Promise.resolve();
          working--;
          done.push(`${index} ${key}`);
        },
      }),
    );

    for (let key = 0; key < 100; key++) for (const queue of queues) queue.add(`pod-${key}`);
    await new Promise((resolve) => setImmediate(resolve));

    expect([most, working, done.length, new Set(done).size]).toEqual([7, 0, 5_000, 5_000]);
    abort.abort();
    await Promise.all(running);
  });
});

function startTwo(places: number): { a: ReturnType<typeof start>; b: ReturnType<typeof start>; settle: () => Promise<void> } {
  const concurrency = new ConcurrencyLimit(places);
  const [a, b] = [start({ concurrency }), start({ concurrency })];
  return { a, b, settle: a.settle };
}
