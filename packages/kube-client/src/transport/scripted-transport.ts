import type { Transport, TransportRequest, TransportResponse } from "./transport.ts";

/** An answer a {@link ScriptedTransport} gives. */
export interface ScriptedAnswer {
  /** Default 200. */
  readonly status?: number;
  /** Default: JSON's content type. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A string or bytes are sent as they are, an {@link OpenBody} as it is written, all else as JSON. */
  readonly body?: unknown;
}

/** A transport without a server: a function answers each request, or throws as a broken connection does. */
export class ScriptedTransport implements Transport {
  /** What was asked so far, in order. */
  readonly requests: TransportRequest[] = [];
  readonly #answer: (request: TransportRequest, index: number) => ScriptedAnswer | Promise<ScriptedAnswer>;

  /** @param answer - called with each request and its number, from 0 */
  constructor(answer: (request: TransportRequest, index: number) => ScriptedAnswer | Promise<ScriptedAnswer>) {
    this.#answer = answer;
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    request.signal.throwIfAborted();
    this.requests.push(request);
    const { status = 200, headers = {}, body } = await this.#answer(request, this.requests.length - 1);
    const opened = body instanceof OpenBody ? body.open(request.signal) : once(body);
    return { status, headers: { "content-type": "application/json", ...headers }, body: opened };
  }

  /** Does nothing: there is no connection to close. */
  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

/** A body that is written while it is read, such as a watch's. */
export class OpenBody {
  /** Whether the reader has left it, or read it to its end. */
  left = false;
  readonly #pending: (Uint8Array | { readonly error: unknown } | "end")[] = [];
  #wake: (() => void) | undefined;

  /** Sends each value as a line of JSON. */
  lines(...values: readonly unknown[]): this {
    return this.text(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
  }

  /** Sends text as it is. */
  text(text: string): this {
    return this.bytes(Buffer.from(text));
  }

  /** Sends bytes as they are. */
  bytes(bytes: Uint8Array): this {
    return this.#push(bytes);
  }

  /** Ends it as a server does that has no more to say. */
  end(): this {
    return this.#push("end");
  }

  /** Ends it as a broken connection does. */
  fail(error: unknown): this {
    return this.#push({ error });
  }

  /** The reader's side; the signal breaks it off. */
  async *open(signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    const onAbort = (): void => void this.fail(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      for (;;) {
        signal.throwIfAborted();
        const next = this.#pending.shift();
        if (next === "end") return;
        if (next === undefined) await new Promise<void>((resolve) => (this.#wake = resolve));
        else if (next instanceof Uint8Array) yield next;
        else throw next.error;
      }
    } finally {
      this.left = true;
      signal.removeEventListener("abort", onAbort);
    }
  }

  #push(item: Uint8Array | { readonly error: unknown } | "end"): this {
    this.#pending.push(item);
    this.#wake?.();
    return this;
  }
}

async function* once(body: unknown): AsyncGenerator<Uint8Array, void> {
  if (body === undefined) return;
  yield body instanceof Uint8Array ? body : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}
