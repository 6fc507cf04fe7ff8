import type { Duplex, Readable } from "node:stream";

/**
 * Copies the client's input to a process, at its pace, and ends the process's input with it. Stops when the process's stream closes,
 * because a command may end before its input. Never rejects.
 *
 * @returns dispose it to stop; the client's stream stays open
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
  // A broken input is not an end: the command must not take a part for the whole.
  stdin.on("data", onData).once("end", onEnd).once("error", stop);
  target.on("drain", onDrain).once("close", stop);
  if (stdin.readableEnded) onEnd();
  return { [Symbol.dispose]: stop };
}
