import { metricsContentType } from "@virtual-kubelet/metrics";
import type { AnswerHeaders } from "./refusal.ts";

/** Response of a handler. */
export type Answer = ContentAnswer | TakenAnswer;

/** Response with a status and a body. */
export interface ContentAnswer {
  readonly status: number;
  readonly headers?: AnswerHeaders | undefined;
  /**
   * Text, or chunks that are written no faster than the client reads; the head is sent immediately. An error of the iteration breaks the
   * connection.
   */
  readonly body: string | Iterable<string> | AsyncIterable<Uint8Array>;
  /** Allow gzip if the client accepts it. Must be false for bodies that are streamed live. Default: false. */
  readonly isCompressible?: boolean | undefined;
  /** Resource that the body uses; disposed once the answer is sent or cannot be. */
  readonly held?: Disposable | undefined;
  /** Aborts when the answer must end to free its slot; a client that does not read is not waited for then. Default: never. */
  readonly evicted?: AbortSignal | undefined;
}

/** The handler has taken over the connection, and has finished with it. */
export interface TakenAnswer {
  readonly taken: true;
}

export const taken: TakenAnswer = { taken: true };

/** Plain text. Default status: 200. */
export function text(body: string, status = 200, headers: AnswerHeaders = {}): ContentAnswer {
  return { status, headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff", ...headers }, body };
}

/** JSON with status 200. */
export function json(value: unknown): ContentAnswer {
  return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

/** Metrics in Prometheus's text format with status 200. */
export function metricsText(body: string): ContentAnswer {
  return { ...text(body, 200, { "content-type": metricsContentType }), isCompressible: true };
}
