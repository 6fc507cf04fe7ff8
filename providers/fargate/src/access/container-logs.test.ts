import { NotFoundError } from "@virtual-kubelet/errdefs";
import type { LogSnapshot, SnapshotQuery } from "@virtual-kubelet/remote-pods";
import { describe, expect, test } from "vitest";
import type { LogEvent, LogPage, LogPosition } from "../aws/logs-api.ts";
import { taskArn } from "../test-support/tasks.ts";
import { readLogs } from "./container-logs.ts";

const startMs = Date.parse("2026-11-21T10:00:00Z");

/** A stream in pages of two events, whose last page has its own token. */
class FakeLogs {
  readonly positions: LogPosition[] = [];
  readonly events: LogEvent[];
  failure: Error | undefined;

  constructor(count: number) {
    this.events = Array.from({ length: count }, (_, index) => ({ timeMs: startMs + index * 1000, message: `line ${index}` }));
  }

  async read(position: LogPosition): Promise<LogPage> {
    this.positions.push(position);
    if (this.failure) throw this.failure;
    const { fromHead, startTimeMs = 0, limit = 2, nextToken = "0" } = position;
    const events = this.events.filter(({ timeMs }) => timeMs >= startTimeMs);
    if (!fromHead) return { events: events.slice(-limit), nextForwardToken: "end" };
    const page = events.slice(Number(nextToken), Number(nextToken) + 2);
    return { events: page, nextForwardToken: String(Math.min(events.length, Number(nextToken) + 2)) };
  }
}

const snapshotOf = (api: FakeLogs, query: SnapshotQuery = {}, logGroup: string | undefined = "/ecs/pods"): Promise<LogSnapshot> =>
  readLogs({ api, config: { logGroup, logStreamPrefix: "vk" } }, { taskArn, container: "main" }, query, new AbortController().signal);

const read = async (...args: Parameters<typeof snapshotOf>): Promise<string> => (await snapshotOf(...args)).text;

test("all pages are read, until AWS returns the same token again", async () => {
  const api = new FakeLogs(5);
  const text = await read(api);

  expect(text.split("\n")).toHaveLength(6);
  expect(text).toMatch(/^2026-11-21T10:00:00.000Z line 0\n.*line 4\n$/s);
  expect(api.positions[0]).toMatchObject({ group: "/ecs/pods", stream: "vk/main/0123456789abcdef0123456789abcdef", fromHead: true });
  expect(api.positions.map(({ nextToken }) => nextToken)).toEqual([undefined, "2", "4", "5"]);
});

test("pages that go in a circle are an error, not a log without end", async () => {
  const tokens = ["a", "b", "a"].values();
  const api = { read: async (): Promise<LogPage> => ({ events: [], nextForwardToken: tokens.next().value }) };

  await expect(read(api as never)).rejects.toMatchObject({ code: "VK_UNAVAILABLE" });
});

test("the last lines are read from the end, in one request", async () => {
  const api = new FakeLogs(100);

  expect(await read(api, { tailLines: 3 })).toMatch(/line 97\n.*line 98\n.*line 99\n$/);
  expect(api.positions).toHaveLength(1);
});

test("lines since a time are chosen by AWS", async () => {
  const api = new FakeLogs(5);

  expect(await read(api, { sinceTime: "2026-11-21T10:00:03Z" })).toMatch(/^\S+ line 3\n\S+ line 4\n$/);
  expect(api.positions[0]?.startTimeMs).toBe(startMs + 3_000);
});

test.each([
  ["2026-11-21T10:00:03.000000001Z", /^\S+ line 4\n$/],
  ["2026-11-21T11:00:03.000+01:00", /^\S+ line 3\n\S+ line 4\n$/],
])("lines since %s do not begin before it, and the answer says that no others are in it", async (sinceTime, expected) => {
  const snapshot = await snapshotOf(new FakeLogs(5), { sinceTime });

  expect(snapshot.text).toMatch(expected);
  expect(snapshot.applied).toEqual(["sinceTime"]);
  const last = await snapshotOf(new FakeLogs(5), { sinceTime, tailLines: 1 });
  expect([last.text, last.applied]).toEqual([expect.stringMatching(/^\S+ line 4\n$/), ["tailLines", "sinceTime"]]);
});

test("of more than 32 MiB the newest lines are kept", async () => {
  const api = new FakeLogs(0);
  api.events.push(...Array.from({ length: 20 }, (_, index) => ({ timeMs: startMs, message: `${index}${"x".repeat(4 * 1024 * 1024)}` })));
  const text = await read(api);

  expect(text.length).toBeLessThan(34 * 1024 * 1024);
  expect(text).toContain(" 19x");
  expect(text).not.toContain(" 0x");
});

describe("nothing to read", () => {
  test("is no error before the first line, when the stream does not exist", async () => {
    const api = new FakeLogs(0);
    api.failure = new NotFoundError("ResourceNotFoundException: The specified log stream does not exist.");

    expect(await read(api)).toBe("");
  });

  test("is an error if the group does not exist", async () => {
    const api = new FakeLogs(0);
    api.failure = new NotFoundError("ResourceNotFoundException: The specified log group does not exist.");

    await expect(read(api)).rejects.toThrow("log group /ecs/pods does not exist; create it, or set createLogGroup");
  });

  test("is unsupported without a log group", async () => {
    const api = new FakeLogs(0);
    const reading = readLogs(
      { api, config: { logGroup: undefined, logStreamPrefix: "vk" } },
      { taskArn, container: "main" },
      {},
      new AbortController().signal,
    );

    await expect(reading).rejects.toMatchObject({ code: "VK_UNSUPPORTED" });
  });
});
