import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Refusal } from "../server/refusal.ts";
import { parseLogQuery } from "./log-query.ts";

const now = Date.parse("2026-03-01T12:00:00.500Z");

function refusal(query: string): { status: number; text: string } | undefined {
  try {
    parseLogQuery(query, now);
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return { status: error.status, text: error.message };
    throw error;
  }
}

test("an empty query requests all of the current output without further options", () => {
  expect(parseLogQuery("", now)).toEqual({ follow: false, previous: false, timestamps: false });
});

test("all parameters of kubectl are parsed", () => {
  expect(
    parseLogQuery("follow=true&previous=true&timestamps=true&tailLines=10&limitBytes=2048&sinceTime=2026-03-01T10%3A00%3A00Z", now),
  ).toEqual({ follow: true, previous: true, timestamps: true, tailLines: 10, limitBytes: 2048, sinceTime: "2026-03-01T10:00:00Z" });
});

test.each([
  ["follow=0", false],
  ["follow=false", false],
  ["follow=FALSE", false],
  ["follow=", true],
  ["follow", true],
  ["follow=1", true],
  ["follow=no", true],
  ["follow=false&follow=true", false],
])("%s is %s", (query, expected) => {
  expect(parseLogQuery(query, now).follow).toBe(expected);
});

test("sinceSeconds is a time from now", () => {
  expect(parseLogQuery("sinceSeconds=90", now).sinceTime).toBe("2026-03-01T11:58:30.500000000Z");
});

test("a number of seconds that leads to a time before 1970 selects the whole log", () => {
  expect(parseLogQuery("sinceSeconds=9000000000000000000", now).sinceTime).toBe("1970-01-01T00:00:00.000000000Z");
});

test("the old parameter tail takes precedence over tailLines, and its value all means no limit", () => {
  expect(parseLogQuery("tail=5&tailLines=10", now).tailLines).toBe(5);
  expect(parseLogQuery("tail=all&tailLines=10", now).tailLines).toBeUndefined();
  expect(parseLogQuery("tail=&tailLines=10", now).tailLines).toBe(10);
});

test("stream=All is the same as the default", () => {
  expect(refusal("stream=All&tailLines=3")).toBeUndefined();
});

describe("a malformed value is a 400", () => {
  test.each([
    "tailLines=ten",
    "tailLines=",
    "limitBytes=1.5",
    "sinceSeconds=0x10",
    "tailLines=99999999999999999999",
    "sinceTime=yesterday",
    "sinceTime=2026-13-01T00:00:00Z",
    "sinceTime=2026-02-30T00:00:00Z",
    "follow=%zz",
  ])("%s", (query) => {
    expect(refusal(query)).toEqual({ status: 400, text: '{"message": "Unable to decode query."}' });
  });
});

describe("an invalid value or combination is a 422", () => {
  test.each([
    "tailLines=-1",
    "limitBytes=0",
    "limitBytes=-1",
    "sinceSeconds=0",
    "sinceSeconds=10&sinceTime=2026-03-01T10:00:00Z",
    "stream=Both",
    "stream=Stdout&tailLines=1",
  ])("%s", (query) => {
    expect(refusal(query)).toEqual({ status: 422, text: '{"message": "Invalid request."}' });
  });
});

test("a request for only one of the two streams is refused in a kubelet's words", () => {
  expect(refusal("stream=Stdout")).toEqual({
    status: 400,
    text: 'unable to return the given log stream: "Stdout". Please enable PodLogsQuerySplitStreams feature gate in kubelet',
  });
});

test("every query is refused or becomes valid options", () => {
  const names = fc.constantFrom("tailLines", "limitBytes", "sinceSeconds", "sinceTime", "follow", "tail", "stream", "%", "x");
  const values = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.integer().map(String),
    fc.constantFrom("All", "all", "2026-03-01T10:00:00+14:00"),
  );
  const queries = fc.array(fc.tuple(names, values)).map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join("&"));
  fc.assert(
    fc.property(queries, (query) => {
      if (refusal(query)) return;
      const options = parseLogQuery(query, now);
      expect(options.tailLines ?? 0).toBeGreaterThanOrEqual(0);
      expect(options.limitBytes ?? 1).toBeGreaterThanOrEqual(1);
    }),
    { numRuns: 1000 },
  );
});

test.each([
  ["tailLines=0", { tailLines: 0 }],
  ["tailLines=%2B7", { tailLines: 7 }],
  ["limitBytes=1", { limitBytes: 1 }],
  ["sinceSeconds=1", { sinceTime: "2026-03-01T11:59:59.500000000Z" }],
  ["tailLines=9223372036854774784", { tailLines: Number.MAX_SAFE_INTEGER }],
  ["sinceTime=", {}],
  ["sinceTime=null", {}],
  ["sinceTime=&sinceSeconds=1", { sinceTime: "2026-03-01T11:59:59.500000000Z" }],
  ["tail=all", {}],
  ["previous=1", { previous: true }],
  ["timestamps", { timestamps: true }],
])("%s is %j", (query, expected) => {
  expect(parseLogQuery(query, now)).toEqual({ follow: false, previous: false, timestamps: false, ...expected });
});

test.each([
  "tailLines=-9223372036854775808",
  "tailLines=9223372036854775808",
  "tailLines=x7",
  "tailLines=7x",
  "limitBytes=00000000000000000001",
])("%s is malformed", (query) => {
  expect(refusal(query)).toMatchObject({ status: 400 });
});

test("a tail can be combined with both streams, but not with one of them", () => {
  expect(refusal("stream=Stderr")).toMatchObject({ status: 400, text: expect.stringContaining('"Stderr"') });
  expect(refusal("stream=Stderr&tailLines=1")).toMatchObject({ status: 422 });
  expect(refusal("stream=")).toMatchObject({ status: 422 });
});
