import { VirtualClock } from "@virtual-kubelet/clock";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { ClientErrors } from "./client-errors.ts";
import { OpenRequests } from "./open-requests.ts";

const failure = (code: string): Error & { code: string } => Object.assign(new Error(code), { code });
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

async function answerTo(code: string): Promise<string> {
  const socket = new PassThrough();
  let written = "";
  socket.end = ((chunk: Buffer) => void (written += chunk.toString())) as unknown as typeof socket.end;
  new ClientErrors(new VirtualClock(), new OpenRequests()).handle(failure(code), socket);
  await settled();
  return written;
}

test.each([
  ["HPE_HEADER_OVERFLOW", "HTTP/1.1 431 Request Header Fields Too Large\r\n"],
  ["HPE_CHUNK_EXTENSIONS_OVERFLOW", "HTTP/1.1 413 Payload Too Large\r\n"],
  ["ERR_HTTP_REQUEST_TIMEOUT", "HTTP/1.1 408 Request Timeout\r\n"],
  ["HPE_INVALID_METHOD", "HTTP/1.1 400 Bad Request\r\n"],
])("%s is answered, and the connection ends", async (code, head) => {
  const answer = await answerTo(code);

  expect(answer.startsWith(head)).toBe(true);
  expect(answer).toContain("connection: close\r\n");
});

test.each(["ECONNRESET", "EPIPE", "ERR_TLS_HANDSHAKE_TIMEOUT"])("after %s no answer can be sent: the connection ends at once", (code) => {
  const socket = new PassThrough();

  new ClientErrors(new VirtualClock(), new OpenRequests()).handle(failure(code), socket);

  expect([socket.destroyed, socket.read()]).toEqual([true, null]);
});

test("a connection that cannot be written to ends at once", () => {
  const socket = new PassThrough({ autoDestroy: false });
  socket.end();

  new ClientErrors(new VirtualClock(), new OpenRequests()).handle(failure("HPE_INVALID_METHOD"), socket);

  expect(socket.destroyed).toBe(true);
});

test("only one answer is sent, whatever else the connection receives", () => {
  const errors = new ClientErrors(new VirtualClock(), new OpenRequests());
  const socket = new PassThrough();

  errors.handle(failure("HPE_INVALID_METHOD"), socket);
  const answer = String(socket.read());
  errors.handle(failure("HPE_INVALID_METHOD"), socket);

  expect(answer).toBe(
    "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\nx-content-type-options: nosniff\r\n" +
      "content-length: 16\r\nconnection: close\r\n\r\n400: Bad Request",
  );
  expect([socket.destroyed, socket.read()]).toEqual([false, null]);
});

test("nothing is written while another answer is being sent", () => {
  const requests = new OpenRequests();
  const socket = new PassThrough();
  requests.add(socket, () => {});

  new ClientErrors(new VirtualClock(), requests).handle(failure("HPE_INVALID_METHOD"), socket);

  expect([socket.destroyed, socket.read()]).toEqual([true, null]);
});

test("a client that does not close after the answer is disconnected", async () => {
  const clock = new VirtualClock();
  const socket = new PassThrough({ allowHalfOpen: true, autoDestroy: false });
  new ClientErrors(clock, new OpenRequests()).handle(failure("HPE_INVALID_METHOD"), socket);

  await clock.advance(9_999);
  expect(socket.destroyed).toBe(false);
  await clock.advance(1);

  expect(socket.destroyed).toBe(true);
});

test("if the client closes after the answer, no timer is left", async () => {
  const clock = new VirtualClock();
  const socket = new PassThrough();
  new ClientErrors(clock, new OpenRequests()).handle(failure("HPE_INVALID_METHOD"), socket);
  expect(clock.pending).toBe(1);

  socket.destroy();
  await settled();

  expect(clock.pending).toBe(0);
});
