import { VirtualClock } from "@virtual-kubelet/clock";
import { isDeadlineExceeded } from "@virtual-kubelet/errdefs";
import { getEventListeners } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { resources } from "../rest/resources.ts";
import { createKubeClient } from "../rest/rest-client.ts";
import { OpenBody, ScriptedTransport, type ScriptedAnswer } from "../transport/scripted-transport.ts";
import type { TransportPool, TransportRequest } from "../transport/transport.ts";
import { openWatch, type WatchConnection } from "./watch-connection.ts";

const secondMs = 1_000;

interface Rig {
  readonly clock: VirtualClock;
  readonly body: OpenBody;
  readonly requests: readonly TransportRequest[];
  readonly abort: AbortController;
  open(how?: { readonly pool?: TransportPool; readonly timeoutSeconds?: number }): Promise<WatchConnection<object>>;
}

function rig(answer?: (clock: VirtualClock) => Promise<ScriptedAnswer>): Rig {
  const clock = new VirtualClock();
  const body = new OpenBody();
  const transport = new ScriptedTransport(() => answer?.(clock) ?? { body });
  const abort = new AbortController();
  const open: Rig["open"] = async ({ pool, timeoutSeconds = 300 } = {}) => {
    const client = createKubeClient(transport, { clock });
    const connection = await openWatch<object>({
      client,
      resource: resources.pods,
      query: { timeoutSeconds },
      pool,
      clock,
      signal: abort.signal,
    });
    onTestFinished(() => connection[Symbol.dispose]());
    return connection;
  };
  return { clock, body, requests: transport.requests, abort, open };
}

function pod(resourceVersion: string): object {
  return { apiVersion: "v1", kind: "Pod", metadata: { resourceVersion } };
}

/** What waiting for the next event comes to. */
function nextOf(connection: WatchConnection<object>): { settled: boolean; readonly error: Promise<unknown> } {
  const told = { settled: false, error: connection.next().catch((error: unknown) => error) };
  void told.error.then(() => (told.settled = true));
  return told;
}

test("a watch uses the long connections, or those it is told to use", async () => {
  const { open, requests } = rig();

  await open();
  await open({ pool: "quiet" });

  expect(requests.map(({ pool }) => pool)).toEqual(["long", "quiet"]);
  expect(requests[0]?.path).toBe("/api/v1/pods?watch=true&timeoutSeconds=300");
});

test("events come one by one, and nothing comes after the server's end", async () => {
  const { open, body } = rig();
  const connection = await open();
  body.lines({ type: "ADDED", object: pod("1") }, { type: "DELETED", object: pod("2") }).end();

  expect(await connection.next()).toEqual({ type: "ADDED", object: pod("1") });
  expect(await connection.next()).toEqual({ type: "DELETED", object: pod("2") });
  expect(await connection.next()).toBeUndefined();
});

test("a watch has been open since the head of the answer came", async () => {
  const body = new OpenBody();
  const { open, clock } = rig(async (ticking) => {
    await ticking.sleep(700);
    return { body };
  });
  const opening = open();
  await clock.advance(1_000);

  expect((await opening).openMs).toBe(300);
});

test("a watch that outlives what was asked for by five seconds is broken off", async () => {
  const { open, clock, body } = rig();
  const next = nextOf(await open({ timeoutSeconds: 60 }));

  await clock.advance(65 * secondMs - 1);
  expect(next.settled).toBe(false);
  await clock.advance(1);

  const error = await next.error;
  expect(error).toSatisfy(isDeadlineExceeded);
  expect(String(error)).toContain("watch pods: its end is overdue");
  expect(body.left).toBe(true);
});

test("a watch that is silent for three minutes is broken off, counted from the last event", async () => {
  const { open, clock, body } = rig();
  const connection = await open();
  await clock.advance(100.5 * secondMs);
  body.lines({ type: "BOOKMARK", object: pod("1") });
  await connection.next();
  const next = nextOf(connection);

  await clock.advance(180 * secondMs - 1);
  expect(next.settled).toBe(false);
  await clock.advance(1);

  const error = await next.error;
  expect(error).toSatisfy(isDeadlineExceeded);
  expect(String(error)).toContain("watch pods: it has been silent for 180 s");
});

test("an answer that does not come is waited for no longer than three minutes, and the request is given up", async () => {
  const given: unknown[] = [];
  const { open, clock, requests } = rig(() => new Promise((_, reject) => given.push(reject)));
  const opening = open().catch((error: unknown) => error);
  await clock.advance(0);
  requests[0]?.signal.addEventListener("abort", () => {
    for (const reject of given) (reject as (reason: unknown) => void)(requests[0]?.signal.reason);
  });

  await clock.advance(180 * secondMs - 1);
  expect(requests[0]?.signal.aborted).toBe(false);
  await clock.advance(1);

  expect(await opening).toSatisfy(isDeadlineExceeded);
  expect(clock.pending).toBe(0);
});

test("a limit breaks the watch off with what went wrong, unless it is disposed before", async () => {
  const { open, clock } = rig();
  const connection = await open();
  const next = nextOf(connection);
  const past = connection.limit(10 * secondMs, "the first problem");
  connection.limit(20 * secondMs, "the second problem");
  past[Symbol.dispose]();

  await clock.advance(20 * secondMs);

  expect(String(await next.error)).toContain("watch pods: the second problem; the connection is treated as dead");
});

test("an abort from outside ends the watch with its own reason", async () => {
  const { open, abort, body } = rig();
  const next = nextOf(await open());

  abort.abort(new Error("stopping"));

  expect(await next.error).toEqual(new Error("stopping"));
  expect(body.left).toBe(true);
});

test("nothing is asked for after an abort", async () => {
  const { open, abort, requests, clock } = rig();
  abort.abort(new Error("stopping"));

  await expect(open()).rejects.toThrow("stopping");

  expect(requests).toEqual([]);
  expect(clock.pending).toBe(0);
});

test("a watch that is left frees its connection, its timers and its signal, whether it was read or not", async () => {
  for (const isRead of [true, false]) {
    const { open, clock, body, abort, requests } = rig();
    const connection = await open();
    const next = isRead ? nextOf(connection) : undefined;
    await clock.advance(0);

    connection[Symbol.dispose]();
    await clock.advance(0);

    expect(requests[0]?.signal.aborted).toBe(true);
    expect(body.left).toBe(isRead);
    expect(next?.settled).toBe(isRead ? true : undefined);
    expect(clock.pending).toBe(0);
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
  }
});

test("a watch that the server refuses leaves no timer and no listener", async () => {
  const { open, clock, abort } = rig(() => Promise.resolve({ status: 403, body: { kind: "Status", message: "not for you" } }));

  await expect(open()).rejects.toThrow("watch pods: not for you");

  expect(clock.pending).toBe(0);
  expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
});
