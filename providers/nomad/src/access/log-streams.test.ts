import { VirtualClock } from "@virtual-kubelet/clock";
import { NotFoundError, QuotaExceededError, UnavailableError } from "@virtual-kubelet/errdefs";
import { beforeEach, expect, test } from "vitest";
import { ArrivalTimes } from "./arrival-times.ts";
import { LogStreams, type FollowedLog, type LogFollower } from "./log-streams.ts";

const { signal } = new AbortController();

/** Text, an empty text for a heartbeat, or how the connection ends. */
type Frame = string | Error | undefined;

let clock: VirtualClock;
let isOver: boolean;
/** What each connection gives, one behind the other. */
let connections: Frame[][];
let opened: { readonly offset: number; readonly atMs: number; isOpen: boolean }[];
let streams: LogStreams;
let log: FollowedLog;

beforeEach(() => {
  [clock, isOver, connections, opened] = [new VirtualClock(), false, [], []];
  log = { allocation: "a", task: "main", tenant: "default", type: "stdout", times: new ArrivalTimes(), isOver: () => isOver };
  streams = new LogStreams({
    clock,
    client: {
      async *followLog(_allocation, { offset }, until) {
        const connection = { offset, atMs: clock.monotonic(), isOpen: true };
        opened.push(connection);
        try {
          for (const frame of connections.shift() ?? []) {
            if (frame instanceof Error) throw frame;
            if (frame === undefined) return;
            yield frame === "" ? {} : { Data: Buffer.from(frame).toString("base64") };
          }
          await new Promise((resolve) => until.addEventListener("abort", resolve, { once: true }));
        } finally {
          connection.isOpen = false;
        }
      },
    },
  });
});

async function read(follower: LogFollower): Promise<string> {
  let text = "";
  for await (const { bytes } of follower.chunks(signal)) text += Buffer.from(bytes).toString();
  return text;
}

test("a stream that cannot be had is tried again at growing pauses, and goes on where it was", async () => {
  const down = new UnavailableError("Nomad answered 502");
  connections = [["abc", undefined], [down], [down], ["def", "", ""]];
  const text = read(streams.follow(log, 10));
  await clock.advance(2000);
  isOver = true;
  await clock.advance(2000);

  expect(opened.map(({ offset, atMs }) => [offset, atMs - (opened[0]?.atMs ?? 0)])).toEqual([
    [10, 0],
    [13, 500],
    [13, 1500],
    [13, 3500],
  ]);
  expect(await text).toBe("abcdef");
});

test("followers share a stream, which ends with the last of them", async () => {
  connections = [["abc"]];
  const first = streams.follow(log, 0);
  await clock.advance(0);
  const second = streams.follow(log, 0);

  expect([first.position, second.position, opened.length]).toEqual([0, 3, 1]);
  first[Symbol.dispose]();
  await clock.advance(0);
  expect(opened[0]?.isOpen).toBe(true);
  second[Symbol.dispose]();
  await clock.advance(0);
  expect(opened[0]?.isOpen).toBe(false);
  streams.follow(log, 3)[Symbol.dispose]();
  expect(opened).toHaveLength(2);
});

test("a follower that is too slow is told that it is late, and keeps nothing", async () => {
  connections = [["x".repeat(600_000), "y".repeat(600_000)]];
  const follower = streams.follow(log, 0);
  await clock.advance(0);

  expect(follower.isLate).toBe(true);
  expect(await read(follower)).toBe("");
  follower[Symbol.dispose]();
});

test("a stream that there is no connection for is told at once", async () => {
  connections = [[new QuotaExceededError("all connections are in use")]];

  await expect(read(streams.follow(log, 0))).rejects.toThrow("all connections are in use");
});

test("a log that never comes to be is given up after a while", async () => {
  connections = Array.from({ length: 20 }, () => [new NotFoundError("no such log")]);
  const text = read(streams.follow(log, 0)).catch(String);
  await clock.advance(60_000);
  await clock.advance(60_000);

  expect(await text).toMatch("no such log");
});
