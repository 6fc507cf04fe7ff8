import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import { encodePing, encodeRstStream } from "../spdy/frames.ts";
import { type SpdyPeer, spdyPeer } from "../test-support/spdy-peer.ts";
import { quiet, until } from "../test-support/until.ts";
import { acceptRemoteCommand } from "./server.ts";
import type { RemoteCommandServerOptions, RemoteCommandSession } from "./session.ts";

const spdyHeaders = { connection: "Upgrade", upgrade: "SPDY/3.1", "x-stream-protocol-version": "v5.channel.k8s.io, v4.channel.k8s.io" };

interface Accepted {
  readonly peer: SpdyPeer;
  readonly clock: VirtualClock;
  readonly session: Promise<RemoteCommandSession>;
}

/** Accepts a request. The response is read first; the frames after it go to the peer. */
function accept(headers: Readonly<Record<string, string>> = spdyHeaders, options: Partial<RemoteCommandServerOptions> = {}): Accepted {
  const peer = spdyPeer();
  const clock = new VirtualClock();
  const wanted = { stdin: false, stdout: true, stderr: true, tty: false, clock, ...options };
  const session = acceptRemoteCommand(
    { request: { method: "POST", url: "/exec", headers }, socket: peer.socket, head: Buffer.alloc(0) },
    wanted,
  );
  session.catch(() => undefined);
  return { peer, clock, session };
}

/** Response to a request that is refused. */
async function refusalOf(headers: Readonly<Record<string, string>>): Promise<string> {
  const { peer, session } = accept(headers);
  peer.raw.removeAllListeners("data");
  let text = "";
  peer.raw.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await expect(session).rejects.toThrow();
  await until(() => peer.raw.readableEnded);
  return text;
}

/** Removes the response's head from the received bytes, so that frames follow. */
function skipAnswer(peer: SpdyPeer): Promise<string> {
  const listeners = peer.raw.listeners("data") as ((chunk: Buffer) => void)[];
  peer.raw.removeAllListeners("data");
  return new Promise((resolve) => {
    let text = Buffer.alloc(0);
    peer.raw.on("data", function read(chunk: Buffer) {
      text = Buffer.concat([text, chunk]);
      const end = text.indexOf("\r\n\r\n");
      if (end < 0) return;
      peer.raw.off("data", read);
      for (const listener of listeners) peer.raw.on("data", listener);
      for (const listener of listeners) listener(text.subarray(end + 4));
      resolve(text.toString("utf8", 0, end));
    });
  });
}

async function started(options: Partial<RemoteCommandServerOptions> = {}, version = spdyHeaders["x-stream-protocol-version"]) {
  const accepted = accept({ ...spdyHeaders, "x-stream-protocol-version": version }, options);
  const answer = await skipAnswer(accepted.peer);
  accepted.peer.open(1, { streamtype: "error" });
  accepted.peer.open(3, { streamtype: "stdout" });
  accepted.peer.open(5, { streamtype: "stderr" });
  return { ...accepted, answer, session: await accepted.session };
}

test("SPDY is accepted with version 4, although the client offered version 5 first", async () => {
  const { answer, session } = await started();

  expect(answer.split("\r\n")).toEqual([
    "HTTP/1.1 101 Switching Protocols",
    "Connection: Upgrade",
    "Upgrade: SPDY/3.1",
    "X-Stream-Protocol-Version: v4.channel.k8s.io",
  ]);
  expect([session.transport, session.protocol]).toEqual(["spdy", "v4.channel.k8s.io"]);
});

test("a request without a version is refused in a kubelet's words", async () => {
  const answer = await refusalOf({ connection: "Upgrade", upgrade: "SPDY/3.1" });

  expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(answer).toContain("\r\nContent-Length: 93\r\nConnection: close\r\n\r\n");
  expect(answer).toContain("unable to upgrade: header X-Stream-Protocol-Version does not exist in request with 2 headers\n");
});

