import { VirtualClock } from "@virtual-kubelet/clock";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { UnauthorizedError, UnavailableError } from "@virtual-kubelet/errdefs";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { NomadClient } from "../api/nomad-client.ts";
import type { NomadEvent } from "../api/types.ts";
import { Feed } from "./feed.ts";

/** A stream that gives what it is told to, until it is destroyed. */
class FakeStream implements AsyncIterable<readonly NomadEvent[]> {
  readonly #frames: (readonly NomadEvent[])[] = [];
  #wake = Promise.withResolvers<void>();
  #ended = false;

  give(frame: readonly NomadEvent[]): void {
    this.#frames.push(frame);
    this.#wake.resolve();
  }

  destroy(): void {
    this.#ended = true;
    this.#wake.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly NomadEvent[]> {
    while (!this.#ended || this.#frames.length > 0) {
      const frame = this.#frames.shift();
      if (frame) yield frame;
      else {
        await this.#wake.promise;
        this.#wake = Promise.withResolvers();
      }
    }
  }
}

let clock: VirtualClock;
let calls: string[];
let streams: FakeStream[];
let heard: NomadEvent[];
let refuseStream: Error | undefined;
let refuseList: Error | undefined;
let index: number;
/** How many queries wait until they are aborted. */
let idle: number;
let stop: AbortController;
let running: Promise<void>;
let feed: Feed;

function start(stream = true, namespaces = 1): void {
  const client = {
    async events(_topics: readonly string[], from: number) {
      calls.push(`stream from ${from}`);
      if (refuseStream) throw refuseStream;
      const opened = new FakeStream();
      streams.push(opened);
      return opened;
    },
    async waitForAllocations(from: number, _waitMs: number, signal: AbortSignal) {
      calls.push(`wait from ${from}`);
      if (idle-- > 0) await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
      return index;
    },
  } satisfies Partial<NomadClient>;
  feed = new Feed({
    clients: Array.from({ length: namespaces }, () => ({ ...client }) as unknown as NomadClient),
    clock,
    logger: silentLogger,
    async relist() {
      calls.push("list");
      if (refuseList) throw refuseList;
      return index;
    },
    onEvent: (event) => void heard.push(event),
    relistMs: 60_000,
    stream,
  });
  running = feed.run(stop.signal);
}

beforeEach(() => {
  [clock, calls, streams, heard, index] = [new VirtualClock(), [], [], [], 7];
  [refuseStream, refuseList] = [undefined, undefined];
  idle = 0;
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort(new Error("over"));
  await clock.advance(0);
  await running;
  expect(clock.pending).toBe(0);
});

test("a list comes first, the stream goes on from its index, and events are handed out", async () => {
  start();
  await clock.advance(0);
  streams[0]?.give([]);
  streams[0]?.give([{ Topic: "Job", Type: "JobRegistered", Key: "a" }]);
  await clock.advance(0);

  expect(calls).toEqual(["list", "stream from 7"]);
  expect(heard.map(({ Key }) => Key)).toEqual(["a"]);
  expect(feed.connected).toBe(true);
});

test("everything is listed anew every so often while the stream runs", async () => {
  start();
  for (let second = 0; second < 130; second++) {
    await clock.advance(1000);
    streams[0]?.give([]);
  }

  expect(calls).toEqual(["list", "stream from 7", "list", "list"]);
});

test("a stream that gives nothing at first, or falls silent, is opened anew after a list", async () => {
  start();
  await clock.advance(10_000);
  await clock.advance(1000);
  expect(calls).toEqual(["list", "stream from 7", "list", "stream from 7"]);
  streams[1]?.give([]);
  await clock.advance(44_000);
  expect(calls).toHaveLength(4);
  await clock.advance(3000);
  expect(calls).toHaveLength(6);
});

test("a stream that breaks off is opened anew, and so is a list that fails, with growing pauses", async () => {
  start();
  await clock.advance(0);
  refuseList = new UnavailableError("away");
  streams[0]?.destroy();
  await clock.advance(60_000);
  const tries = calls.filter((call) => call === "list").length;
  expect(tries).toBeGreaterThan(4);
  expect(tries).toBeLessThan(9);
  expect(feed.connected).toBe(false);
  refuseList = undefined;
  await clock.advance(30_000);
  expect(calls.at(-1)).toBe("stream from 7");
  streams.at(-1)?.give([]);
});

test("a stream that answers 502 while lists succeed is tried again with growing pauses", async () => {
  refuseStream = new UnavailableError("open the event stream: Nomad answered 502");
  start();
  await clock.advance(60_000);

  const tries = calls.filter((call) => call.startsWith("stream")).length;
  expect(tries).toBeGreaterThan(4);
  expect(tries).toBeLessThan(9);
});

test("where the stream is refused, blocking queries do, and after ten minutes it is tried again", async () => {
  refuseStream = new UnauthorizedError("Permission denied");
  start();
  await clock.advance(5000);

  expect(calls.slice(0, 6)).toEqual(["list", "stream from 7", "wait from 0", "list", "wait from 7", "list"]);
  refuseStream = undefined;
  await clock.advance(600_000);
  expect(calls).toContain("stream from 7");
  expect(streams.length).toBeGreaterThan(0);
});

test("without the stream an index that goes back begins anew", async () => {
  start(false);
  await clock.advance(1500);
  index = 3;
  await clock.advance(3000);

  expect(calls.filter((call) => call.startsWith("wait"))).toEqual(expect.arrayContaining(["wait from 7", "wait from 0", "wait from 3"]));
  expect(calls).not.toContain("stream from 7");
});

test("each namespace has a stream of its own; when one of them breaks or is silent, all are opened anew after a list", async () => {
  start(true, 2);
  await clock.advance(0);
  streams[0]?.give([{ Topic: "Job", Type: "JobRegistered", Key: "a" }]);
  streams[1]?.give([{ Topic: "Job", Type: "JobRegistered", Key: "b" }]);
  await clock.advance(0);
  expect(calls).toEqual(["list", "stream from 7", "stream from 7"]);
  expect(heard.map(({ Key }) => Key).toSorted()).toEqual(["a", "b"]);
  for (let second = 0; second < 45; second++) {
    await clock.advance(1000);
    streams[0]?.give([]);
  }
  await clock.advance(2000);

  expect(calls.filter((call) => call.startsWith("stream"))).toHaveLength(4);
});

test("a namespace whose stream never gives anything has the others opened anew at growing pauses", async () => {
  start(true, 2);
  for (let second = 0; second < 120; second++) {
    await clock.advance(1000);
    for (const [number, stream] of streams.entries()) if (number % 2 === 0) stream.give([]);
  }

  expect(streams.length / 2).toBeLessThan(8);
});

test("without the stream a change in any namespace is enough", async () => {
  [idle, index] = [1, 9];
  start(false, 2);
  await clock.advance(500);

  expect(calls).toEqual(["wait from 0", "wait from 0", "list"]);
});
