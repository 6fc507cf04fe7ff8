import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { startFakeEngine } from "../test-support/fake-engine-server.ts";
import { frame } from "../test-support/frames.ts";
import { inspected } from "../test-support/inspected.ts";
import { containerLogs } from "./container-logs.ts";

const { signal: never } = new AbortController();
const options = { follow: false, previous: false, timestamps: false };

test("a log is asked for when it is read, and not to its end if nobody wants it", async () => {
  let isClosed = Promise.withResolvers<undefined>();
  await using fake = await startFakeEngine({
    answers: {
      ...inspected(),
      "GET /containers/c/logs": () => (response) => {
        isClosed = Promise.withResolvers();
        response.on("close", () => isClosed.resolve(undefined));
        response.write(frame(1, "2026-11-21T07:20:44.000000001Z one\n"));
      },
    },
  });

  const { data, timestamps, applied } = await containerLogs(fake.engine, "c", { ...options, follow: true }, never);
  expect(fake.requests.filter(({ path }) => path.endsWith("/logs"))).toEqual([]);
  for await (const chunk of data) {
    expect(String(chunk)).toBe("2026-11-21T07:20:44.000000001Z one\n");
    break;
  }

  await isClosed.promise;
  expect({ timestamps, applied }).toEqual({ timestamps: true, applied: ["tailLines", "sinceTime"] });
});

test("more last lines than can be kept are counted, and are the same lines", async () => {
  const lines = Array.from({ length: 100_010 }, (_, index) => `2026-11-21T07:20:44.${String(index).padStart(9, "0")}Z ${index}\n`);
  await using fake = await startFakeEngine({
    answers: {
      ...inspected(),
      "GET /containers/c/logs": () => (response) => {
        const since = fake.requests.at(-1)?.query.get("since");
        response.end(Buffer.concat(lines.slice(Number(since?.split(".")[1] ?? 0)).map((line) => frame(1, line))));
      },
    },
  });
  const read = async (tailLines: number): Promise<string[]> => {
    const { data } = await containerLogs(fake.engine, "c", { ...options, tailLines }, never);
    let all = "";
    for await (const chunk of data) all += String(chunk);
    return all.split("\n").slice(0, -1);
  };

  expect(await read(100_001)).toEqual(lines.slice(9).map((line) => line.trim()));
  expect(await read(100_010)).toHaveLength(100_010);
});

test("a log that is cut off by its client ends with the client's reason", async () => {
  await using fake = await startFakeEngine({
    answers: { ...inspected(), "GET /containers/c/logs": () => (response) => response.flushHeaders() },
  });
  const controller = new AbortController();
  const reason = new Error("the client is gone");
  const { data } = await containerLogs(fake.engine, "c", { ...options, follow: true }, controller.signal);
  const reading = (async () => {
    for await (const _ of data);
  })();
  await setTimeout(50);
  controller.abort(reason);

  await expect(reading).rejects.toBe(reason);
});

test("the last lines are looked for, then read from their first on", async () => {
  const log = Array.from({ length: 40 }, (_, index) => `2026-11-21T07:20:44.0000000${String(index).padStart(2, "0")}Z line ${index}\n`);
  await using fake = await startFakeEngine({
    answers: {
      ...inspected(),
      "GET /containers/c/logs": ({ query }) => {
        const [since, until] = [query.get("since")?.split(".")[1], query.get("until")?.split(".")[1]];
        const entries = log.slice(-Number(query.get("tail") ?? log.length)).filter((entry) => {
          const nanos = entry.slice(20, 29);
          return nanos >= (since ?? "") && nanos <= (until ?? "z");
        });
        return (response) => response.end(Buffer.concat(entries.map((entry) => frame(1, entry))));
      },
    },
  });

  const { data } = await containerLogs(fake.engine, "c", { ...options, tailLines: 2 }, never);
  let all = "";
  for await (const chunk of data) all += String(chunk);

  expect(all).toBe(log.slice(-2).join(""));
  expect(fake.requests.filter(({ path }) => path.endsWith("/logs")).map(({ query }) => query.get("tail"))).toEqual(["3", null]);
});
