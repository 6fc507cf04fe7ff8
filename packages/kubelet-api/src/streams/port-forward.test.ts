import { systemClock } from "@virtual-kubelet/clock";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { openPortForward, type PortForwardClient } from "@virtual-kubelet/streaming";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { fakeNode, fakePod } from "../test-support/fake-node.ts";
import { TestServer } from "../test-support/test-server.ts";

/** How the pod serves a connection to a port. */
let serve: (port: number, stream: Duplex, signal: AbortSignal) => Promise<void>;
const refs: unknown[] = [];
let server: TestServer;

const nodeOf = (): ReturnType<typeof fakeNode> =>
  fakeNode({
    pods: [fakePod()],
    provider: {
      portForward: async (ref, port, stream, signal) => {
        refs.push(ref);
        await serve(port, stream, signal);
      },
    },
  });

beforeAll(async () => {
  server = await TestServer.open({ nodes: [nodeOf()], limits: { maxStreams: 1 } });
});

afterAll(() => server[Symbol.asyncDispose]());

beforeEach(() => {
  refs.length = 0;
  server.logger.fields.length = 0;
  server.logger.lines.length = 0;
  serve = async (_port, stream, signal) => pipeline(stream, stream, { signal });
});

const open = (to: TestServer = server): Promise<PortForwardClient> =>
  openPortForward(to.target("/portForward/default/web"), { transport: "spdy", clock: systemClock });

/** Result in the session's log line. */
const result = (): unknown => server.logger.fields.find(({ verb }) => verb === "port-forward")?.["result"];

test("passes bytes both ways, and logs a line that names the ports", async () => {
  {
    await using session = await open();
    for (const [port, text] of [
      [80, "one"],
      [81, "two"],
    ] as const) {
      const stream = await session.open(port);
      stream.end(text);
      expect((await stream.toArray()).join("")).toBe(text);
    }
  }

  await vi.waitFor(() => expect(result()).toBe("ports 80, 81"));
  expect(refs[0]).toEqual({ namespace: "default", name: "web", uid: "u1" });
  expect(server.logger.fields.at(-1)).toEqual({
    user: "alice",
    verb: "port-forward",
    pod: "default/web",
    result: "ports 80, 81",
    durationMs: expect.any(Number),
  });
});

test("a session without a connection is logged, too", async () => {
  await (await open()).close();

  await vi.waitFor(() => expect(result()).toBe("ports none"));
});

test("a port that cannot be reached is reported, and connections to other ports continue", async () => {
  serve = async (port, stream, signal) => {
    if (port === 81) throw new UnavailableError("connection refused");
    await pipeline(stream, stream, { signal });
  };
  await using session = await open();

  const [error] = (await once(await session.open(81), "error").catch((reason: unknown) => [reason])) as [Error];

  expect(error.message).toContain("error forwarding port 81 to pod u1, uid : connection refused");
  expect(server.logger.lines).toContain("debug a forwarded connection ended with an error");
  expect(server.logger.fields).toContainEqual({ pod: "default/web", port: 81, err: "connection refused" });
  const stream = await session.open(80);
  stream.end("still here");
  expect((await stream.toArray()).join("")).toBe("still here");
});

test.each(["ECONNRESET", "EPIPE", "ERR_STREAM_PREMATURE_CLOSE", "ERR_STREAM_DESTROYED", "ABORT_ERR"])(
  "an established connection that breaks with %s ends without a message, which would end all others",
  async (code) => {
    serve = async (port) => {
      throw port === 80 ? Object.assign(new Error("broken"), { code }) : Object.assign(new Error("told"), { code: "OTHER" });
    };
    await using session = await open();
    const failure = async (port: number): Promise<string> => {
      const stream = await session.open(port);
      return new Promise((resolve) => stream.once("error", (error) => resolve(error.message)).once("close", () => resolve("closed")));
    };

    expect(await failure(80)).not.toContain("error forwarding");
    expect(await failure(81)).toContain("error forwarding port 81 to pod u1, uid : told");
  },
);

test("the pod's side ends with the client's session, whose slot is free then", async () => {
  let reason: unknown;
  serve = async (_port, _stream, signal) => {
    await once(signal, "abort");
    reason = signal.reason;
  };
  const session = await open();
  await session.open(80);
  await vi.waitFor(() => expect(refs).toHaveLength(1));
  await expect(open()).rejects.toMatchObject({ statusCode: 503 });

  await session.close();

  await vi.waitFor(() => expect(reason).toBeInstanceOf(Error));
  await vi.waitFor(async () => (await open()).close());
});

