import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import type { ContainerLogs, ProviderPodStatus } from "@virtual-kubelet/core";
import { ForbiddenError, InvalidInputError, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import type { LogSnapshot, SnapshotQuery } from "../backend/remote-backend.ts";
import { followSnapshots } from "./follow-snapshots.ts";
import { SnapshotPollers, type SnapshotPollersOptions } from "./snapshot-pollers.ts";
import { outputStateOf, type OutputState, type SnapshotSource } from "./snapshot-source.ts";

const never = new AbortController().signal;
const plain = { follow: false, previous: false, timestamps: false };
const followed = { ...plain, follow: true };

/** A container whose output a test writes. */
class FakeContainer implements SnapshotSource {
  text = "";
  hasTimestamps = false;
  isRunning = true;
  instance: string | undefined = "1";
  finishedAt: string | undefined;
  /** Number of characters at the end that reads do not return yet. */
  delayed = 0;
  /** Thrown by the next reads, one by one. */
  readonly errors: unknown[] = [];
  readonly reads: { readonly atMs: number; readonly query: SnapshotQuery }[] = [];
  readonly #clock: VirtualClock;
  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  async read(query: SnapshotQuery, signal: AbortSignal): Promise<LogSnapshot> {
    this.reads.push({ atMs: this.#clock.monotonic(), query });
    await this.#clock.sleep(1, signal);
    if (this.errors.length > 0) throw this.errors.shift();
    const shown = this.text.slice(0, this.text.length - this.delayed);
    const lines = shown.split(/(?<=\n)/);
    const text = query.tailLines === undefined ? shown : lines.slice(Math.max(0, lines.length - query.tailLines)).join("");
    return { text, hasTimestamps: this.hasTimestamps };
  }

  state(): OutputState {
    return { isRunning: this.isRunning, instance: this.instance, finishedAt: this.finishedAt };
  }
}

function setUp(options: Partial<SnapshotPollersOptions> = {}): {
  readonly clock: VirtualClock;
  readonly pollers: SnapshotPollers;
  readonly container: FakeContainer;
} {
  const clock = new VirtualClock();
  return { clock, container: new FakeContainer(clock), pollers: new SnapshotPollers({ clock, random: new SeededRandom(1), ...options }) };
}

/** Reads logs to their end, in the background. */
function reading(logs: ContainerLogs): { text: string; error?: unknown; hasEnded: boolean } {
  const result: { text: string; error?: unknown; hasEnded: boolean } = { text: "", hasEnded: false };
  void (async () => {
    try {
      for await (const piece of logs.data) result.text += String(piece);
      for await (const piece of logs.live ?? []) result.text += String(piece);
    } catch (error) {
      result.error = error;
    }
    result.hasEnded = true;
  })();
  return result;
}

async function open(
  { clock, pollers, container }: ReturnType<typeof setUp>,
  options: Parameters<typeof followSnapshots>[3] = followed,
  signal = never,
  key = "uid app",
): Promise<ContainerLogs> {
  const opened = followSnapshots(pollers, key, container, options, signal);
  opened.catch(() => {});
  await clock.advance(1);
  return opened;
}

test("output that is not followed is one snapshot, and the back end is told what is wanted of it", async () => {
  const all = setUp();
  all.container.text = "a\nb\nc\n";
  const logs = await open(all, { ...plain, tailLines: 2, sinceTime: "2026-01-01T00:00:00Z" });
  const result = reading(logs);
  await all.clock.settle();

  expect([result.text, logs.live, logs.timestamps, logs.applied]).toEqual(["b\nc\n", undefined, false, undefined]);
  expect(all.container.reads).toEqual([{ atMs: 0, query: { tailLines: 2, sinceTime: "2026-01-01T00:00:00Z" } }]);
});

test("no lines are not asked for, unless those that follow are", async () => {
  const all = setUp();
  all.container.text = "a\nb\n";
  const logs = await open(all, { ...plain, tailLines: 0 });
  const result = reading(logs);
  await all.clock.settle();
  expect([result.text, result.hasEnded, logs.applied, all.container.reads]).toEqual(["", true, ["tailLines"], []]);
  all.container.isRunning = true;
  await open(all, { ...followed, tailLines: 0 });

  expect(all.container.reads).toMatchObject([{ query: { tailLines: 1_000 } }]);
});

test("followed output has each line once, and ends after the read that follows the container's end", async () => {
  const all = setUp();
  const { clock, container } = all;
  container.text = "a\n";
  const result = reading(await open(all));
  await clock.advance(3_000);
  container.text += "b\n";
  await clock.advance(6_000);
  expect([result.text, result.hasEnded]).toEqual(["a\nb\n", false]);
  container.text += "c";
  container.isRunning = false;
  await clock.advance(6_000);

  expect([result.text, result.error, result.hasEnded]).toEqual(["a\nb\nc", undefined, true]);
  expect([all.pollers.containers, clock.pending]).toEqual([0, 0]);
});

test("followed output that a back end shows late is read on for after the container's end, and then ends", async () => {
  const all = setUp({ logDelayMs: 10_000 });
  const { clock, container } = all;
  container.text = "a\n";
  const result = reading(await open(all));
  container.text += "last\n";
  container.delayed = 5;
  container.isRunning = false;
  const endMs = clock.monotonic();
  await clock.advance(9_000);
  expect([result.text, result.hasEnded]).toEqual(["a\n", false]);
  container.delayed = 0;
  await clock.advance(12_000);

  expect([result.text, result.error, result.hasEnded]).toEqual(["a\nlast\n", undefined, true]);
  expect(all.container.reads.at(-1)?.atMs).toBeGreaterThanOrEqual(endMs + 10_000);
  expect([all.pollers.containers, clock.pending]).toEqual([0, 0]);
});

test.for([
  ["3 s before, whose last lines may come", 3_000, "a\nlast\n"],
  ["11 s before, which is read once", 11_000, "a\n"],
] as const)("following a container that ended %s", async ([, agoMs, text]) => {
  const all = setUp({ logDelayMs: 10_000 });
  const { clock, container } = all;
  container.text = "a\nlast\n";
  container.delayed = 5;
  container.isRunning = false;
  container.finishedAt = new Date(clock.now() - agoMs).toISOString();
  const result = reading(await open(all));
  await clock.advance(4_000);
  container.delayed = 0;
  await clock.advance(20_000);

  expect([result.text, result.hasEnded]).toEqual([text, true]);
});

test("a container that is removed within the delay ends the followed output at once", async () => {
  const all = setUp({ logDelayMs: 60_000 });
  const { clock, container } = all;
  container.text = "a\n";
  const result = reading(await open(all));
  container.isRunning = false;
  container.errors.push(new NotFoundError("gone"));
  await clock.advance(6_000);

  expect([result.text, result.error, result.hasEnded]).toEqual(["a\n", undefined, true]);
});

test("the output of a container that has ended is not polled for", async () => {
  const all = setUp();
  all.container.text = "a\n";
  all.container.isRunning = false;
  const logs = await open(all);

  expect(logs.live).toBeUndefined();
  expect(all.container.reads).toHaveLength(1);
});

test("a container that writes is polled each second, and a quiet one less and less often, up to five seconds", async () => {
  const all = setUp();
  const { clock, container } = all;
  const result = reading(await open(all));
  for (let second = 0; second < 10; second++) {
    container.text += `${second}\n`;
    await clock.advance(1_000);
  }
  const busy = container.reads.length - 1;
  await clock.advance(60_000);
  const quiet = container.reads.length - 1 - busy;
  container.text += "again\n";
  await clock.runUntil(() => result.text.endsWith("again\n"), { withinMs: 5_600 });
  container.text += "and again\n";
  await clock.advance(1_200);

  expect(busy).toBeGreaterThanOrEqual(8);
  expect(busy).toBeLessThanOrEqual(11);
  expect(quiet).toBeGreaterThanOrEqual(11);
  expect(quiet).toBeLessThanOrEqual(17);
  expect(result.text.endsWith("again\nand again\n")).toBe(true);
});

test("a poll asks for the last lines, and for all of them only if more were written meanwhile", async () => {
  const all = setUp({ tailLines: 3 });
  const { clock, container } = all;
  container.text = "1\n2\n3\n4\n5\n";
  const result = reading(await open(all, { ...followed, tailLines: 1 }));
  await clock.advance(1_200);
  container.text += "6\n7\n";
  await clock.advance(2_000);
  container.text += "8\n9\n10\n11\n";
  await clock.advance(4_000);

  expect(result.text).toBe("3\n4\n5\n6\n7\n8\n9\n10\n11\n");
  expect(container.reads.filter(({ query }) => query.tailLines === undefined)).toHaveLength(1);
  expect(container.reads.filter(({ query }) => query.tailLines === 3).length).toBeGreaterThan(3);
});

test("followers of one container share its polls, and each gets all of its output", async () => {
  const all = setUp();
  const { clock, container } = all;
  container.text = "a\n";
  const results = [reading(await open(all))];
  for (let index = 0; index < 4; index++) {
    container.text += `${index}\n`;
    await clock.advance(700);
    results.push(reading(await open(all)));
  }
  await clock.advance(10_000);
  const [first, last] = [container.reads.length, clock.monotonic()];
  for (let second = 0; second < 20; second++) {
    container.text += `more ${second}\n`;
    await clock.advance(1_000);
  }
  expect((container.reads.length - first) / ((clock.monotonic() - last) / 1000)).toBeLessThanOrEqual(1.2);
  container.isRunning = false;
  await clock.advance(10_000);

  expect(results.map(({ text }) => text)).toEqual(results.map(() => container.text));
  expect(all.pollers.containers).toBe(0);
});

test("a slow client costs no polls, and misses nothing", async () => {
  const all = setUp();
  const { clock, container } = all;
  container.text = "a\n";
  const logs = await open(all);
  const live = logs.live?.[Symbol.asyncIterator]();
  container.text += "b\n";
  const second = live?.next();
  await clock.advance(2_000);
  expect((await second)?.value).toBe("b\n");
  const before = container.reads.length;
  container.text += "c\nd\n";
  await clock.advance(600_000);
  expect(container.reads).toHaveLength(before);
  container.text += "e\n";
  const third = live?.next();
  await clock.advance(2_000);

  expect((await third)?.value).toBe("c\nd\ne\n");
  await live?.return?.();
  expect([all.pollers.containers, clock.pending]).toEqual([0, 0]);
});

test("failed polls are repeated with a back-off, and nothing is lost meanwhile", async () => {
  const all = setUp();
  const { clock, container } = all;
  container.text = "a\n";
  const result = reading(await open(all));
  container.errors.push(
    new UnavailableError("503"),
    new TypeError("socket closed"),
    new ForbiddenError("not now"),
    new NotFoundError("no stream"),
  );
  container.text += "b\n";
  await clock.advance(20_000);

  expect([result.text, result.error]).toEqual(["a\nb\n", undefined]);
});

test("an error that cannot pass ends the output, and so does the fifth failure after the container's end", async () => {
  const all = setUp();
  const { clock, container } = all;
  const refused = new InvalidInputError("no such container");
  const result = reading(await open(all));
  container.errors.push(refused);
  await clock.advance(5_000);
  expect([result.error, result.hasEnded]).toEqual([refused, true]);

  const errors = Array.from({ length: 6 }, (_, index) => new UnavailableError(`failure ${index + 1}`));
  const again = reading(await open(all));
  container.isRunning = false;
  container.errors.push(...errors);
  await clock.advance(120_000);
  expect(again.error).toBe(errors[4]);
  expect([all.pollers.containers, clock.pending]).toEqual([0, 0]);
});

test("what the first read throws is thrown, and leaves nothing", async () => {
  const all = setUp();
  all.container.errors.push(new NotFoundError("no such container"));

  await expect(open(all)).rejects.toThrow("no such container");
  expect([all.pollers.containers, all.clock.pending]).toEqual([0, 0]);
});

test("an abort ends the output with its reason, and leaves neither polls, timers nor listeners", async () => {
  const all = setUp();
  const { clock, container } = all;
  const aborts = Array.from({ length: 5 }, () => new AbortController());
  const results = [];
  for (const { signal } of aborts) results.push(reading(await open(all, followed, signal)));
  await clock.advance(1_500);
  const reason = new Error("the client is gone");
  for (const abort of aborts) abort.abort(reason);
  await clock.settle();
  const reads = container.reads.length;
  await clock.advance(60_000);

  expect(results.map(({ error }) => error)).toEqual(results.map(() => reason));
  expect([container.reads.length, all.pollers.containers, clock.pending]).toEqual([reads, 0, 0]);
  expect(aborts.map(({ signal }) => getEventListeners(signal, "abort").length)).toEqual([0, 0, 0, 0, 0]);
});

test("one follower's abort does not disturb another", async () => {
  const all = setUp();
  const { clock, container } = all;
  const abort = new AbortController();
  const [gone, stays] = [reading(await open(all, followed, abort.signal)), reading(await open(all))];
  await clock.advance(500);
  abort.abort(new Error("gone"));
  container.text += "a\n";
  await clock.advance(3_000);

  expect([gone.error, stays.error, stays.text]).toEqual([new Error("gone"), undefined, "a\n"]);
});

test("followers of a container, and followed containers, are limited", async () => {
  const all = setUp({ maxFollowers: 2, maxContainers: 1 });
  const results = [];
  for (const key of ["a", "a", "a", "b"]) results.push(reading(await open(all, followed, never, key)));
  await all.clock.settle();

  expect(results.map(({ error }) => (error as Error | undefined)?.message)).toEqual([
    undefined,
    undefined,
    "follow a container's output: 2 clients do already; end one of them, or read without -f",
    "follow a container's output: that of 1 containers is followed already; read without -f",
  ]);
});

test("lines with times are told to have them, and equal lines of one instant are all returned", async () => {
  const all = setUp();
  const { clock, container } = all;
  const line = "2026-01-01T00:00:01.5Z tick\n";
  Object.assign(container, { hasTimestamps: true, text: line });
  const logs = await open(all);
  const result = reading(logs);
  await clock.advance(2_000);
  container.text += line;
  await clock.advance(4_000);

  expect([logs.timestamps, result.text]).toEqual([true, line + line]);
});

test("after a restart the output begins again, and a longer one is not taken for lost output", async () => {
  const all = setUp();
  const { clock, container } = all;
  container.text = "first instance\n".repeat(400);
  const result = reading(await open(all));
  await clock.advance(1_200);
  const second = Array.from({ length: 800 }, (_, index) => `second instance ${index}\n`).join("");
  Object.assign(container, { instance: "2", text: second });
  await clock.advance(4_000);

  expect(result.text).toBe("first instance\n".repeat(400) + second);
});

test("output that slid away between two polls is told by one line", async () => {
  const all = setUp();
  const { clock, container } = all;
  container.text = "first part\n".repeat(1_000);
  const result = reading(await open(all));
  await clock.advance(1_200);
  container.text = Array.from({ length: 800 }, (_, index) => `later part ${index}\n`).join("");
  await clock.advance(10_000);

  expect(result.text.split("\n").filter((line) => line.startsWith("[virtual-kubelet:"))).toHaveLength(1);
  expect(result.text.endsWith(container.text)).toBe(true);
});

test("a tail of no lines is read with enough lines to go on from", async () => {
  const all = setUp();
  const { clock, container } = all;
  container.text = "a\nb\n";
  const result = reading(await open(all, { ...followed, tailLines: 0, sinceTime: "2026-01-01T00:00:00Z" }));
  container.text += "c\n";
  await clock.advance(3_000);

  expect(container.reads[0]?.query).toEqual({ tailLines: 1_000 });
  expect(result.text).toBe("a\nb\nc\n");
});

const startedAt = "2026-01-01T00:00:00Z";
const containerStatus = { name: "app", image: "i", imageID: "", ready: true, restartCount: 2 };
const terminated = { exitCode: 0 };

test.each<[string, ProviderPodStatus | undefined, OutputState]>([
  [
    "a running container",
    { containerStatuses: [{ ...containerStatus, state: { running: { startedAt } } }] },
    { isRunning: true, instance: `2 ${startedAt}` },
  ],
  ["an init container", { initContainerStatuses: [{ ...containerStatus, state: { terminated } }] }, { isRunning: false }],
  ["a container that is being created", { containerStatuses: [{ ...containerStatus, state: { waiting: {} } }] }, { isRunning: true }],
  ["a container without a status", { containerStatuses: [] }, { isRunning: true }],
  ["a container that has ended", { containerStatuses: [{ ...containerStatus, state: { terminated } }] }, { isRunning: false }],
  [
    "a container that waits for its restart",
    { containerStatuses: [{ ...containerStatus, state: { waiting: {} }, lastState: { terminated } }] },
    { isRunning: false },
  ],
  ["a pod that has ended", { phase: "Failed", containerStatuses: [] }, { isRunning: false }],
  ["a pod that is gone", undefined, { isRunning: false }],
])("the output of %s", (_what, status, expected) => {
  expect(outputStateOf(status, "app")).toEqual(expected);
});
