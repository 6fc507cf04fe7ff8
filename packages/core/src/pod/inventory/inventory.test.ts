import { SeededRandom, VirtualClock, type Random } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { describe, expect, test } from "vitest";
import type { ProviderPodList } from "../../provider/pod-lifecycle.ts";
import { Inventory } from "./inventory.ts";

test("the first inventory is in within ten seconds of the back end's return, however long it was away", async () => {
  const clock = new VirtualClock();
  let isUp = false;
  const loaded: number[] = [];
  const inventory = new Inventory({
    getPods: async () => {
      if (!isUp) throw new UnavailableError("the back end is away");
      return { pods: [], complete: true };
    },
    onList: () => void loaded.push(clock.monotonic()),
    intervalMs: 300_000,
    clock,
    random: new SeededRandom(1),
    logger: silentLogger,
  });

  const loading = inventory.load(new AbortController().signal);
  await clock.advance(600_000);
  isUp = true;
  await clock.advance(10_000);
  await loading;

  expect(loaded).toEqual([expect.toSatisfy((atMs: number) => atMs <= 610_000)]);
});

describe("later inventories", () => {
  const list: ProviderPodList = { pods: [], complete: true };

  function inventory(getPods: () => Promise<ProviderPodList>, random: Random = new SeededRandom(1)) {
    const clock = new VirtualClock();
    const startedMs: number[] = [];
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) };
    const onList = (_list: ProviderPodList, atMs: number): void => void startedMs.push(atMs);
    const subject = new Inventory({ getPods, onList, intervalMs: 10_000, clock, random, logger });
    return { clock, startedMs, warnings, subject };
  }

  test("are taken at intervals, each up to a twentieth longer by chance", async () => {
    const { clock, startedMs, subject } = inventory(async () => list, { next: () => 0.5, uuid: () => "" });
    const stop = new AbortController();
    const running = subject.run(stop.signal);

    await clock.advance(31_000);
    stop.abort();
    await running;

    expect(startedMs).toEqual([10_250, 20_500, 30_750]);
    expect(clock.pending).toBe(0);
  });

  test("that fail are told, and followed by the next", async () => {
    let failures = 1;
    const { clock, startedMs, subject, warnings } = inventory(
      async () => {
        if (failures-- > 0) throw new UnavailableError("the back end is away");
        return list;
      },
      { next: () => 0, uuid: () => "" },
    );
    const stop = new AbortController();
    const running = subject.run(stop.signal);

    await clock.advance(20_000);
    stop.abort();
    await running;

    expect(startedMs).toEqual([20_000]);
    expect(warnings).toEqual(["provider returned no list of its pods; the last known list stays in use"]);
  });

  test("end without a word when they are stopped, also while one is taken", async () => {
    const stop = new AbortController();
    const { clock, startedMs, subject, warnings } = inventory(
      () => new Promise((_, reject) => stop.signal.addEventListener("abort", () => reject(stop.signal.reason))),
    );
    const running = subject.run(stop.signal);
    await clock.advance(11_000);

    stop.abort(new Error("stop"));

    await expect(running).resolves.toBeUndefined();
    expect([startedMs, warnings]).toEqual([[], []]);
  });

  test("say when they were asked for, not when they came", async () => {
    const { clock, startedMs, subject } = inventory(async () => {
      await clock.sleep(3_000);
      return list;
    });
    const loading = subject.load(new AbortController().signal);
    await clock.advance(3_000);
    await loading;

    expect(startedMs).toEqual([0]);
  });
});

test("the wait for the first inventory ends with the signal's reason, and each failure is told", async () => {
  const clock = new VirtualClock();
  const warnings: string[] = [];
  const stop = new AbortController();
  const inventory = new Inventory({
    getPods: () => Promise.reject(new UnavailableError("the back end is away")),
    onList: () => {},
    intervalMs: 300_000,
    clock,
    random: new SeededRandom(1),
    logger: { ...silentLogger, warn: (_fields: object, message: string) => void warnings.push(message) },
  });

  const loading = inventory.load(stop.signal);
  loading.catch(() => {});
  await clock.advance(100);
  stop.abort(new Error("stop"));

  await expect(loading).rejects.toThrow("stop");
  expect(warnings).toEqual(["provider returned no list of its pods; no pod is started or ended until it does"]);
});

test("the first retry comes within a second, the next within two", async () => {
  const clock = new VirtualClock();
  const times: number[] = [];
  const inventory = new Inventory({
    getPods: () => {
      times.push(clock.monotonic());
      return Promise.reject(new UnavailableError("the back end is away"));
    },
    onList: () => {},
    intervalMs: 300_000,
    clock,
    random: { next: () => 0.5, uuid: () => "" },
    logger: silentLogger,
  });
  const stop = new AbortController();
  const loading = inventory.load(stop.signal);
  loading.catch(() => {});
  await clock.advance(40_000);
  stop.abort();

  expect(times.slice(1).map((time, index) => time - (times[index] ?? 0))).toEqual([750, 1_500, 3_000, 6_000, 7_500, 7_500, 7_500]);
});

describe("an inventory that is not answered", () => {
  const list: ProviderPodList = { pods: [], complete: true };

  /** One inventory after 5 s, whose answer the test gives. */
  async function slowInventory(askSingly: (signal: AbortSignal) => Promise<void>) {
    const clock = new VirtualClock();
    const answer = Promise.withResolvers<ProviderPodList>();
    const stop = new AbortController();
    const subject = new Inventory({
      getPods: () => answer.promise,
      onList: () => {},
      askSingly,
      intervalMs: 5_000,
      clock,
      random: { next: () => 0, uuid: () => "" },
      logger: silentLogger,
    });
    const running = subject.run(stop.signal);
    await clock.advance(5_000);
    return { clock, answer, stop, running };
  }

  test("has the provider asked about single pods after ten seconds, and then at intervals until it is answered", async () => {
    const asked: number[] = [];
    const { clock, answer, stop, running } = await slowInventory(async () => void asked.push(clock.monotonic()));

    await clock.advance(22_000);
    answer.resolve(list);
    await clock.advance(4_000);
    stop.abort();
    await running;

    expect(asked).toEqual([15_000, 20_000, 25_000]);
    expect(clock.pending).toBe(0);
  });

  test("breaks the questions off once it is answered, and one that fails ends nothing", async () => {
    const reasons: unknown[] = [];
    const { clock, answer, stop, running } = await slowInventory(
      (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(reasons.push(signal.aborted)))),
    );
    await clock.advance(10_000);
    expect(reasons).toEqual([]);

    answer.resolve(list);
    await clock.advance(0);

    expect(reasons).toEqual([true]);
    stop.abort();
    await running;
  });
});