test("a request that offers no supported version gets the list of supported versions", async () => {
  const answer = await refusalOf({ ...spdyHeaders, "x-stream-protocol-version": "v5.channel.k8s.io" });

  expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
  expect(answer.match(/X-Accepted-Stream-Protocol-Versions: (.*)\r/g)?.length).toBe(4);
  expect(answer).toContain(
    "unable to upgrade: unable to negotiate protocol: client supports [v5.channel.k8s.io], server accepts [v4.channel.k8s.io ",
  );
});

test("a request to upgrade to something else is refused", async () => {
  const answer = await refusalOf({ ...spdyHeaders, upgrade: "h2c" });

  expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(answer).toContain("unable to upgrade: missing upgrade headers in request");
});

test("a WebSocket that offers no supported protocol is refused", async () => {
  const answer = await refusalOf({ connection: "Upgrade", upgrade: "websocket", "sec-websocket-protocol": "v3.channel.k8s.io" });

  expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
  expect(answer).toContain("requested protocol(s) are not supported: [v3.channel.k8s.io]");
});

test("a WebSocket request that is malformed is refused", async () => {
  const answer = await refusalOf({ connection: "Upgrade", upgrade: "websocket", "sec-websocket-protocol": "v4.channel.k8s.io" });

  expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
});

test("the session begins when the last stream has been opened, and streams of unknown types do not count", async () => {
  const { peer, session } = accept();
  await skipAnswer(peer);
  let begun = false;
  void session.then(() => (begun = true));
  peer.open(1, { streamtype: "error" });
  peer.open(3, { streamtype: "nonsense" });
  peer.open(5, { streamtype: "stdout" });
  await quiet();
  expect(begun).toBe(false);

  peer.open(7, { streamtype: "stderr" });

  await session;
  expect(peer.received.map(({ kind }) => kind)).toEqual(["synReply", "synReply", "synReply", "synReply"]);
});

test("a second stream of a type is reset", async () => {
  const { peer, session } = accept();
  await skipAnswer(peer);
  peer.open(1, { streamtype: "error" });
  peer.open(3, { streamtype: "error" });
  peer.open(5, { streamtype: "stdout" });
  peer.open(7, { streamtype: "stderr" });
  await session;

  expect(peer.received[1]).toEqual({ kind: "rstStream", id: 3, status: 5 });
});

test("a client that does not open its streams within thirty seconds is disconnected", async () => {
  const { peer, clock, session } = accept();
  await skipAnswer(peer);
  peer.open(1, { streamtype: "error" });
  await until(() => peer.received.length === 1);

  await clock.advance(30_000);

  await expect(session).rejects.toMatchObject({
    code: "VK_DEADLINE_EXCEEDED",
    message: "wait for the client's streams: stdout, stderr not opened in 30000 ms",
  });
  await until(() => peer.received.at(-1)?.kind === "goAway");
  expect(clock.pending).toBe(1);
  await clock.advance(10_000);
  expect(peer.socket.destroyed).toBe(true);
});

test("a client that disconnects before its streams are open is reported as an error", async () => {
  const { peer, session } = accept();
  await skipAnswer(peer);

  peer.raw.end();

  await expect(session).rejects.toMatchObject({ code: "VK_UNAVAILABLE" });
});

test("finishing sends in this order: all output, the ends of the outputs, the status, its end, a ping, a GOAWAY", async () => {
  const { peer, session } = await started();
  session.stdout?.write("all of ");
  session.stdout?.write("it");

  const finished = session.finish({ exitCode: 3 });
  await until(() => peer.received.at(-1)?.kind === "goAway");
  peer.raw.end();
  await finished;

  expect(peer.text(3)).toBe("all of it");
  const order = peer.received.map((frame) => (frame.kind === "data" ? `${frame.id}${frame.fin ? " end" : ""}` : frame.kind)).slice(3);
  expect(order.filter((each) => each !== "3" && each !== "5 end").join()).toBe("3 end,1,1 end,ping,goAway");
  expect(order.indexOf("5 end")).toBeLessThan(order.indexOf("1"));
  expect(JSON.parse(peer.text(1))).toMatchObject({ reason: "NonZeroExitCode" });
  expect(session.signal.aborted).toBe(false);
});

