import { VirtualClock } from "@virtual-kubelet/clock";
import fc from "fast-check";
import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { duplexOf, readableOf, writableOf } from "../channel/channel-streams.ts";
import type { StreamingShare } from "../budget/connection-budget.ts";
import { SharedBudget } from "../budget/shared-budget.ts";
import { resolveLimits } from "../limits.ts";
import { type SpdyPeer, spdyPeer } from "../test-support/spdy-peer.ts";
import { quiet, until } from "../test-support/until.ts";
import { SpdyConnection, type SpdyConnectionOptions } from "./connection.ts";
import { encodeDataHead, encodeGoAway, encodePing, encodeRstStream, type SpdyFrame } from "./frames.ts";
import type { SpdyStream } from "./stream.ts";

interface Server {
  readonly peer: SpdyPeer;
  readonly connection: SpdyConnection;
  readonly clock: VirtualClock;
  readonly streams: SpdyStream[];
}

function serve(options: Partial<SpdyConnectionOptions> = {}): Server {
  const peer = spdyPeer();
  const clock = new VirtualClock();
  const streams: SpdyStream[] = [];
  const connection = new SpdyConnection(peer.socket, {
    role: "server",
    clock,
    limits: resolveLimits(undefined),
    admit: () => true,
    onStream: (stream) => void streams.push(stream),
    ...options,
  });
  return { peer, connection, clock, streams };
}

async function opened(server: Server, count: number): Promise<readonly SpdyStream[]> {
  await until(() => server.streams.length >= count, `stream ${count}`);
  return server.streams;
}

function kinds(frames: readonly SpdyFrame[]): string[] {
  return frames.map((frame) => `${frame.kind} ${"id" in frame ? frame.id : ""}`.trim());
}

test("a stream is acknowledged before anything is sent on it", async () => {
  const server = serve({ onStream: (stream) => stream.send([Buffer.from("at once")], () => undefined) });

  server.peer.open(1, { streamtype: "error" });

  await until(() => server.peer.received.length === 2);
  expect(kinds(server.peer.received)).toEqual(["synReply 1", "data 1"]);
});

test("the SYN_REPLY is the constant that Go's reader accepts", async () => {
  const server = serve();

  server.peer.open(1, { streamtype: "error" });
  server.peer.open(3, { streamtype: "stdout" });

  await until(() => server.peer.received.length === 2);
  expect(server.peer.received.map((frame) => (frame.kind === "synReply" ? frame.block.toString("hex") : ""))).toEqual([
    "78bbe3c6a7c2000400fbff00000000000000ffff",
    "000400fbff00000000000000ffff",
  ]);
});

test("bytes that were read together with the request's head are processed first", async () => {
  const peer = spdyPeer();
  const head = Buffer.from(
    "8003000100000029" + "00000001000000000000" + "78f9e3c6a7c26260606004a7b392a2d4c45c6851c29a0a0a6800000000ffff",
    "hex",
  );
  const streams: SpdyStream[] = [];
  const connection = new SpdyConnection(peer.socket, {
    role: "server",
    clock: new VirtualClock(),
    limits: resolveLimits(undefined),
    head,
    admit: () => true,
    onStream: (stream) => void streams.push(stream),
  });

  await until(() => streams.length === 1);

  expect(streams[0]?.headers.get("streamtype")).toBe("error");
  expect(connection.streamCount).toBe(1);
});

test("a stream that is not admitted is reset with CANCEL, without a SYN_REPLY", async () => {
  const server = serve({ admit: (headers) => headers.get("streamtype") !== "nonsense" });

  server.peer.open(1, { streamtype: "nonsense" });

  await until(() => server.peer.received.length === 1);
  expect(server.peer.received).toEqual([{ kind: "rstStream", id: 1, status: 5 }]);
});

test.each([2, 1])("a new stream with the id %i after stream 3 is reset with PROTOCOL_ERROR", async (id) => {
  const server = serve();
  server.peer.open(3, { streamtype: "error" });

  server.peer.open(id, { streamtype: "stdout" });

  await until(() => server.peer.received.length === 2);
  expect(server.peer.received[1]).toEqual({ kind: "rstStream", id, status: 1 });
});

