import { VirtualClock } from "@virtual-kubelet/clock";
import fc from "fast-check";
import { once } from "node:events";
import { type Duplex, duplexPair } from "node:stream";
import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import { readableOf } from "../channel/channel-streams.ts";
import { resolveLimits } from "../limits.ts";
import { quiet } from "../test-support/until.ts";
import { WebSocketChannels } from "./web-socket-channels.ts";
import { webSocketDuplex } from "./web-socket-duplex.ts";
import { acceptWebSocket } from "./web-socket-handshake.ts";

interface Accepted {
  readonly webSocket: WebSocket;
  /** The client's end. */
  readonly raw: Duplex;
  readonly clock: VirtualClock;
}

async function accept(protocol: string): Promise<Accepted> {
  const [socket, raw] = duplexPair();
  raw.on("error", () => undefined).resume();
  const clock = new VirtualClock();
  const headers = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "sec-websocket-protocol": protocol,
  };
  const upgrade = { request: { method: "GET", url: "/exec", headers }, socket, head: Buffer.alloc(0) };
  const { webSocket } = await acceptWebSocket(upgrade, [protocol], clock);
  return { webSocket, raw, clock };
}

function channelsOf({ webSocket, clock }: Accepted, protocol: string): WebSocketChannels {
  return new WebSocketChannels(webSocket, {
    codec: protocol.includes("base64") ? "base64" : "binary",
    channels: [0, 1, 2, 3, 4],
    halfClose: protocol.startsWith("v5") ? "receive" : "none",
    clock,
    limits: resolveLimits({ streamBufferBytes: 64 * 1024 }),
  });
}

/** A masked frame of a client. The mask is zero, so that the payload is readable. */
function frame(opcode: number, payload: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | payload.length]), Buffer.alloc(4), payload]);
}

function sliced(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...places].map((start, index) => bytes.subarray(start, places[index] ?? bytes.length));
}

const cuts = fc.array(fc.nat(3_000), { maxLength: 20 });
const opcode = fc.constantFrom(0, 1, 2, 2, 2, 2, 8, 9, 10, 3, 15);
const payload = fc.oneof(
  fc.uint8Array({ maxLength: 100 }),
  fc.uint8Array({ maxLength: 100 }).map((bytes) => Uint8Array.of(bytes.length % 6, ...bytes)),
  fc.constantFrom(Uint8Array.of(255, 0), Uint8Array.of(255), Uint8Array.of(255, 7), Buffer.from("0aGk="), Buffer.from("0=?=")),
);

test.each(["v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"])(
  "whatever messages are received in %s, valid or not, the connection ends with its peer and leaves nothing open",
  async (protocol) => {
    const garbage = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
    const messages = fc.array(fc.oneof({ weight: 6, arbitrary: fc.tuple(opcode, payload).map((each) => frame(...each)) }, garbage), {
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(messages, cuts, async (frames, places) => {
        const accepted = await accept(protocol);
        const channels = channelsOf(accepted, protocol);
        for (const number of [0, 1, 2]) channels.channel(number).inbox.discard();

        for (const chunk of sliced(Buffer.concat(frames), places)) accepted.raw.write(chunk);
        accepted.raw.end();
        await channels.closed;
        await quiet(1);

        expect(channels.signal.aborted).toBe(true);
        expect(accepted.clock.pending).toBe(0);
      }),
      { numRuns: 150 },
    );
  },
);

test.each(["v5.channel.k8s.io", "base64.channel.k8s.io"])("a channel in %s delivers all bytes, however split", async (protocol) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 90 }), { maxLength: 8 }), cuts, async (parts, places) => {
      const accepted = await accept(protocol);
      const channels = channelsOf(accepted, protocol);
      const input = readableOf(channels.channel(0));
      const isBase64 = protocol.includes("base64");
      const frames = parts.map((part) =>
        isBase64 ? frame(1, Buffer.from(`0${Buffer.from(part).toString("base64")}`)) : frame(2, Uint8Array.of(0, ...part)),
      );
      const expected = Buffer.concat(parts);
      let read = Buffer.alloc(0);
      input.on("data", (chunk: Buffer) => (read = Buffer.concat([read, chunk]))).on("error", () => undefined);

      for (const chunk of sliced(Buffer.concat(frames), places)) accepted.raw.write(chunk);
      accepted.raw.end(frame(8, Uint8Array.of(3, 232)));
      await channels.closed;
      if (!input.closed) await once(input, "close").catch(() => undefined);

      expect(read).toEqual(expected);
    }),
    { numRuns: 100 },
  );
});

test("a tunnel delivers its bytes, however the messages and their bytes are split", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 600 }), cuts, cuts, async (sent, messageCuts, places) => {
      const { webSocket, raw } = await accept("SPDY/3.1+portforward.k8s.io");
      const duplex = webSocketDuplex(webSocket);
      const messages = sliced(Buffer.from(sent), messageCuts).filter(({ length }) => length < 126);
      const expected = Buffer.concat(messages);
      const frames = messages.map((part) => frame(2, part));

      for (const chunk of sliced(Buffer.concat([...frames, frame(8, Uint8Array.of(3, 232))]), places)) raw.write(chunk);
      raw.end();

      expect(Buffer.concat((await duplex.toArray()) as Buffer[])).toEqual(expected);
    }),
    { numRuns: 100 },
  );
});

test("a tunnel survives any input, and ends when its peer ends", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(opcode, payload), { maxLength: 6 }), cuts, async (frames, places) => {
      const { webSocket, raw } = await accept("SPDY/3.1+portforward.k8s.io");
      const duplex = webSocketDuplex(webSocket).resume();
      duplex.on("error", () => undefined);

      for (const chunk of sliced(Buffer.concat(frames.map((each) => frame(...each))), places)) raw.write(chunk);
      raw.end();

      if (!duplex.closed) await once(duplex, "close").catch(() => undefined);
      expect(duplex.destroyed).toBe(true);
    }),
    { numRuns: 150 },
  );
});
