import type { IncomingMessage } from "node:http";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";

/**
 * Body of a response, unpacked if it is compressed with gzip, which Go's client asks for. A body that breaks off ends with an error.
 *
 * Source: net/http of Go, transport.go, `readLoop`.
 */
export function unpackedBody(answer: IncomingMessage): AsyncIterable<Uint8Array> {
  return answer.headers["content-encoding"]?.toLowerCase() === "gzip" ? unpacked(answer) : answer;
}

async function* unpacked(answer: IncomingMessage): AsyncGenerator<Uint8Array> {
  // The reader gets the error.
  const gunzip = pipeline(answer, createGunzip(), () => {});
  try {
    yield* gunzip as AsyncIterable<Uint8Array>;
  } catch (error) {
    const isEmpty = answer.complete && gunzip.bytesWritten === 0 && isOf(error, "Z_BUF_ERROR");
    if (!isEmpty) throw error;
  }
}

/** Problem of a body that could not be read, in the words of Go's package compress/gzip. */
export function unpackProblem(error: unknown): string {
  if (!isOf(error, "Z_DATA_ERROR")) return "unexpected EOF";
  if (/header|compression method|window size/.test(error.message)) return "gzip: invalid header";
  return /incorrect (data|length) check/.test(error.message) ? "gzip: invalid checksum" : "flate: corrupt input";
}

function isOf(error: unknown, code: string): error is Error {
  return error instanceof Error && "code" in error && error.code === code;
}
