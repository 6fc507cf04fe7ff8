import { VirtualClock } from "@virtual-kubelet/clock";
import fc from "fast-check";
import { expect, test } from "vitest";
import { resolveLimits } from "../limits.ts";
import { spdyPeer } from "../test-support/spdy-peer.ts";
import { SpdyConnection } from "./connection.ts";
import { encodeDataHead, encodeGoAway, encodePing, encodeRstStream, encodeSynReply, encodeSynStream } from "./frames.ts";
import { HeaderDeflater } from "./header-block.ts";

const limits = resolveLimits({ maxStreams: 8, streamBufferBytes: 64 * 1024 });

/** Actions of a client. The numbers are small, so that frames often refer to the same streams. */
const action = fc.oneof(
  fc.record({
    kind: fc.constant("open" as const),
    id: fc.nat(9),
    value: fc.string({ unit: fc.constantFrom("error", "data", "\0", "ü", "80"), maxLength: 3 }),
  }),
  fc.record({ kind: fc.constant("reply" as const), id: fc.nat(9), value: fc.string({ maxLength: 3 }) }),
  fc.record({ kind: fc.constant("data" as const), id: fc.nat(9), value: fc.string({ maxLength: 40 }), fin: fc.boolean() }),
  fc.record({ kind: fc.constantFrom("reset" as const, "ping" as const, "goAway" as const), id: fc.nat(9) }),
);

type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

function bytesOf(actions: readonly Action[]): Buffer {
  const deflater = new HeaderDeflater();
  const frames = actions.map((each) => {
    switch (each.kind) {
      case "open":
        return encodeSynStream(each.id, deflater.deflate(new Map([["streamtype", each.value]])));
      case "reply":
        return encodeSynReply(each.id, deflater.deflate(new Map([["a", each.value]])));
      case "data":
        return Buffer.concat([encodeDataHead(each.id, Buffer.byteLength(each.value), each.fin), Buffer.from(each.value)]);
      case "reset":
        return encodeRstStream(each.id, 5);
      case "ping":
        return encodePing(each.id);
      case "goAway":
        return encodeGoAway(each.id, 0);
      default:
        return each satisfies never;
    }
  });
  return Buffer.concat(frames);
}

/** A valid conversation in which some bytes are changed, split at any place. */
const conversation = fc
  .record({
    actions: fc.array(action, { maxLength: 12 }),
    flips: fc.array(fc.tuple(fc.nat(2_000), fc.integer({ min: 0, max: 255 })), { maxLength: 3 }),
    cuts: fc.array(fc.nat(2_000), { maxLength: 10 }),
  })
  .map(({ actions, flips, cuts }) => {
    const bytes = bytesOf(actions);
    for (const [at, value] of flips) if (bytes.length > 0) bytes.writeUInt8(value, at % bytes.length);
    const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
    return [0, ...places].map((start, index) => bytes.subarray(start, places[index] ?? bytes.length));
  });

test.each(["server", "client"] as const)("a %s survives any input of its peer, and leaves no stream or timer behind", async (role) => {
  await fc.assert(
    fc.asyncProperty(conversation, async (chunks) => {
      const { socket, raw } = spdyPeer();
      const clock = new VirtualClock();
      let held = 0;
      const connection = new SpdyConnection(socket, {
        role,
        clock,
        limits,
        admit: (headers) => headers.get("streamtype") !== "",
        // Every second stream is read; the others are never read.
        onStream: (stream) => void (held++ % 2 === 0 && stream.inbox.discard()),
      });
      const opening = role === "client" ? connection.open(new Map([["streamtype", "data"]])).catch(() => undefined) : undefined;

      for (const chunk of chunks) raw.write(chunk);
      raw.end();
      await connection.closed;
      await opening;

      expect(connection.signal.aborted).toBe(true);
      expect(connection.streamCount).toBe(0);
      expect(clock.pending).toBe(0);
    }),
    { numRuns: 300 },
  );
});
