import { PassThrough } from "node:stream";
import { finished } from "node:stream/promises";
import { expect, test } from "vitest";
import { attachInput } from "./attach-input.ts";

/** Waits until everything that is ready has run. */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test("with stdinOnce the container's input ends with the client's", async () => {
  const client = new PassThrough();
  using input = attachInput(client, { once: true });

  client.end("hello");

  expect((await input.stream.toArray()).join("")).toBe("hello");
});

test("with stdinOnce it also ends when the client disconnects", async () => {
  const client = new PassThrough();
  client.on("error", () => {});
  using input = attachInput(client, { once: true });
  input.stream.resume();

  client.destroy(new Error("the client has disconnected"));

  await expect(finished(input.stream, { writable: false })).resolves.toBeUndefined();
});

test("without stdinOnce it never ends, because another client may attach", async () => {
  const client = new PassThrough();
  using input = attachInput(client, { once: false });
  const read: string[] = [];
  let isOver = false;
  input.stream.setEncoding("utf8").on("data", (text: string) => read.push(text));
  input.stream.on("end", () => (isOver = true));

  client.end("hello");
  await settled();

  expect([read.join(""), isOver]).toEqual(["hello", false]);
});

test("after the attach the rest of the input is dropped, so that the client is not blocked", async () => {
  const client = new PassThrough({ highWaterMark: 1 });
  attachInput(client, { once: false })[Symbol.dispose]();

  expect(client.readableFlowing).toBe(true);
});

test("after the attach the client has no listeners left, and the container's stream is destroyed", () => {
  const client = new PassThrough();
  const listeners = (): number => client.listenerCount("end") + client.listenerCount("close");
  const before = listeners();
  const input = attachInput(client, { once: true });
  expect(listeners()).toBeGreaterThan(before);

  input[Symbol.dispose]();

  expect([listeners(), input.stream.destroyed]).toEqual([before, true]);
});

test("an error of the container's stream does no harm", async () => {
  const client = new PassThrough();
  using input = attachInput(client, { once: true });

  input.stream.destroy(new Error("the container has gone"));
  client.end("hello");
  await settled();

  expect(input.stream.destroyed).toBe(true);
});