test("streams beyond the limit are refused", async () => {
  const server = serve({ limits: resolveLimits({ maxStreams: 1 }) });
  server.peer.open(1, {});
  server.peer.open(3, {});

  await until(() => server.peer.received.length === 2);

  expect(server.peer.received[1]).toEqual({ kind: "rstStream", id: 3, status: 3 });
});

test("a ping of the client is echoed; the answer to the server's own ping is not", async () => {
  const server = serve();

  server.peer.raw.write(encodePing(7));
  server.peer.raw.write(encodePing(2));
  await quiet();

  expect(server.peer.received).toEqual([{ kind: "ping", id: 7 }]);
});

test("each direction of a stream ends separately", async () => {
  const server = serve();
  server.peer.open(1, {});
  const [stream] = await opened(server, 1);
  const duplex = duplexOf(stream!);
  const got: string[] = [];
  duplex.on("data", (chunk: Buffer) => void got.push(chunk.toString()));

  server.peer.data(1, "question", true);
  await until(() => duplex.readableEnded);
  duplex.end("answer");
  await until(() => duplex.closed);

  expect(got.join("")).toBe("question");
  expect(server.peer.text(1)).toBe("answer");
  expect(server.peer.received.at(-1)).toEqual({ kind: "data", id: 1, fin: true, data: Buffer.alloc(0) });
  expect(server.connection.streamCount).toBe(0);
});

test("more than SPDY's 64 KiB window is sent without waiting for a window update", async () => {
  const server = serve();
  server.peer.open(1, {});
  const [stream] = await opened(server, 1);
  const writable = writableOf(stream!);

  writable.end(Buffer.alloc(1024 * 1024, "x"));

  await until(() => writable.writableFinished);
  await quiet();
  expect(server.peer.text(1).length).toBe(1024 * 1024);
});

test("a stalled reader pauses the connection, which resumes when the reader continues", async () => {
  const server = serve({ limits: resolveLimits({ streamBufferBytes: 100_000 }) });
  server.peer.open(1, {});
  const [stream] = await opened(server, 1);
  const readable = readableOf(stream!);
  for (let count = 0; count < 40; count++) server.peer.data(1, Buffer.alloc(16 * 1024));
  await quiet();
  const waiting = server.peer.raw.writableLength;

  expect(server.peer.socket.isPaused()).toBe(true);
  expect(waiting).toBeGreaterThan(300_000);
  let read = 0;
  readable.on("data", (chunk: Buffer) => (read += chunk.length));
  await until(() => read === 40 * 16 * 1024);
  expect(server.peer.socket.isPaused()).toBe(false);
});

test("streams that stall pause the connection together even if none of them is full", async () => {
  const server = serve({ limits: resolveLimits({ streamBufferBytes: 10_000 }) });
  for (let index = 0; index < 40; index++) {
    server.peer.open(2 * index + 1, {});
    server.peer.data(2 * index + 1, Buffer.alloc(5_000));
  }
  await quiet(500);
  expect(server.peer.socket.isPaused()).toBe(true);
  expect(server.streams.length).toBeLessThan(40);

  for (let index = 0; index < 40; index++) {
    await until(() => server.streams.length > index);
    server.streams[index]?.inbox.discard();
  }

  expect(server.peer.socket.isPaused()).toBe(false);
});

test("a stream that is reset while it is full stops pausing the connection once its reader is gone", async () => {
  const server = serve({ limits: resolveLimits({ streamBufferBytes: 10_000 }) });
  server.peer.open(1, {});
  const [stream] = await opened(server, 1);
  const readable = readableOf(stream!).on("error", () => undefined);
  server.peer.raw.write(Buffer.concat([encodeDataHead(1, 20_000, false), Buffer.alloc(20_000), encodeRstStream(1, 5)]));

  await until(() => readable.destroyed);
  await quiet();

  expect(server.peer.socket.isPaused()).toBe(false);
});

