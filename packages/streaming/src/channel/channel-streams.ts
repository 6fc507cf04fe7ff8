import { Duplex, Readable, Writable } from "node:stream";
import type { Channel, SendCallback } from "./channel.ts";

/** Small, for the inbox behind it has a bound that counts better. */
const readableHighWaterMark = 16 * 1024;

/**
 * What a channel receives, as a stream. Destroying it drops what comes and leaves the channel open.
 *
 * @param whenLost - what it means that the channel is lost: `error`, or the `end` behind what has arrived
 */
export function readableOf(channel: Channel, whenLost: "error" | "end" = "error"): Readable {
  const readable = guarded(
    new Readable({
      highWaterMark: readableHighWaterMark,
      read(): void {
        pull(channel, this);
      },
      destroy(error, done): void {
        channel.inbox.discard();
        done(error);
      },
    }),
  );
  channel.whenLost((error) => {
    // What has arrived whole stays whole.
    if (whenLost === "end" || channel.inbox.ended) channel.inbox.end();
    else readable.destroy(error);
  });
  return readable;
}

/** What a channel sends, as a stream; what it receives is dropped. Destroying it before its end cancels the channel. */
export function writableOf(channel: Channel): Writable {
  channel.inbox.discard();
  const writable = guarded(
    new Writable({
      ...sending(channel),
      destroy(error, done): void {
        if (!this.writableFinished) channel.cancel();
        done(error);
      },
    }),
  );
  channel.whenLost((error) => void writable.destroy(error));
  return writable;
}

/**
 * Both directions of a channel; each ends by itself. Destroying it before both have ended cancels the channel. A channel
 * that is lost after this side has ended is one whose other side has nothing more to say: Go's clients reset it then.
 *
 * @param explain - makes a better error of that by which the channel was lost
 */
export function duplexOf(channel: Channel, explain?: (lost: Error) => Error): Duplex {
  const duplex = guarded(
    new Duplex({
      ...sending(channel),
      readableHighWaterMark,
      read(): void {
        pull(channel, this);
      },
      destroy(error, done): void {
        if (!this.writableFinished || !channel.inbox.ended) channel.cancel();
        channel.inbox.discard();
        done(error);
      },
    }),
  );
  // A pipeline for each direction takes ten by itself, and those who wait for the end come on top.
  duplex.setMaxListeners(32);
  channel.whenLost((lost) => {
    const error = explain?.(lost) ?? lost;
    if (duplex.writableFinished && error === lost) channel.inbox.end();
    else duplex.destroy(error);
  });
  return duplex;
}

function pull(channel: Channel, stream: Readable): void {
  channel.inbox.take((chunk) => void stream.push(chunk ?? null));
}

interface Sending {
  write(chunk: Buffer, encoding: BufferEncoding, sent: SendCallback): void;
  writev(chunks: readonly { readonly chunk: Buffer }[], sent: SendCallback): void;
  final(sent: SendCallback): void;
}

function sending(channel: Channel): Sending {
  return {
    write: (chunk, _encoding, sent) => channel.send([chunk], sent),
    writev: (chunks, sent) =>
      channel.send(
        chunks.map(({ chunk }) => chunk),
        sent,
      ),
    final: (sent) => channel.end(sent),
  };
}

/** Keeps an error that nobody looks at from ending the process. */
function guarded<Stream extends Readable | Writable>(stream: Stream): Stream {
  stream.on("error", ignore);
  return stream;
}

function ignore(): void {}
