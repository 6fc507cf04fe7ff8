import { duplexPair } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { joinConnection } from "./port-connection.ts";

const { signal } = new AbortController();

test("a client that has said all still gets the whole answer", async () => {
  const [client, stream] = duplexPair();
  const [connection, pod] = duplexPair();
  const joined = joinConnection(stream, connection, signal);

  client.end("hello");
  expect(await text(pod)).toBe("hello");
  pod.end("and goodbye");
  expect(await text(client)).toBe("and goodbye");
  await joined;
  expect(connection.destroyed).toBe(true);
});

test("what breaks one side breaks the other off", async () => {
  const [, stream] = duplexPair();
  const [connection] = duplexPair();
  const joined = joinConnection(stream, connection, signal);

  connection.destroy(new Error("the program has ended"));
  await expect(joined).rejects.toThrow("the program has ended");
  expect(stream.destroyed).toBe(true);
});

test("an abort destroys both, and its reason is thrown", async () => {
  const [, stream] = duplexPair();
  const [connection] = duplexPair();
  const abort = new AbortController();
  const joined = joinConnection(stream, connection, abort.signal);

  abort.abort(new Error("the client is gone"));
  await expect(joined).rejects.toThrow("the client is gone");
  expect([stream.destroyed, connection.destroyed]).toEqual([true, true]);
});
