import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { type SpdyPeer, spdyPeer } from "../test-support/spdy-peer.ts";
import { quiet, until } from "../test-support/until.ts";
import type { PortForwardConnection, PortForwardSession } from "./session.ts";
import { createSpdySession } from "./spdy-session.ts";

interface Forwards {
  readonly peer: SpdyPeer;
  readonly clock: VirtualClock;
  readonly session: PortForwardSession;
  readonly connections: PortForwardConnection[];
}

function serve(): Forwards {
  const peer = spdyPeer();
  const clock = new VirtualClock();
  const session = createSpdySession({ transport: "spdy", socket: peer.socket }, { clock });
  const connections: PortForwardConnection[] = [];
  void (async () => {
    for await (const connection of session.connections) connections.push(connection);
  })();
  return { peer, clock, session, connections };
}

async function connected(): Promise<Forwards & { readonly connection: PortForwardConnection }> {
  const forwards = serve();
  forwards.peer.open(1, { streamtype: "error", port: "80", requestid: "0" });
  forwards.peer.data(1, "", true);
  forwards.peer.open(3, { requestid: "0", streamtype: "data", port: "80" });
  await until(() => forwards.connections.length === 1);
  return { ...forwards, connection: forwards.connections[0]! };
}

test("two streams with the same request ID form a connection to their port", async () => {
  const { connection, clock } = await connected();

  expect(connection.port).toBe(80);
  // Only the timer of the connection watch is left: nothing waits for a stream.
  expect(clock.pending).toBe(1);
});

test.each([
  { streamtype: "data", requestid: "0" },
  { streamtype: "data", port: "0", requestid: "0" },
  { streamtype: "data", port: "65536", requestid: "0" },
  { streamtype: "data", port: "http", requestid: "0" },
  { streamtype: "stdout", port: "80", requestid: "0" },
  { port: "80", requestid: "0" },
])("a stream with the headers %j is reset", async (headers) => {
  const { peer } = serve();

  peer.open(1, Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)));

  await until(() => peer.received.length === 1);
  expect(peer.received).toEqual([{ kind: "rstStream", id: 1, status: 5 }]);
});

test("streams without a request ID are paired by their stream IDs", async () => {
  const { peer, connections } = serve();

  peer.open(1, { streamtype: "error", port: "80" });
  peer.open(3, { streamtype: "data", port: "80" });

  await expect.poll(() => connections.length).toBe(1);
});

test("the error stream ends when the pod's side has ended, and the client can continue to send", async () => {
  const { peer, connection } = await connected();
  const got: string[] = [];
  connection.stream.on("data", (chunk: Buffer) => void got.push(chunk.toString()));

  connection.stream.end("from the pod");
  await until(() => peer.received.some((frame) => frame.kind === "data" && frame.id === 1 && frame.fin));
  peer.data(3, "from the client", true);
  await until(() => connection.stream.closed);

  expect(peer.text(3)).toBe("from the pod");
  expect(peer.text(1)).toBe("");
  expect(got.join("")).toBe("from the client");
  expect(connection.stream.errored).toBeNull();
});

test("if the client resets the stream after the pod's side has ended, as Go's clients do, that is not an error", async () => {
  const { peer, connection } = await connected();
  connection.stream.resume();
  connection.stream.end();
  await until(() => connection.stream.writableFinished);

  peer.raw.write(Buffer.from("80030003000000080000000300000005", "hex"));
  await until(() => connection.stream.closed);

  expect(connection.stream.errored).toBeNull();
  expect(connection.stream.readableEnded).toBe(true);
});

test("a port that cannot be reached is reported on the error stream, and both streams are reset", async () => {
  const { peer, connection } = await connected();

  connection.fail("error forwarding port 80 to pod p, uid : refused");
  await until(() => peer.received.filter(({ kind }) => kind === "rstStream").length === 2);

  expect(peer.text(1)).toBe("error forwarding port 80 to pod p, uid : refused");
});

test("a pair that is incomplete after thirty seconds is reported and forgotten", async () => {
  const { peer, clock, connections } = serve();
  peer.open(1, { streamtype: "error", port: "80", requestid: "0" });
  await until(() => peer.received.length === 1);

  await clock.advance(30_000);
  peer.open(3, { streamtype: "data", port: "80", requestid: "0" });
  await quiet();

  expect(peer.text(1)).toContain("timed out waiting for streams");
  expect(connections).toEqual([]);
});

test("a second error stream with the same request ID is reported and reset", async () => {
  const { peer } = serve();
  peer.open(1, { streamtype: "error", port: "80", requestid: "0" });

  peer.open(3, { streamtype: "error", port: "80", requestid: "0" });

  await until(() => peer.received.some(({ kind }) => kind === "rstStream"));
  expect(peer.text(1)).toBe("error processing stream for request 0: error stream already assigned");
});

test("when a session ends, its connections are dropped, and the loop over them ends", async () => {
  const { peer, session, connection, clock } = await connected();

  peer.raw.end();
  await session.closed;

  expect(session.signal.aborted).toBe(true);
  expect(connection.stream.destroyed).toBe(true);
  for await (const late of session.connections) expect(late).toBeUndefined();
  expect(clock.pending).toBe(0);
});

test("leaving the loop over the connections ends the session", async () => {
  const { session, peer } = serve();

  await session.connections[Symbol.asyncIterator]().return?.();

  await expect.poll(() => peer.received.at(-1)?.kind).toBe("goAway");
});
