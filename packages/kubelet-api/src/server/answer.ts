import { metricsContentType } from "@virtual-kubelet/metrics";
import type { AnswerHeaders } from "./refusal.ts";

/** What a handler says to a request. */
export type Answer = ContentAnswer | TakenAnswer;

/** A status, and a body. */
export interface ContentAnswer {
  readonly status: number;
  readonly headers?: AnswerHeaders | undefined;
  /**
   * Text, or what is written bit by bit, no faster than the client takes it; the head is sent at once. An error of the
   * iteration breaks the connection.
   */
  readonly body: string | Iterable<string> | AsyncIterable<Uint8Array>;
  /** Whether a client that takes gzip may get it so. Not for what is sent bit by bit while it comes about. Default: false. */
  readonly isCompressible?: boolean | undefined;
  /** What the body stands on; let go of when the answer is sent, or cannot be. */
  readonly held?: Disposable | undefined;
  /** Aborts when the answer must end for others' sake; a client that does not read is not waited for then. Default: never. */
  readonly evicted?: AbortSignal | undefined;
}

/** The handler has taken the connection over, and is done with it. */
export interface TakenAnswer {
  readonly taken: true;
}

/** {@link TakenAnswer}. */
export const taken: TakenAnswer = { taken: true };

/** Plain text, 200 unless said otherwise. */
export function text(body: string, status = 200, headers: AnswerHeaders = {}): ContentAnswer {
  return { status, headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff", ...headers }, body };
}

/** JSON, 200. */
export function json(value: unknown): ContentAnswer {
  return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

/** Figures in Prometheus's text format, 200. */
export function metricsText(body: string): ContentAnswer {
  return { ...text(body, 200, { "content-type": metricsContentType }), isCompressible: true };
}
