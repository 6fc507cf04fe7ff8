import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { OpenBody, ScriptedTransport, type ScriptedAnswer } from "./scripted-transport.ts";
import type { TransportRequest, TransportResponse } from "./transport.ts";

function get(path: string, signal: AbortSignal = new AbortController().signal): TransportRequest {
  return { method: "GET", path, pool: "short", signal };
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function answerTo(answer: ScriptedAnswer): Promise<TransportResponse> {
  return new ScriptedTransport(() => answer).request(get("/"));
}

describe("ScriptedTransport", () => {
  test("asks its function with each request and its number, and keeps the requests", async () => {
    await using transport = new ScriptedTransport(({ path }, index) => ({ body: `${path} is number ${index}` }));

    const answers = [await transport.request(get("/a")), await transport.request(get("/b"))];

    expect(await Promise.all(answers.map(({ body }) => textOf(body)))).toEqual(["/a is number 0", "/b is number 1"]);
    expect(transport.requests.map(({ path }) => path)).toEqual(["/a", "/b"]);
  });

  test("answers 200 and JSON unless told otherwise", async () => {
    expect(await answerTo({})).toMatchObject({ status: 200, headers: { "content-type": "application/json" } });
    expect(await answerTo({ status: 503, headers: { "retry-after": "7" } })).toMatchObject({
      status: 503,
      headers: { "content-type": "application/json", "retry-after": "7" },
    });
    expect((await answerTo({ headers: { "content-type": "text/plain" } })).headers).toEqual({ "content-type": "text/plain" });
  });

  test.each<[string, unknown, string]>([
    ["nothing", undefined, ""],
    ["a string as it is", "text", "text"],
    ["bytes as they are", Buffer.from("bytes"), "bytes"],
    ["an object as JSON", { kind: "Pod" }, '{"kind":"Pod"}'],
    ["null as JSON", null, "null"],
  ])("sends %s", async (_, body, expected) => {
    expect(await textOf((await answerTo({ body })).body)).toBe(expected);
  });

  test("does not ask for an aborted request", async () => {
    const transport = new ScriptedTransport(() => ({}));

    await expect(transport.request(get("/", AbortSignal.abort(new Error("enough"))))).rejects.toThrow("enough");
    expect(transport.requests).toEqual([]);
  });

  test("throws what its function throws", async () => {
    const transport = new ScriptedTransport(() => {
      throw new Error("connection refused");
    });

    await expect(transport.request(get("/"))).rejects.toThrow("connection refused");
  });
});

describe("OpenBody", () => {
  test("is read while it is written, and is left at its end", async () => {
    const { signal } = new AbortController();
    const body = new OpenBody().lines({ a: 1 }, { b: 2 }).text("text");
    const text = textOf(body.open(signal));
    await new Promise(setImmediate);
    expect(body.left).toBe(false);

    body.bytes(Buffer.from(" and bytes"));
    await new Promise(setImmediate);
    body.end();

    expect(await text).toBe('{"a":1}\n{"b":2}\ntext and bytes');
    expect(body.left).toBe(true);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("breaks as it is told to, behind what came before", async () => {
    const read: string[] = [];
    const reading = async (): Promise<void> => {
      for await (const chunk of new OpenBody().text("some").fail(new Error("reset")).open(new AbortController().signal))
        read.push(Buffer.from(chunk).toString());
    };

    await expect(reading()).rejects.toThrow("reset");
    expect(read).toEqual(["some"]);
  });

  test("is broken off by its signal, while it is waited for and before it is read", async () => {
    const abort = new AbortController();
    const [waiting, unread] = [new OpenBody(), new OpenBody().text("never read")];
    const text = textOf(waiting.open(abort.signal));
    await new Promise(setImmediate);

    abort.abort(new Error("enough"));

    await expect(text).rejects.toThrow("enough");
    await expect(textOf(unread.open(abort.signal))).rejects.toThrow("enough");
    expect([waiting.left, unread.left]).toEqual([true, true]);
  });
});
