import { Duplex, Readable, Writable } from "node:stream";
import type { Channel, SendCallback } from "./channel.ts";

/** Small, because the inbox behind it has a limit of its own. */
const readableHighWaterMark = 16 * 1024;

/**
 * Readable stream of the data received on a channel. Destroying it drops further data and leaves the channel open.
 *
 * @param whenLost - how the stream ends if the channel is lost: with an `error`, or with a normal `end` after the data received
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
    // Data that was received completely is not an error.
    if (whenLost === "end" || channel.inbox.ended) channel.inbox.end();
    else readable.destroy(error);
  });
  return readable;
}

/** Writable stream that sends on a channel and drops what the channel receives. Destroying it before its end cancels the channel. */
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
 * Duplex stream over a channel; each direction ends separately. Destroying it before both have ended cancels the channel. If the channel is
 * lost after this side has ended, that counts as the other side's end, because Go's clients reset the stream then.
 *
 * @param explain - replaces the error with which the channel was lost
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
  // A pipeline in each direction adds ten listeners, and callers add more.
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

/** Adds an error handler, because an unhandled `error` event would end the process. */
function guarded<Stream extends Readable | Writable>(stream: Stream): Stream {
  stream.on("error", ignore);
  return stream;
}

function ignore(): void {}
