import type { Dispatcher } from "undici";
import { expect, test, vi } from "vitest";
import { sendRequest } from "./http-exchange.ts";

/** A connection that notes what is asked of it. */
function scripted() {
  const handlers: Dispatcher.DispatchHandler[] = [];
  const pool = { dispatch: (_options: unknown, handler: Dispatcher.DispatchHandler) => handlers.push(handler) > 0 };
  const controller = {
    aborted: false,
    paused: false,
    reason: null,
    abort: vi.fn(),
    pause: vi.fn(() => void (controller.paused = true)),
    resume: vi.fn(() => void (controller.paused = false)),
  };
  const send = (signal = new AbortController().signal) => sendRequest(pool as unknown as Dispatcher, { method: "GET", path: "/" }, signal);
  const handler = () => handlers[0] as Required<Dispatcher.DispatchHandler>;
  return { controller, send, handler };
}

const chunk = (bytes: number) => Buffer.alloc(bytes, "x");

test("a reader that falls behind stops the connection, and has it read on when it has caught up", async () => {
  const { controller, handler, send } = scripted();
  const answer = send();
  handler().onRequestStart(controller, {});
  handler().onResponseStart(controller, 200, {});
  const { body } = await answer;
  handler().onResponseData(controller, chunk(60_000));
  expect(controller.pause).not.toHaveBeenCalled();
  handler().onResponseData(controller, chunk(60_000));
  expect(controller.pause).toHaveBeenCalledOnce();
  const reader = body[Symbol.asyncIterator]();
  expect((await reader.next()).value?.byteLength).toBe(120_000);
  expect(controller.resume).toHaveBeenCalledOnce();
});

test("what arrives together is read together", async () => {
  const { controller, handler, send } = scripted();
  const answer = send();
  handler().onRequestStart(controller, {});
  handler().onResponseStart(controller, 200, {});
  for (const text of ["one ", "two ", "three"]) handler().onResponseData(controller, Buffer.from(text));
  const reader = (await answer).body[Symbol.asyncIterator]();

  expect(String((await reader.next()).value)).toBe("one two three");
});

test("what has arrived is read to its end, whenever that comes", async () => {
  const { controller, handler, send } = scripted();
  const answer = send();
  handler().onRequestStart(controller, {});
  handler().onResponseStart(controller, 200, {});
  handler().onResponseData(controller, chunk(1));
  const reader = (await answer).body[Symbol.asyncIterator]();
  await reader.next();
  const second = reader.next();
  handler().onResponseData(controller, chunk(2));
  expect((await second).value?.byteLength).toBe(2);
  const last = reader.next();
  handler().onResponseEnd(controller, {});
  expect(await last).toEqual({ done: true, value: undefined });
  expect(await reader.next()).toEqual({ done: true, value: undefined });
});

test("an answer that came whole before an abort is still read", async () => {
  const { controller, handler, send } = scripted();
  const abort = new AbortController();
  const answer = send(abort.signal);
  handler().onRequestStart(controller, {});
  handler().onResponseStart(controller, 200, {});
  handler().onResponseData(controller, chunk(1));
  handler().onResponseEnd(controller, {});
  abort.abort(new Error("too late"));
  expect((await (await answer).body[Symbol.asyncIterator]().next()).value?.byteLength).toBe(1);
  expect(controller.abort).not.toHaveBeenCalled();
});

test("a request that is given up before there is a connection for it gives that up, too", async () => {
  const { controller, handler, send } = scripted();
  const abort = new AbortController();
  const answer = send(abort.signal);
  const reason = new Error("enough");
  abort.abort(reason);
  await expect(answer).rejects.toBe(reason);
  // Thrown, it costs no connection: see the request's own in undici.
  expect(() => handler().onRequestStart(controller, {})).toThrow(reason);
  expect(controller.abort).not.toHaveBeenCalled();
});

test("only a short rest is read to keep the connection", async () => {
  const { controller, handler, send } = scripted();
  const answer = send();
  handler().onRequestStart(controller, {});
  handler().onResponseStart(controller, 401, {});
  const { body } = await answer;
  const drained = body.drain();
  for (let sent = 0; sent < 3; sent++) {
    handler().onResponseData(controller, chunk(60_000));
    await Promise.resolve();
    await new Promise(setImmediate);
  }
  await drained;
  expect(controller.abort).toHaveBeenCalledOnce();
});

test("a rest that breaks off while it is left is no error, unless its reader has gone", async () => {
  const { controller, handler, send } = scripted();
  const answer = send();
  handler().onRequestStart(controller, {});
  handler().onResponseStart(controller, 401, {});
  const drained = (await answer).body.drain();
  handler().onResponseError(controller, new Error("other side closed"));

  await expect(drained).resolves.toBeUndefined();
});
