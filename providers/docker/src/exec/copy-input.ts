import type { Duplex, Readable } from "node:stream";

/**
 * Hands the client's input on, at the other side's pace, and ends the other side's input where it ends. Stops when the
 * other side is over: a command may end before its input does. Never rejects.
 *
 * @returns what stops it; the client's stream is left as it is
 */
export function copyInput(stdin: Readable | undefined, target: Duplex): Disposable {
  if (stdin === undefined) return { [Symbol.dispose]: () => undefined };
  const onData = (chunk: Uint8Array): void => {
    if (target.writable && !target.write(chunk)) stdin.pause();
  };
  const onDrain = (): void => void stdin.resume();
  const onEnd = (): void => {
    target.end();
    stop();
  };
  const stop = (): void => {
    stdin.off("data", onData).off("end", onEnd).off("error", stop);
    target.off("drain", onDrain).off("close", stop);
    stdin.pause();
  };
  // An input that broke has not ended: a command must not take half of it for all.
  stdin.on("data", onData).once("end", onEnd).once("error", stop);
  target.on("drain", onDrain).once("close", stop);
  if (stdin.readableEnded) onEnd();
  return { [Symbol.dispose]: stop };
}
