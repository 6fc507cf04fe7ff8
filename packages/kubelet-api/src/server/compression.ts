import { pipeline, Readable } from "node:stream";
import { createGzip, type ZlibOptions } from "node:zlib";
import type { ContentAnswer } from "./answer.ts";

/** Small and fast: 48 KiB per response in progress, where zlib's defaults take 270 KiB. */
const gzipOptions: ZlibOptions = { level: 4, windowBits: 13, memLevel: 5 };

/** Shorter texts are not compressed. */
const leastChars = 1024;

/** Whether a client accepts gzip, by its `Accept-Encoding`. */
export function takesGzip(acceptEncoding: string | undefined): boolean {
  return (acceptEncoding ?? "").split(",").some((part) => {
    const [coding = "", ...parameters] = part.split(";").map((each) => each.trim().toLowerCase());
    return (coding === "gzip" || coding === "x-gzip") && !parameters.some((each) => /^q=0(\.0*)?$/.test(each));
  });
}

/** Compresses the answer if that is allowed and the client accepts it. */
export function encodedFor(answer: ContentAnswer, acceptEncoding: string | undefined): ContentAnswer {
  if (answer.isCompressible !== true || answer.status !== 200) return answer;
  const headers = { ...answer.headers, vary: "Accept-Encoding" };
  const isShort = typeof answer.body === "string" && answer.body.length < leastChars;
  if (isShort || !takesGzip(acceptEncoding)) return { ...answer, headers };
  return { ...answer, headers: { ...headers, "content-encoding": "gzip" }, body: gzipped(answer.body) };
}

async function* gzipped(body: ContentAnswer["body"]): AsyncGenerator<Uint8Array, void, undefined> {
  const gzip = createGzip(gzipOptions);
  // The reader gets the error from its iteration.
  pipeline(Readable.from(typeof body === "string" ? [body] : body), gzip, () => {});
  yield* gzip as AsyncIterable<Uint8Array>;
}
