import { Duplex, type Readable, type Writable } from "node:stream";

/**
 * Joins output and input to one stream. Its end is the output's end, also if the input was closed before; errors of the input are dropped, as
 * the other side may exit without reading. Closing it calls `close`.
 */
export function pairStreams(output: Readable, input: Writable | undefined, close: () => void): Duplex {
  const pair = new Duplex({
    read: () => void output.resume(),
    write(chunk: Buffer, _encoding, callback) {
      if (input?.writable !== true) callback();
      else input.write(chunk, () => callback());
    },
    final(callback) {
      input?.end();
      callback();
    },
    destroy(error, callback) {
      close();
      callback(error);
    },
  });
  output.on("data", (chunk: Buffer) => {
    if (!pair.push(chunk)) output.pause();
  });
  for (const event of ["end", "close", "error"] as const) output.once(event, () => void (pair.readable && pair.push(null)));
  input?.on("error", () => {});
  pair.on("error", () => {});
  return pair;
}
