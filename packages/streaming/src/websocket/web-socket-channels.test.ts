import { VirtualClock } from "@virtual-kubelet/clock";
import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { SharedBudget } from "../budget/shared-budget.ts";
import type { StreamingShare } from "../budget/connection-budget.ts";
import { readableOf } from "../channel/channel-streams.ts";
import { resolveLimits } from "../limits.ts";
import { quiet, until } from "../test-support/until.ts";
import { WebSocketChannels } from "./web-socket-channels.ts";
import { acceptWebSocket } from "./web-socket-handshake.ts";

/** A masked message of a client. The mask is zero, so that the payload is readable. */
function message(payload: Buffer, opcode = 2): Buffer {
  const head = payload.length < 126 ? Buffer.from([0x80 | opcode, 0x80 | payload.length]) : Buffer.from([0x80 | opcode, 0xfe, 0, 0]);
  if (payload.length >= 126) head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, Buffer.alloc(4), payload]);
}

async function accepted(protocol: string, limits = {}, share?: StreamingShare) {
  const [socket, raw] = duplexPair();
  const clock = new VirtualClock();
  const bytes: Buffer[] = [];
  raw.on("data", (chunk: Buffer) => void bytes.push(chunk));
  raw.on("error", () => undefined);
  const headers = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "sec-websocket-protocol": protocol,
  };
  const request = { method: "GET", url: "/exec", headers };
  const { webSocket } = await acceptWebSocket({ request, socket, head: Buffer.alloc(0) }, [protocol], clock, share);
  const channels = new WebSocketChannels(webSocket, {
    codec: protocol.includes("base64") ? "base64" : "binary",
    channels: [0, 1, 2, 3, 4],
    halfClose: protocol.startsWith("v5") ? "receive" : "none",
    clock,
    limits: resolveLimits(limits),
    share,
  });
  const answer = (): string => Buffer.concat(bytes).toString("latin1");
  await until(() => answer().includes("\r\n\r\n"));
  return { socket, raw, clock, channels, answer };
}

async function textOf(channels: WebSocketChannels, number: number): Promise<string> {
  let text = "";
  for await (const chunk of readableOf(channels.channel(number))) text += String(chunk);
  return text;
}

test("the chosen sub-protocol is echoed, even one with a slash, which ws itself refuses", async () => {
  const { answer } = await accepted("SPDY/3.1+portforward.k8s.io");

  expect(answer()).toContain("\r\nSec-WebSocket-Protocol: SPDY/3.1+portforward.k8s.io\r\n");
});

test("in version 5, the bytes ff 00 are the end of the input", async () => {
  const { raw, channels } = await accepted("v5.channel.k8s.io");

  raw.write(Buffer.concat([message(Buffer.from("\0all ")), message(Buffer.from("\0of it")), message(Buffer.from([0xff, 0]))]));

  expect(await textOf(channels, 0)).toBe("all of it");
  expect(channels.signal.aborted).toBe(false);
});

test.each([[Buffer.from([0xff])], [Buffer.from([0xff, 0, 0])], [Buffer.from([0xff, 9])]])(
  "in version 5 a close signal of the bytes %j ends the connection",
  async (payload) => {
    const { raw, channels } = await accepted("v5.channel.k8s.io");

    raw.write(message(payload));

    await channels.closed;
    expect(channels.signal.aborted).toBe(true);
  },
);

test("empty messages and unknown channels are ignored", async () => {
  const { raw, channels } = await accepted("v4.channel.k8s.io");

  raw.write(
    Buffer.concat([message(Buffer.alloc(0)), message(Buffer.from("\x09x")), message(Buffer.from("\0")), message(Buffer.from([0xff, 0]))]),
  );
  await quiet();

  expect(channels.signal.aborted).toBe(false);
});

test("a message may come in fragments", async () => {
  const { raw, channels } = await accepted("v5.channel.k8s.io");
  const first = message(Buffer.from("\0al"));
  first[0] = 0x02;
  const last = message(Buffer.from("l"), 0);

  raw.write(Buffer.concat([first, last, message(Buffer.from([0xff, 0]))]));

  expect(await textOf(channels, 0)).toBe("all");
});

test("a WebSocket ping is answered", async () => {
  const { raw, answer } = await accepted("v4.channel.k8s.io");

  raw.write(message(Buffer.from("hi"), 9));

  await expect.poll(() => answer().endsWith("\x8a\x02hi")).toBe(true);
});

test("closing waits for a client that reads slowly and sends pings, until it answers the close", async () => {
  const { raw, channels, socket, clock, answer } = await accepted("v4.channel.k8s.io");
  raw.pause();
  channels.channel(1).send([Buffer.from("all of it")], () => undefined);

  const closed = channels.closeWhenRead(1000);
  for (let count = 0; count < 20; count++) {
    raw.write(message(Buffer.from("hi"), 9));
    await quiet(5);
    await clock.advance(30_000);
  }
  expect(socket.destroyed).toBe(false);
  raw.resume();
  await until(() => answer().endsWith("\x88\x02\x03\xe8"));
  expect(answer()).toContain("\x01all of it");
  raw.end(message(Buffer.from([0x03, 0xe8]), 8));

  await closed;
  expect(clock.pending).toBe(0);
});

