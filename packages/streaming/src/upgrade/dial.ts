import type { Clock } from "@virtual-kubelet/clock";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Duplex } from "node:stream";
import type { UpgradeTarget } from "./target.ts";
import { UpgradeRefusedError } from "./upgrade-refused-error.ts";

/** Maximum bytes of a refusal that are read. */
const maxBodyBytes = 64 * 1024;

/** Response to an upgrade request. */
export type UpgradeAnswer =
  | { readonly kind: "upgraded"; readonly response: IncomingMessage; readonly socket: Duplex; readonly head: Buffer }
  /** The caller must read the body or destroy the response. */
  | { readonly kind: "refused"; readonly response: IncomingMessage };

export interface UpgradeCall {
  readonly method: string;
  /** All headers, including those of the upgrade and of the target. */
  readonly headers: OutgoingHttpHeaders;
  readonly wait: DialWait;
}

/** Limits the wait for a response to thirty seconds or until the signal aborts. */
export interface DialWait {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

/** Source: kubernetes, the transport of an API server to its kubelets. */
export const answerMs = 30_000;

/**
 * Sends an upgrade request, and resolves with the head of the response.
 *
 * @throws UnavailableError when there is no response; `signal.reason`
 */
export function sendUpgrade(target: UpgradeTarget, call: UpgradeCall): Promise<UpgradeAnswer> {
  const { clock, signal } = call.wait;
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const request = startRequest(target, call);
    const onAbort = (): void => void request.destroy(signal?.reason instanceof Error ? signal.reason : undefined);
    signal?.addEventListener("abort", onAbort, { once: true });
    const timer = clock.setTimer(answerMs, () => void request.destroy(new Error(`nothing came in ${answerMs} ms`)));
    const stopWaiting = (): void => {
      signal?.removeEventListener("abort", onAbort);
      timer[Symbol.dispose]();
    };
    const settle = (answer: UpgradeAnswer): void => {
      stopWaiting();
      resolve(answer);
    };
    request.on("error", (cause) => {
      stopWaiting();
      const { host, pathname } = new URL(target.url);
      reject(signal?.aborted ? signal.reason : new UnavailableError(`${call.method} ${pathname} at ${host}: no answer`, { cause }));
    });
    request.on("response", (response) => settle({ kind: "refused", response }));
    request.on("upgrade", (response, socket, head) => {
      socket.on("error", () => undefined);
      settle({ kind: "upgraded", response, socket, head });
    });
    request.end();
  });
}

function startRequest({ url, tls, agent, connect }: UpgradeTarget, { method, headers }: UpgradeCall): ClientRequest {
  const to = new URL(url);
  const start = to.protocol === "https:" ? httpsRequest : httpRequest;
  return start(to, {
    ...tls,
    method,
    headers,
    ...(connect === undefined ? { agent: agent ?? false } : { createConnection: connect }),
  });
}

/** Reads a refusal, and returns it as an error. */
export async function refusalOf(response: IncomingMessage, target: UpgradeTarget): Promise<UpgradeRefusedError> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      parts.push(part);
      length += part.length;
      if (length > maxBodyBytes) break;
    }
  } catch {
    // A truncated body is used as it is.
  }
  const { host, pathname } = new URL(target.url);
  const statusCode = response.statusCode ?? 0;
  const body = Buffer.concat(parts).toString("utf8", 0, maxBodyBytes).trim();
  const message = `upgrade ${pathname} at ${host}: unable to upgrade connection (status ${statusCode}): ${body}`;
  return new UpgradeRefusedError(message, { statusCode, body });
}
