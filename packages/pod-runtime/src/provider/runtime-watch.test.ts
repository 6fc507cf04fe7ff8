import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { RuntimePresence } from "./runtime-presence.ts";
import { RuntimeWatch } from "./runtime-watch.ts";
import type { RuntimeEvent } from "../runtime/container-runtime.ts";

class WatchRig {
  readonly clock = new VirtualClock();
  readonly end = new AbortController();
  readonly presence = new RuntimePresence();
  readonly heard: string[] = [];
  listings = 0;
  /** Events of each stream before it breaks. */
  streams: RuntimeEvent[][] = [];
  failures = 0;
  readonly done: Promise<void>;

  constructor(streams: RuntimeEvent[][]) {
    this.streams = streams;
    const { streams: left, clock } = this;
    const watch = new RuntimeWatch({
      runtime: {
        async *events(signal) {
          yield* left.shift() ?? [];
          if (left.length > 0) throw new UnavailableError("the connection was lost");
          await clock.sleep(1e9, signal);
        },
      },
      relistMs: 30_000,
      clock,
      random: new SeededRandom(1),
      logger: silentLogger,
      presence: this.presence,
      onEvent: ({ id }) => this.heard.push(id),
      relist: async () => {
        this.listings++;
        await clock.sleep(100);
        if (this.failures-- > 0) throw new UnavailableError("away");
      },
    });
    this.done = watch.run(this.end.signal);
  }
}

const lost: RuntimeEvent = { kind: "lost" };
const exited = (id: string): RuntimeEvent => ({ kind: "containerExited", id });

test("events are followed over broken connections, and everything is listed after each gap", async () => {
  const rig = new WatchRig([
    [lost, exited("a")],
    [lost, exited("b")],
  ]);
  await rig.clock.advance(5_000);

  expect([rig.heard, rig.listings]).toEqual([["a", "b"], 2]);
});

test("a runtime counts as away while its events cannot be received", async () => {
  const rig = new WatchRig([
    [lost, exited("a")],
    [lost, { kind: "away" }],
  ]);
  const wasAway = rig.presence.watch();
  await rig.clock.advance(0);
  expect([rig.presence.watch()(), wasAway()]).toEqual([true, true]);
  await rig.clock.advance(5_000);
  expect(rig.presence.watch()()).toBe(true);

  const steady = new WatchRig([[lost]]);
  await steady.clock.advance(5_000);
  expect(steady.presence.watch()()).toBe(false);
});

test("several gaps at once cause at most two lists, because the list in progress may be too old", async () => {
  const rig = new WatchRig([[lost, lost, lost, lost]]);
  await rig.clock.advance(5_000);

  expect(rig.listings).toBe(2);
});

test("a failed list is repeated, with growing delays", async () => {
  const rig = new WatchRig([[lost]]);
  rig.failures = 3;
  await rig.clock.advance(20_000);

  expect(rig.listings).toBe(4);
});

test("everything is listed at intervals, even without events", async () => {
  const rig = new WatchRig([[lost]]);
  await rig.clock.advance(100_000);

  expect(rig.listings).toBe(4);
});

test("an abort leaves nothing open", async () => {
  const rig = new WatchRig([[lost]]);
  await rig.clock.advance(5_000);

  rig.end.abort(new Error("closed"));
  await rig.done;

  expect(rig.clock.pending).toBe(0);
});

test("a broken connection is made again after one second, and then after at most ten", async () => {
  const rig = new WatchRig(Array.from({ length: 60 }, () => []));
  await rig.clock.advance(60_000);
  const early = 60 - rig.streams.length;
  await rig.clock.advance(300_000);
  const late = 60 - rig.streams.length - early;

  expect(early).toBeGreaterThanOrEqual(5);
  expect(early).toBeLessThanOrEqual(16);
  expect(late).toBeGreaterThanOrEqual(25);
  expect(late).toBeLessThan(60);
  rig.end.abort(new Error("closed"));
  await rig.done;
});

test("an abort during a list, or during the wait for the next try, leaves nothing open", async () => {
  const looking = new WatchRig([[lost]]);
  await looking.clock.advance(50);
  looking.end.abort(new Error("closed"));
  await looking.clock.advance(100);
  await looking.done;

  const waiting = new WatchRig([[lost]]);
  waiting.failures = 100;
  await waiting.clock.advance(3_000);
  waiting.end.abort(new Error("closed"));
  await waiting.clock.advance(100);
  await waiting.done;

  expect([looking.clock.pending, waiting.clock.pending]).toEqual([0, 0]);
});

test("a failed list is logged once, and again only after a success", async () => {
  const said: string[] = [];
  const clock = new VirtualClock();
  const end = new AbortController();
  let failures = 3;
  const watch = new RuntimeWatch({
    runtime: {
      async *events(signal) {
        yield lost;
        await clock.sleep(1e9, signal);
      },
    },
    relistMs: 100_000,
    clock,
    random: new SeededRandom(1),
    presence: new RuntimePresence(),
    logger: { ...silentLogger, warn: (_: unknown, message: string) => void said.push(message) },
    onEvent: () => {},
    relist: async () => {
      if (failures-- > 0) throw new UnavailableError("away");
    },
  });
  const done = watch.run(end.signal);
  await clock.advance(60_000);
  expect(said).toEqual(["the runtime could not be listed; the last known state stays, will retry"]);
  failures = 2;
  await clock.advance(110_000);

  expect(said).toHaveLength(2);
  end.abort(new Error("closed"));
  await done;
});
