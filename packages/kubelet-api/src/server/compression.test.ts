import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { metricsText, text } from "./answer.ts";
import { encodedFor, takesGzip } from "./compression.ts";

test.each([
  ["gzip", true],
  ["deflate, gzip;q=0.5", true],
  ["GZIP", true],
  ["gzip;q=0", false],
  ["gzip; q=0.0", false],
  ["br, identity", false],
  ["*", false],
  ["", false],
  [undefined, false],
])("Accept-Encoding %j: %s", (header, expected) => {
  expect(takesGzip(header)).toBe(expected);
});

async function bytesOf({ body }: { readonly body: string | Iterable<string> | AsyncIterable<Uint8Array> }): Promise<Buffer> {
  if (typeof body === "string") return Buffer.from(body);
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

test("a metrics answer above a minimum size is compressed for clients that accept it, and for no others", async () => {
  const figures = metricsText("figure 1\n".repeat(1_000));
  const answer = encodedFor(figures, "gzip");
  const bytes = await bytesOf(answer);

  expect(answer.headers).toMatchObject({ "content-encoding": "gzip", vary: "Accept-Encoding" });
  expect([gunzipSync(bytes).toString(), bytes.length < 500]).toEqual([figures.body, true]);
  expect(encodedFor(figures, "identity")).toMatchObject({ body: figures.body, headers: { vary: "Accept-Encoding" } });
  expect(encodedFor(figures, "identity").headers).not.toHaveProperty("content-encoding");
});

test("short answers, errors and answers that must not be compressed stay unchanged", () => {
  const long = "x".repeat(5_000);

  for (const answer of [metricsText("short 1\n"), { ...metricsText(long), status: 500 }, text(long)])
    expect(encodedFor(answer, "gzip").headers).not.toHaveProperty("content-encoding");
});

test("an error of the body breaks the compressed body as well, and a body that is not read to its end is released", async () => {
  let ended = 0;
  async function* body(fails: boolean): AsyncGenerator<Uint8Array> {
    try {
      for (let count = 0; count < 100; count++) yield Buffer.alloc(100_000, count);
      if (fails) throw new Error("the back end has gone");
      for (;;) yield Buffer.alloc(100_000);
    } finally {
      ended++;
    }
  }
  const answerOf = (fails: boolean) => encodedFor({ status: 200, body: body(fails), isCompressible: true }, "gzip");

  await expect(bytesOf(answerOf(true))).rejects.toThrow("the back end has gone");
  const { body: left } = answerOf(false);
  for await (const chunk of left as AsyncIterable<Uint8Array>) {
    expect(chunk.length).toBeGreaterThan(0);
    break;
  }

  await expect.poll(() => ended).toBe(2);
});