test("a client that does not answer the close is disconnected after a minute of silence, or after four hours of pings only", async () => {
  const [silent, pinging] = await Promise.all([accepted("v4.channel.k8s.io"), accepted("v4.channel.k8s.io")]);
  const closed = Promise.all([silent.channels.closeWhenRead(1000), pinging.channels.closeWhenRead(1000)]);

  await silent.clock.advance(59_999);
  expect(silent.socket.destroyed).toBe(false);
  await silent.clock.advance(1);
  for (let count = 0; count < 480; count++) {
    pinging.raw.write(message(Buffer.from("hi"), 9));
    await quiet(2);
    expect(pinging.socket.destroyed).toBe(false);
    await pinging.clock.advance(30_000);
  }

  await closed;
});

test("bytes that are not a WebSocket frame end the connection without an exception", async () => {
  const { raw, channels, socket, clock } = await accepted("v4.channel.k8s.io");

  raw.write(Buffer.alloc(100, 0xff));

  await until(() => channels.signal.aborted);
  expect(channels.signal.reason).toMatchObject({ code: "VK_UNAVAILABLE", cause: { code: expect.stringMatching(/^WS_ERR_/) } });
  await clock.advance(10_000);
  await until(() => socket.destroyed);
  expect(clock.pending).toBe(0);
});

test("a message larger than 32 MiB ends the connection before it is read", async () => {
  const { raw, channels } = await accepted("v4.channel.k8s.io");

  raw.write(Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0x02, 0, 0, 1, 0, 0, 0, 0]));

  await until(() => channels.signal.aborted);
  expect(channels.signal.reason).toMatchObject({ cause: { code: "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH" } });
});

test("a stalled reader pauses the WebSocket, which is pinged meanwhile", async () => {
  const { raw, socket, clock, answer } = await accepted("v4.channel.k8s.io", { streamBufferBytes: 10_000 });
  for (let count = 0; count < 40; count++) raw.write(message(Buffer.alloc(10_000)));
  await until(() => socket.isPaused());
  const before = answer().length;
  await quiet();

  await clock.advance(2_000);
  await quiet();

  expect(answer().slice(before)).toBe("\x89\x00");
});

test("a connection without any data for four hours is closed", async () => {
  const { clock, channels } = await accepted("v4.channel.k8s.io");

  await clock.advance(4 * 3_600_000);

  await channels.closed;
  expect(clock.pending).toBe(0);
});

/** A share of a byte budget, with the names of the limits that were reported. */
function bytesOf(budget: SharedBudget): StreamingShare & { readonly limits: string[] } {
  const limits: string[] = [];
  return {
    limits,
    streams: new SharedBudget(1_000).share("a"),
    bytes: budget.share("a"),
    onLimit: (limit) => void limits.push(limit),
  };
}

/** Header of a message with this many bytes. */
function headOf(bytes: number): Buffer {
  const head = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  head.writeUInt32BE(bytes, 6);
  return head;
}

test("messages that wait for a reader count for the caller, and while the caller exceeds its share the WebSocket is not read", async () => {
  const budget = new SharedBudget(40_000);
  const { raw, socket, channels } = await accepted("v4.channel.k8s.io", {}, bytesOf(budget));

  raw.write(Buffer.concat([message(Buffer.alloc(15_000)), message(Buffer.alloc(15_000))]));
  await until(() => socket.isPaused(), "it is held");
  expect(budget.used).toBeGreaterThan(30_000);
  readableOf(channels.channel(0)).resume();

  await until(() => budget.used === 0, "all is read");
  expect(socket.isPaused()).toBe(false);
});

test("an incomplete message counts, too, and ends its WebSocket once the caller exceeds its share", async () => {
  const budget = new SharedBudget(1_000_000);
  const share = bytesOf(budget);
  const { raw, channels } = await accepted("v4.channel.k8s.io", {}, share);

  raw.write(headOf(30_000_000));
  for (let count = 0; count < 4; count++) raw.write(Buffer.alloc(100_000));
  await until(() => budget.used >= 400_000, "the part counts");
  expect(channels.signal.aborted).toBe(false);
  raw.write(Buffer.alloc(200_000));

  await until(() => channels.signal.aborted, "it is ended");
  await until(() => budget.used === 0, "nothing counts any more");
  expect(share.limits[0]).toBe("maxSharedBytes");
});

test("a large message within the caller's share arrives complete", async () => {
  const budget = new SharedBudget(10_000_000);
  const { raw, channels } = await accepted("v4.channel.k8s.io", {}, bytesOf(budget));

  raw.write(headOf(2_000_001));
  for (let count = 0; count < 20; count++) raw.write(Buffer.alloc(100_000));
  raw.write(Buffer.alloc(1));

  let length = 0;
  readableOf(channels.channel(0)).on("data", (chunk: Buffer) => (length += chunk.length));
  await until(() => length === 2_000_000, "the message");
  expect(budget.used).toBe(0);
});

test("a message that carries SPDY may have at most one megabyte", async () => {
  const { raw, channels } = await accepted("SPDY/3.1+portforward.k8s.io");

  raw.write(headOf(1024 * 1024 + 1));

  await until(() => channels.signal.aborted, "it is ended");
  expect(channels.signal.reason).toMatchObject({ message: expect.stringContaining("WebSocket") });
});
