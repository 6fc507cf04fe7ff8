import { once } from "node:events";
import { createServer } from "node:http";
import { expect, test } from "vitest";
import type { GroupMember } from "../azure/group-schema.ts";
import { readRealTime, realTimeStats, type RealTimeAnswer } from "./real-time.ts";

const { signal } = new AbortController();
const ref = { namespace: "shop", name: "web", uid: "1" };
const startTime = "2026-11-21T10:00:00Z";
const main: GroupMember = { name: "main", properties: { instanceView: { currentState: { state: "Running", startTime } } } };

const usage = { cpu: { usageCoreNanoSeconds: 5_000_000_000 }, memory: { usageBytes: 300, workingSetBytes: 200, rssBytes: 100 } };
const answer: RealTimeAnswer = {
  timestamp: Date.parse("2026-11-21T10:05:00Z") * 1e6,
  ...usage,
  containers: [
    { name: "main", ...usage },
    { name: "realtime-metrics-proxy", ...usage },
  ],
  network: { name: "eth0", rxBytes: 1, rxErrors: 2, txBytes: 3, txErrors: 4 },
};

test("a pod's figures are the extension's, without containers of Azure's own", () => {
  const time = "2026-11-21T10:05:00.000Z";
  const figures = {
    cpu: { time, usageCoreNanoSeconds: 5_000_000_000 },
    memory: { time, usageBytes: 300, workingSetBytes: 200, rssBytes: 100 },
  };

  expect(realTimeStats(ref, [main], answer)).toEqual({
    podRef: ref,
    startTime,
    containers: [{ name: "main", startTime, ...figures }],
    ...figures,
    network: { time, name: "eth0", rxBytes: 1, rxErrors: 2, txBytes: 3, txErrors: 4 },
  });
});

/** Serves a text at the extension's port of a loopback address. */
async function withServer(address: string, text: string, use: () => Promise<void>): Promise<void> {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url ?? "");
    response.end(text);
  });
  server.listen(18_899, address);
  await once(server, "listening");
  try {
    await use();
    expect(paths).toEqual(["/v1/stats"]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("figures are read from the pod's address", async () => {
  await withServer("127.93.0.1", JSON.stringify(answer), async () =>
    expect(await readRealTime("127.93.0.1", signal)).toMatchObject({ timestamp: answer.timestamp }),
  );
});

test.for([
  ["no figures", JSON.stringify({ containers: [] }), /not as expected: timestamp/],
  ["no JSON", "<html>", /18899/],
  ["too much", `"${"x".repeat(1024 * 1024)}"`, /18899/],
] as const)("an answer with %s is an error", async ([, text, message]) => {
  await withServer("127.93.0.2", text, async () => {
    const reading = readRealTime("127.93.0.2", signal);
    await expect(reading).rejects.toMatchObject({ code: "VK_UNAVAILABLE", message: expect.stringMatching(message) });
  });
});

test("a pod that cannot be reached is an error, and a reading can be aborted", async () => {
  await expect(readRealTime("127.93.0.3", signal)).rejects.toMatchObject({ code: "VK_UNAVAILABLE" });
  const reason = new Error("stopped");
  await expect(readRealTime("127.93.0.3", AbortSignal.abort(reason))).rejects.toBe(reason);
});