test("a client that does not read for minutes when the command ends still gets all of the output and the status", async () => {
  const { peer, clock, session } = await started();
  peer.raw.pause();
  session.stdout?.write("all of it");

  const finished = session.finish({ exitCode: 3 });
  for (let count = 0; count < 10; count++) {
    await quiet(5);
    peer.raw.write(encodePing(2 * count + 1));
    await quiet(5);
    await clock.advance(30_000);
  }
  peer.raw.resume();
  await until(() => peer.received.at(-1)?.kind === "goAway" || peer.socket.destroyed);
  peer.raw.end();
  await finished;

  expect(peer.text(3)).toBe("all of it");
  expect(JSON.parse(peer.text(1))).toMatchObject({ reason: "NonZeroExitCode" });
});

test("versions before 4 send nothing for a success, and plain text for a failure", async () => {
  const fine = await started({}, "v2.channel.k8s.io");
  const failed = await started({}, "channel.k8s.io");

  void fine.session.finish({ exitCode: 0 });
  void failed.session.finish({ error: "error executing command in container: gone" });
  await until(() => fine.peer.received.at(-1)?.kind === "goAway" && failed.peer.received.at(-1)?.kind === "goAway");

  expect(fine.peer.text(1)).toBe("");
  expect(failed.peer.text(1)).toBe("Internal error occurred: error executing command in container: gone");
});

test("a session that is dropped without a result sends a failure", async () => {
  const { peer, session } = await started();

  const dropped = session[Symbol.asyncDispose]();
  await until(() => peer.received.at(-1)?.kind === "goAway");
  peer.raw.end();
  await dropped;

  expect(JSON.parse(peer.text(1))).toMatchObject({ status: "Failure", reason: "InternalError" });
});

test("a client that resets its streams, sends GOAWAY and closes is gone, and finishing afterward has no effect", async () => {
  const { peer, session } = await started();
  for (const id of [5, 1, 3]) peer.raw.write(encodeRstStream(id, 5));
  peer.raw.end();

  await until(() => session.signal.aborted);

  expect(session.signal.reason).toMatchObject({ code: "VK_UNAVAILABLE" });
  expect(session.stdout?.destroyed).toBe(true);
  await session.finish({ exitCode: 0 });
  session.stdout?.write("nobody reads this");
  await quiet();
});

test("with a terminal, standard error is dropped, and sizes are read from the resize stream", async () => {
  const { peer, session } = accept(spdyHeaders, { tty: true, stdin: true });
  await skipAnswer(peer);
  for (const [index, streamtype] of ["error", "stdin", "stdout", "resize"].entries()) peer.open(2 * index + 1, { streamtype });
  peer.data(7, '{"Width":101,"Height":33}\n');
  const { stderr, stdin, resizes } = await session;

  expect(stderr).toBeUndefined();
  expect(stdin).toBeDefined();
  for await (const size of resizes) {
    expect(size).toEqual({ width: 101, height: 33 });
    break;
  }
});

test("with version 2, the server does not wait for a resize stream of a terminal", async () => {
  const { peer, session } = accept({ ...spdyHeaders, "x-stream-protocol-version": "v2.channel.k8s.io" }, { tty: true });
  await skipAnswer(peer);
  peer.open(1, { streamtype: "error" });
  peer.open(3, { streamtype: "stdout" });

  expect((await session).protocol).toBe("v2.channel.k8s.io");
});

test("input that has arrived completely can be read completely after the client has disconnected", async () => {
  const { peer, session } = accept(spdyHeaders, { stdin: true });
  await skipAnswer(peer);
  for (const [index, streamtype] of ["error", "stdin", "stdout", "stderr"].entries()) peer.open(2 * index + 1, { streamtype });
  peer.data(3, "all of it", true);
  const { stdin, signal } = await session;
  await quiet();
  peer.raw.end();
  await until(() => signal.aborted);

  let text = "";
  for await (const chunk of stdin ?? []) text += String(chunk);

  expect(text).toBe("all of it");
});