test("stopping the server ends the session and the pod's side of it", async () => {
  let isOver = false;
  serve = async (_port, _stream, signal) => {
    await once(signal, "abort");
    isOver = true;
  };
  const stopped = await TestServer.open({ nodes: [nodeOf()], limits: { shutdownMs: 60_000 } });
  const session = await open(stopped);
  await session.open(80);
  await vi.waitFor(() => expect(refs).toHaveLength(1));

  await stopped[Symbol.asyncDispose]();

  expect(isOver).toBe(true);
  await session.closed;
});

test("a client without a supported protocol is refused, which is logged, and no session is opened", async () => {
  const upgrade = "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v99\r\n";

  expect(await server.raw(`POST /portForward/default/web HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`)).toMatch(/^HTTP\/1\.1 4\d\d /);

  await vi.waitFor(() => expect(result()).toMatch(/^not started: ./));
  await vi.waitFor(async () => (await open()).close());
});

test("a client of the older WebSocket protocol must name its ports in the query", async () => {
  const upgrade =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";

  const answer = await server.raw(`GET /portForward/default/web HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`);

  expect(answer).toMatch(/^HTTP\/1\.1 400 .*\r\n\r\nquery parameter "port" is required$/s);
});

test("a connection that its client drops ends the provider's call for it, and no other call", async () => {
  const reasons: unknown[] = [];
  serve = async (port, stream, signal) => {
    if (port === 81) return pipeline(stream, stream, { signal });
    await once(signal, "abort");
    reasons.push(signal.reason);
    throw signal.reason;
  };
  await using session = await open();
  const echo = await session.open(81);
  const dropped = await session.open(80);
  await vi.waitFor(() => expect(refs).toHaveLength(2));

  dropped.destroy();

  await vi.waitFor(() =>
    expect(reasons).toEqual([expect.objectContaining({ message: expect.stringContaining("reset by the other side") })]),
  );
  echo.end("still here");
  expect((await echo.toArray()).join("")).toBe("still here");
});

test("a connection both of whose directions have ended does not abort the provider's call", async () => {
  const finished = Promise.withResolvers<boolean>();
  const ended = Promise.withResolvers<void>();
  serve = async (_port, stream, signal) => {
    await pipeline(stream, stream, { signal });
    await ended.promise;
    finished.resolve(signal.aborted);
  };
  await using session = await open();
  const stream = await session.open(80);
  stream.end("all");
  expect((await stream.toArray()).join("")).toBe("all");

  ended.resolve();

  expect(await finished.promise).toBe(false);
});

test("a session has a limit of provider calls, which count until they return, even if the client has dropped their connections", async () => {
  const returned = Promise.withResolvers<void>();
  let calls = 0;
  serve = async () => {
    calls++;
    await returned.promise;
  };
  await using limited = await TestServer.open({ nodes: [nodeOf()], limits: { maxForwardsPerSession: 2 } });
  await using session = await open(limited);
  for (let count = 0; count < 2; count++) (await session.open(80)).destroy();
  await vi.waitFor(() => expect(calls).toBe(2));

  const third = await session.open(80);
  await new Promise((resolve) => third.once("close", resolve));
  expect(calls).toBe(2);
  expect(limited.logger.fields).toContainEqual({ limit: "maxForwardsPerSession", user: "alice", pod: "default/web" });
  expect(limited.logger.warnings).toContain("a caller reached a limit of the node's server");
  returned.resolve();

  await vi.waitFor(async () => {
    (await session.open(80)).destroy();
    expect(calls).toBeGreaterThan(2);
  });
});

test("a caller may have as many provider calls in all its sessions as are left free", async () => {
  let calls = 0;
  serve = async (_port, _stream, signal) => {
    calls++;
    await once(signal, "abort");
  };
  await using limited = await TestServer.open({ nodes: [nodeOf()], limits: { maxForwards: 4 } });
  await using first = await open(limited);
  await using second = await open(limited);
  await first.open(80);
  await second.open(80);
  await vi.waitFor(() => expect(calls).toBe(2));

  const refused = await second.open(80);
  await new Promise((resolve) => refused.once("close", resolve));

  expect(calls).toBe(2);
  expect(limited.logger.fields).toContainEqual({ limit: "maxForwards", user: "alice", pod: "default/web" });
});