test("a peer that is not read is pinged, because its death would go unnoticed otherwise", async () => {
  const server = serve({ limits: resolveLimits({ streamBufferBytes: 1000 }) });
  server.peer.open(1, {});
  const [stream] = await opened(server, 1);
  await server.clock.advance(10_000);
  await quiet();
  expect(kinds(server.peer.received)).toEqual(["synReply 1"]);

  server.peer.data(1, Buffer.alloc(5000));
  await until(() => server.peer.socket.isPaused());
  await server.clock.advance(4_000);
  await quiet();

  expect(kinds(server.peer.received)).toEqual(["synReply 1", "ping 2", "ping 4"]);
  expect(stream?.inbox.ended).toBe(false);
});

test("a client sends pings, and closes the connection when the server has been silent for a minute", async () => {
  const peer = spdyPeer();
  const clock = new VirtualClock();
  const connection = new SpdyConnection(peer.socket, { role: "client", clock, limits: resolveLimits(undefined), pingMs: 5_000 });

  await clock.advance(55_000);
  await quiet();
  expect(kinds(peer.received)).toEqual([1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21].map((id) => `ping ${id}`));
  expect(connection.signal.aborted).toBe(false);

  await clock.advance(5_000);
  expect(connection.signal.reason).toMatchObject({
    code: "VK_UNAVAILABLE",
    message: expect.stringContaining("nothing was heard on it for 60000 ms"),
  });
});

test("a connection is closed when nothing was received for four hours; a received ping counts", async () => {
  const server = serve();
  await server.clock.advance(3 * 3_600_000);
  server.peer.raw.write(encodePing(1));
  await quiet();

  await server.clock.advance(3 * 3_600_000);
  expect(server.connection.signal.aborted).toBe(false);

  await server.clock.advance(3_600_000);
  expect(server.connection.signal.aborted).toBe(true);
  await until(() => server.peer.socket.destroyed);
  expect(server.clock.pending).toBe(0);
});

test("data and resets for streams that no longer exist are ignored", async () => {
  const server = serve();
  server.peer.raw.write(encodeRstStream(9, 5));
  server.peer.data(9, "late", true);
  server.peer.open(11, {});

  await opened(server, 1);

  expect(server.connection.signal.aborted).toBe(false);
});

test("a stream that the peer resets is lost, and no reset is sent back", async () => {
  const server = serve();
  server.peer.open(1, {});
  const [stream] = await opened(server, 1);
  const duplex = duplexOf(stream!);

  server.peer.raw.write(encodeRstStream(1, 5));

  await until(() => duplex.destroyed);
  expect(duplex.errored).toMatchObject({ code: "VK_UNAVAILABLE" });
  expect(kinds(server.peer.received)).toEqual(["synReply 1"]);
});

test("a stream that is destroyed locally is reset with CANCEL", async () => {
  const server = serve();
  server.peer.open(1, {});
  const [stream] = await opened(server, 1);

  duplexOf(stream!).destroy();

  await until(() => server.peer.received.length === 2);
  expect(server.peer.received[1]).toEqual({ kind: "rstStream", id: 1, status: 5 });
});

test("closing delivers ended streams, resets open ones, sends GOAWAY, and ends the socket", async () => {
  const server = serve();
  server.peer.open(1, { streamtype: "stdout" });
  server.peer.open(3, { streamtype: "stdin" });
  const [stdout, stdin] = await opened(server, 2);
  const input = readableOf(stdin!);
  const output = writableOf(stdout!);
  output.end("all of it");
  await until(() => output.writableFinished);

  const closed = server.connection.close();
  server.peer.raw.end();
  await closed;

  expect(server.peer.text(1)).toBe("all of it");
  expect(kinds(server.peer.received).slice(-2)).toEqual(["rstStream 3", "goAway"]);
  expect(server.peer.received.at(-1)).toMatchObject({ lastGoodId: 3, status: 0 });
  expect(input.destroyed).toBe(true);
  expect(server.clock.pending).toBe(0);
});

