import { FakeClock } from "@virtual-kubelet/kube-client/testing";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { ClientErrors } from "./client-errors.ts";

const failure = (code: string): Error & { code: string } => Object.assign(new Error(code), { code });
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

async function answerTo(code: string): Promise<string> {
  const socket = new PassThrough();
  let written = "";
  socket.end = ((chunk: Buffer) => void (written += chunk.toString())) as unknown as typeof socket.end;
  new ClientErrors(new FakeClock()).handle(failure(code), socket);
  await settled();
  return written;
}

test.each([
  ["HPE_HEADER_OVERFLOW", "HTTP/1.1 431 Request Header Fields Too Large\r\n"],
  ["ERR_HTTP_REQUEST_TIMEOUT", "HTTP/1.1 408 Request Timeout\r\n"],
  ["HPE_INVALID_METHOD", "HTTP/1.1 400 Bad Request\r\n"],
])("%s is answered, and the connection ends", async (code, head) => {
  const answer = await answerTo(code);

  expect(answer.startsWith(head)).toBe(true);
  expect(answer).toContain("connection: close\r\n");
});

test("a broken connection is given no answer", async () => {
  expect(await answerTo("ECONNRESET")).toBe("");
});

test("nothing is written into an answer that is under way", () => {
  const errors = new ClientErrors(new FakeClock());
  const socket = new PassThrough();
  const busy = errors.busy(socket);

  errors.handle(failure("HPE_INVALID_METHOD"), socket);

  expect([socket.destroyed, socket.read()]).toEqual([true, null]);
  busy[Symbol.dispose]();
});

test("who does not close after the answer is closed", async () => {
  const clock = new FakeClock();
  const socket = new PassThrough({ allowHalfOpen: true, autoDestroy: false });
  new ClientErrors(clock).handle(failure("HPE_INVALID_METHOD"), socket);

  await clock.advance(10_000);

  expect(socket.destroyed).toBe(true);
});
