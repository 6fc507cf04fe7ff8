import { LinkedSignal, untilAborted } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import { once } from "node:events";
import { STATUS_CODES, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Answer, ContentAnswer } from "./answer.ts";
import { encodedFor } from "./compression.ts";
import type { AnswerHeaders } from "./refusal.ts";

/** Time for the client to read a refusal and close the connection. */
const lingerMs = 10_000;

/**
 * Sends an answer, no faster than the client reads.
 *
 * @throws the error of the body's iteration, or `signal.reason`; the connection is then closed
 */
export async function sendAnswer(response: ServerResponse, given: Answer, signal: AbortSignal): Promise<void> {
  if ("taken" in given) return;
  const answer = encodedFor(given, response.req?.headers["accept-encoding"]?.toString());
  if (response.destroyed) return;
  response.writeHead(answer.status, headersOf(answer.headers));
  if (typeof answer.body === "string") {
    response.end(answer.body);
    return;
  }
  response.flushHeaders();
  using over = new LinkedSignal(signal, ...(answer.evicted ? [answer.evicted] : []));
  try {
    for await (const chunk of answer.body) {
      signal.throwIfAborted();
      if (!response.write(chunk)) await once(response, "drain", { signal: over.signal });
    }
    // An evicted answer still gets its end, without waiting for the client.
    await untilAborted(writtenToSocket(response), over.signal).catch(() => {});
    response.end();
  } catch (error) {
    response.destroy();
    throw over.signal.aborted ? over.signal.reason : error;
  }
}

/**
 * Resolves when the socket has taken all that was written before, so that the end of the answer gets a TLS record of its own. kube-apiserver
 * loses bytes that it reads together with the end, if its client reads the log by WebSocket. A kubelet answers with HTTP/2, which separates them.
 * Source: kubernetes v1.36.3 staging/src/k8s.io/streaming/pkg/httpstream/wsstream/stream.go, messageCopy.
 */
function writtenToSocket(response: ServerResponse): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  // Adds nothing to the answer: an empty write makes no chunk.
  response.write("", resolve);
  return promise;
}

/** Answers on the raw connection and closes it: for refused upgrades and malformed requests. */
export function refuseOnSocket(socket: Duplex, answer: ContentAnswer, clock: Clock): void {
  if (socket.destroyed) return;
  const body = Buffer.from(typeof answer.body === "string" ? answer.body : "");
  const headers = { ...headersOf(answer.headers), "content-length": String(body.length), connection: "close" };
  const lines = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((each) => `${name}: ${each}`));
  const head = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ""}\r\n${lines.join("\r\n")}\r\n\r\n`;
  const timer = clock.setTimer(lingerMs, () => socket.destroy());
  socket.once("close", () => timer[Symbol.dispose]());
  socket.end(Buffer.concat([Buffer.from(head, "latin1"), body]));
  // Reads pending input, because closing with unread input sends a reset that can destroy the response.
  socket.resume();
}

function headersOf(headers: AnswerHeaders = {}): Record<string, string | string[]> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, typeof value === "string" ? value : [...value]]));
}