test("a peer that does not close after the GOAWAY is disconnected after ten seconds", async () => {
  const server = serve();
  const closed = server.connection.close();
  await quiet();
  expect(server.peer.socket.destroyed).toBe(false);

  await server.clock.advance(10_000);

  await closed;
  expect(server.clock.pending).toBe(0);
});

/** A connection that is being closed while the client reads nothing. */
async function closedUnread() {
  const server = serve();
  server.peer.open(1, { streamtype: "stdout" });
  const [stdout] = await opened(server, 1);
  server.peer.raw.pause();
  const output = writableOf(stdout!);
  output.end("all of it");
  await until(() => output.writableFinished);
  const closed = server.connection.closeWhenRead();
  await quiet();
  return { ...server, closed };
}

/** Lets minutes pass in which the client only sends pings. */
async function pingFor({ peer, clock }: Pick<Server, "peer" | "clock">, minutes: number): Promise<void> {
  for (let count = 0; count < minutes * 2 && !peer.socket.destroyed; count++) {
    peer.raw.write(encodePing(2 * count + 1));
    await quiet(5);
    await clock.advance(30_000);
  }
}

test("closing waits for a client that reads slowly, and ends the socket once the client has shown that it read everything", async () => {
  const { peer, clock, closed } = await closedUnread();
  await pingFor({ peer, clock }, 10);
  expect(peer.socket.writableEnded).toBe(false);

  peer.raw.resume();
  await until(() => peer.received.at(-1)?.kind === "goAway");
  expect(peer.text(1)).toBe("all of it");
  expect(kinds(peer.received).slice(-2)).toEqual(["ping 2", "goAway"]);
  peer.raw.write(encodePing(2));

  await until(() => peer.socket.writableEnded);
  peer.raw.end();
  await closed;
  expect(clock.pending).toBe(0);
});

test("a GOAWAY from the client also shows that it has read everything", async () => {
  const { peer, closed } = await closedUnread();
  expect(peer.socket.writableEnded).toBe(false);

  peer.raw.write(encodeGoAway(0, 0));

  await until(() => peer.socket.writableEnded);
  peer.raw.resume();
  peer.raw.end();
  await closed;
});

test("a client that reads nothing is disconnected after a minute of silence, or after four hours of pings only", async () => {
  const [silent, pinging] = await Promise.all([closedUnread(), closedUnread()]);

  await silent.clock.advance(59_999);
  expect(silent.peer.socket.destroyed).toBe(false);
  await silent.clock.advance(1);
  await pingFor(pinging, 239);
  expect(pinging.peer.socket.destroyed).toBe(false);
  await pingFor(pinging, 2);

  await Promise.all([silent.closed, pinging.closed]);
  expect([silent.clock.pending, pinging.clock.pending]).toEqual([0, 0]);
});

test("when a client ends the connection, all open streams are lost", async () => {
  const server = serve();
  server.peer.open(1, {});
  const [stream] = await opened(server, 1);
  const duplex = duplexOf(stream!);

  server.peer.raw.end();

  await server.connection.closed;
  expect(duplex.errored).toMatchObject({ code: "VK_UNAVAILABLE" });
  expect(server.connection.signal.aborted).toBe(true);
});

test("after a GOAWAY from the client, the connection is closed once its streams have ended", async () => {
  const server = serve();
  server.peer.open(1, {});
  const [stream] = await opened(server, 1);
  const duplex = duplexOf(stream!).resume();
  server.peer.raw.write(encodeGoAway(0, 0));
  await quiet();
  expect(server.connection.signal.aborted).toBe(false);

  server.peer.data(1, "", true);
  duplex.end();

  await until(() => server.connection.signal.aborted);
});

test("frames that arrived before the end of the connection are processed", async () => {
  const [near, far] = duplexPair();
  const clock = new VirtualClock();
  const limits = resolveLimits(undefined);
  const client = new SpdyConnection(near, { role: "client", clock, limits });
  const server = new SpdyConnection(far, {
    role: "server",
    clock,
    limits,
    admit: () => true,
    onStream: (stream) => {
      stream.send([Buffer.from("result")], () => stream.end(() => void server.close()));
    },
  });

  const stream = await client.open(new Map([["streamtype", "error"]]));
  let text = "";
  for await (const chunk of readableOf(stream)) text += String(chunk);

  expect(text).toBe("result");
});

