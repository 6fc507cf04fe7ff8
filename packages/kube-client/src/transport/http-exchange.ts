import { addAbortCallback, removeAbortCallback } from "@virtual-kubelet/async";
import type { Dispatcher } from "undici";

/** Maximum number of buffered bytes of an answer; beyond it the connection is not read. */
const maxWaitingBytes = 64 * 1024;

/** Maximum number of bytes that are read only to keep the connection. */
const maxDrainedBytes = 128 * 1024;

/** The head of an answer, and its body as it arrives. */
export interface HttpAnswer {
  readonly statusCode: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: HttpBody;
}

/** The chunks of a body. To be read once, to its end, or left early. */
interface HttpBody extends AsyncIterable<Uint8Array> {
  /** Reads the rest so that the connection can be reused; a long rest is abandoned, together with its connection. */
  drain(): Promise<void>;
}

/**
 * Sends a request over a pool's connections. `Pool.request` would create a stream for every answer, which costs more than a short answer
 * itself; it also respects a signal only once there is a connection.
 *
 * @throws `signal.reason` as soon as the signal aborts, and undici's error when there is no answer; reading the body throws the same
 */
export function sendRequest(pool: Dispatcher, options: Dispatcher.DispatchOptions, signal: AbortSignal): Promise<HttpAnswer> {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  const exchange = new HttpExchange(signal);
  pool.dispatch(options, exchange);
  return exchange.answer;
}

/** A reader that waits for the next chunk, or for the end. */
interface Reader {
  readonly resolve: (result: IteratorResult<Uint8Array, void>) => void;
  readonly reject: (error: unknown) => void;
}

const end: IteratorResult<Uint8Array, void> = { done: true, value: undefined };

class HttpExchange implements Dispatcher.DispatchHandler, HttpBody, AsyncIterator<Uint8Array, void> {
  readonly #answer = Promise.withResolvers<HttpAnswer>();
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => this.#breakOff(this.#signal.reason);
  #controller: Dispatcher.DispatchController | undefined;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #reader: Reader | undefined;
  #state: "open" | "ended" | "failed" = "open";
  #error: unknown;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    addAbortCallback(signal, this.#onAbort);
  }

  get answer(): Promise<HttpAnswer> {
    return this.#answer.promise;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The request was aborted before there was a connection for it.
    // Throwing ends only the request; an abort would close the connection that other requests wait for.
    if (this.#state === "failed") throw this.#error;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number, headers: HttpAnswer["headers"]): void {
    if (statusCode >= 200) this.#answer.resolve({ statusCode, headers, body: this });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.#state !== "open") return;
    const reader = this.#reader;
    if (reader) {
      this.#reader = undefined;
      return reader.resolve({ done: false, value: chunk });
    }
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.byteLength;
    if (this.#waitingBytes > maxWaitingBytes) controller.pause();
  }

  onResponseEnd(): void {
    if (this.#state !== "open") return;
    this.#settle("ended");
    this.#reader?.resolve(end);
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#state === "open") this.#fail(error);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array, void> {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, void>> {
    if (this.#state === "failed") throw this.#error;
    const value = this.#takeWaiting();
    if (value) {
      if (this.#controller?.paused) this.#controller.resume();
      return { done: false, value };
    }
    if (this.#state === "ended") return end;
    return new Promise((resolve, reject) => (this.#reader = { resolve, reject }));
  }

  /** Abandons the rest of the body, together with its connection unless all of it has arrived. */
  async return(): Promise<IteratorResult<Uint8Array, void>> {
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (this.#state === "open") {
      this.#settle("ended");
      this.#controller?.abort(new Error("the rest of the answer was left"));
      this.#reader?.resolve(end);
    }
    return end;
  }

  async drain(): Promise<void> {
    let bytes = 0;
    try {
      for await (const chunk of this) {
        bytes += chunk.byteLength;
        if (bytes > maxDrainedBytes) return;
      }
    } catch {
      // Unread chunks are dropped, because the connection is gone.
      this.#signal.throwIfAborted();
    }
  }

  /** Returns all buffered bytes at once: a server sends each event of a watch as a chunk, and waiting for each costs more than the copy. */
  #takeWaiting(): Uint8Array | undefined {
    const [first] = this.#waiting;
    const value = this.#waiting.length > 1 ? Buffer.concat(this.#waiting, this.#waitingBytes) : first;
    this.#waiting = [];
    this.#waitingBytes = 0;
    return value;
  }

  #breakOff(reason: unknown): void {
    this.#fail(reason);
    this.#controller?.abort(reason as Error);
  }

  #fail(error: unknown): void {
    this.#settle("failed");
    this.#error = error;
    this.#waiting = [];
    this.#answer.reject(error);
    // Without a reader the next read throws.
    this.#reader?.reject(error);
  }

  #settle(state: "ended" | "failed"): void {
    this.#state = state;
    removeAbortCallback(this.#signal, this.#onAbort);
  }
}
