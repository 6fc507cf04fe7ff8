import { pipeline, Readable } from "node:stream";
import { createGzip, type ZlibOptions } from "node:zlib";
import type { ContentAnswer } from "./answer.ts";

/** Small and quick: 48 KiB for each answer that is on its way, where zlib's own defaults take 270. */
const gzipOptions: ZlibOptions = { level: 4, windowBits: 13, memLevel: 5 };

/** Shorter texts are not worth it. */
const leastChars = 1024;

/** Whether a client takes gzip, by its `Accept-Encoding`. */
export function takesGzip(acceptEncoding: string | undefined): boolean {
  return (acceptEncoding ?? "").split(",").some((part) => {
    const [coding = "", ...parameters] = part.split(";").map((each) => each.trim().toLowerCase());
    return (coding === "gzip" || coding === "x-gzip") && !parameters.some((each) => /^q=0(\.0*)?$/.test(each));
  });
}

/** The answer as this client gets it: compressed, if it may be and the client takes it. */
export function encodedFor(answer: ContentAnswer, acceptEncoding: string | undefined): ContentAnswer {
  if (answer.isCompressible !== true || answer.status !== 200) return answer;
  const headers = { ...answer.headers, vary: "Accept-Encoding" };
  const isShort = typeof answer.body === "string" && answer.body.length < leastChars;
  if (isShort || !takesGzip(acceptEncoding)) return { ...answer, headers };
  return { ...answer, headers: { ...headers, "content-encoding": "gzip" }, body: gzipped(answer.body) };
}

async function* gzipped(body: ContentAnswer["body"]): AsyncGenerator<Uint8Array, void, undefined> {
  const gzip = createGzip(gzipOptions);
  // Who reads is told of an error by the iteration.
  pipeline(Readable.from(typeof body === "string" ? [body] : body), gzip, () => {});
  yield* gzip as AsyncIterable<Uint8Array>;
}