test("opening a stream fails if it is reset, if there is no answer, or if the connection is over", async () => {
  const peer = spdyPeer();
  const clock = new VirtualClock();
  const connection = new SpdyConnection(peer.socket, { role: "client", clock, limits: resolveLimits(undefined) });
  const reset = connection.open(new Map());
  const silent = connection.open(new Map());
  peer.raw.write(encodeRstStream(1, 3));

  await expect(reset).rejects.toMatchObject({ code: "VK_UNAVAILABLE", message: expect.stringContaining("status 3") });
  const refusal = silent.catch((error: unknown) => error);
  await clock.advance(30_000);
  expect(await refusal).toMatchObject({ message: "open stream 3: no answer in 30000 ms" });
  expect(connection.streamCount).toBe(0);

  connection.destroy(new Error("over"));
  await expect(connection.open(new Map())).rejects.toMatchObject({ code: "VK_UNAVAILABLE" });
  expect(clock.pending).toBe(0);
});

test("if a client floods the connection with pings and reads no answers, it is no longer read", async () => {
  const server = serve();
  server.peer.raw.pause();
  for (let count = 0; count < 20_000; count++) server.peer.raw.write(encodePing(2 * count + 1));

  await quiet(500);

  expect(server.peer.socket.isPaused()).toBe(true);
  expect(server.peer.socket.writableLength).toBeLessThan(200_000);
  server.peer.raw.resume();
  await until(() => server.peer.received.length === 20_000);
});

test("bytes that are not SPDY end the connection with a GOAWAY that names a protocol error", async () => {
  const server = serve();

  server.peer.raw.write(Buffer.from("8002000100000000", "hex"));

  await until(() => server.connection.signal.aborted);
  expect(server.connection.signal.reason).toMatchObject({ code: "VK_INVALID_INPUT" });
  await until(() => server.peer.received.length === 1);
  expect(server.peer.received).toEqual([{ kind: "goAway", lastGoodId: 0, status: 1 }]);
});

test("a malformed header block ends the connection", async () => {
  const server = serve();

  server.peer.raw.write(Buffer.from("8003000100000010" + "00000001000000000000" + "deadbeefdead", "hex"));

  await until(() => server.connection.signal.aborted);
  expect(server.connection.signal.reason).toMatchObject({ code: "VK_INVALID_INPUT" });
});

test("garbage never throws, and leaves nothing open", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 6 }), async (chunks) => {
      const server = serve();
      for (const chunk of chunks) server.peer.raw.write(Buffer.from(chunk));
      server.peer.raw.end();

      await server.connection.closed;

      expect(server.clock.pending).toBe(0);
      expect(server.connection.streamCount).toBe(0);
    }),
    { numRuns: 60 },
  );
});

test("opening and closing hundreds of streams leaves nothing open", async () => {
  const server = serve({ onStream: (stream) => duplexOf(stream).resume().end("x") });
  for (let index = 0; index < 300; index++) {
    server.peer.open(2 * index + 1, { streamtype: "data" });
    server.peer.data(2 * index + 1, "y", true);
  }

  await until(() => server.peer.received.filter((frame) => frame.kind === "data" && frame.fin).length === 300);

  expect(server.connection.streamCount).toBe(0);
});

interface Shared {
  readonly streams: SharedBudget;
  readonly bytes: SharedBudget;
  readonly limits: string[];
  share(caller: string): StreamingShare;
}

/** Budgets that connections share. */
function shared({ streams = 1000, bytes = 1_000_000 }: { readonly streams?: number; readonly bytes?: number }): Shared {
  const budgets = { streams: new SharedBudget(streams), bytes: new SharedBudget(bytes) };
  const limits: string[] = [];
  const onLimit = (limit: string): void => void limits.push(limit);
  return {
    ...budgets,
    limits,
    share: (caller) => ({ streams: budgets.streams.share(caller), bytes: budgets.bytes.share(caller), onLimit }),
  };
}

test("streams beyond the caller's share are refused, and another caller's streams are not", async () => {
  const budgets = shared({ streams: 4 });
  const [greedy, other] = [serve({ share: budgets.share("greedy") }), serve({ share: budgets.share("other") })];

  for (const id of [1, 3, 5]) greedy.peer.open(id, {});
  await until(() => greedy.peer.received.length === 3);
  other.peer.open(1, {});
  await until(() => other.peer.received.length === 1);

  expect(kinds(greedy.peer.received)).toEqual(["synReply 1", "synReply 3", "rstStream 5"]);
  expect(greedy.peer.received[2]).toMatchObject({ status: 3 });
  expect(kinds(other.peer.received)).toEqual(["synReply 1"]);
  expect(budgets.limits).toEqual(["maxSharedStreams"]);
});

test("a stream counts while it is open, however it ends; when a connection ends, all of its streams stop counting", async () => {
  const budgets = shared({});
  const server = serve({ share: budgets.share("a") });
  for (const id of [1, 3, 5, 7]) server.peer.open(id, {});
  const streams = await opened(server, 4);
  expect(budgets.streams.used).toBe(4);

  streams[0]?.cancel();
  server.peer.raw.write(encodeRstStream(3, 5));
  streams[2]?.end(() => undefined);
  server.peer.data(5, "", true);
  await until(() => budgets.streams.used === 1, "one stream is left");
  server.peer.raw.destroy();

  await until(() => budgets.streams.used === 0, "none is left");
});

test("a connection of a caller that exceeds its share is read only while nothing is buffered in it; another caller's is always read", async () => {
  const budgets = shared({ bytes: 20_000 });
  const [stalled, second, other] = ["greedy", "greedy", "other"].map((caller) => serve({ share: budgets.share(caller) }));
  for (const server of [stalled, second, other]) server?.peer.open(1, {});
  const [read] = await opened(second!, 1);
  await opened(stalled!, 1);
  await opened(other!, 1);
  for (let count = 0; count < 5; count++) stalled?.peer.data(1, Buffer.alloc(4_000));
  await until(() => stalled?.peer.socket.isPaused() === true, "the stalled connection is held");
  const used = budgets.bytes.used;

  second?.peer.data(1, Buffer.alloc(1_000));
  await until(() => second?.peer.socket.isPaused() === true, "the caller's other connection is held with the first bytes that wait");
  read?.inbox.take(() => undefined);
  other?.peer.data(1, Buffer.alloc(1_000));
  await quiet();

  expect(used).toBeLessThan(20_000);
  expect(second?.peer.socket.isPaused()).toBe(false);
  expect(other?.peer.socket.isPaused()).toBe(false);
});

test("a connection that was paused because of its caller's share is read again once there is room", async () => {
  const budgets = shared({ bytes: 20_000 });
  const server = serve({ share: budgets.share("a") });
  server.peer.open(1, {});
  await opened(server, 1);
  const elsewhere = budgets.bytes.share("a");
  elsewhere.add(15_000);
  server.peer.data(1, Buffer.alloc(1_000));
  await until(() => server.peer.socket.isPaused(), "it is held");

  elsewhere.add(-15_000);
  await server.clock.advance(2_000);

  expect(server.peer.socket.isPaused()).toBe(false);
});

test("buffered bytes count until they are read or dropped, also when the connection is lost first", async () => {
  const budgets = shared({});
  const server = serve({ share: budgets.share("a") });
  for (const id of [1, 3]) server.peer.open(id, {});
  const [first, second] = await opened(server, 2);
  const streams = [duplexOf(first!), duplexOf(second!)];
  for (const id of [1, 3]) for (let count = 0; count < 20; count++) server.peer.data(id, Buffer.alloc(8_000));
  await until(() => budgets.bytes.used > 200_000, "bytes wait");

  streams[0]?.destroy();
  await until(() => budgets.bytes.used < 200_000, "the first stream's are dropped");
  server.peer.raw.destroy();

  await until(() => budgets.bytes.used === 0, "none waits");
  expect(budgets.streams.used).toBe(0);
});
