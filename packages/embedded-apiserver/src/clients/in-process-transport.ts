import { untilAborted } from "@virtual-kubelet/async";
import { abandon, type ApiResponse, type RequestHandler } from "../http/api-request.ts";
import type { ClientUser } from "./kubeconfig.ts";

/** A request, shaped like kube-client's `TransportRequest`. */
export interface InProcessRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query, starting with `/`. */
  readonly path: string;
  /** Header names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Ignored, because there are no connections. */
  readonly pool: "short" | "long" | "quiet" | "lease";
  readonly signal: AbortSignal;
}

/** A response, shaped like kube-client's `TransportResponse`. */
export interface InProcessResponse {
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Chunks of the body. A slow reader blocks nobody, but a watch is closed if it falls too far behind. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Sends requests to the server without sockets; shaped like kube-client's `Transport`. */
export interface InProcessTransport extends AsyncDisposable {
  /** @throws `signal.reason` when aborted, also while the body is read. */
  request(request: InProcessRequest): Promise<InProcessResponse>;
}

/**
 * Creates a transport that calls the server's request handler directly.
 *
 * @param sender - bearer token for requests without an `authorization` header, or a user to impersonate without credentials
 */
export function createInProcessTransport(handle: RequestHandler, sender: { readonly token: string } | ClientUser): InProcessTransport {
  const own = "token" in sender ? { authorization: `Bearer ${sender.token}` } : {};
  const certificate = "token" in sender ? undefined : { commonName: sender.user, organizations: sender.groups ?? [] };
  return {
    async request({ method, path, headers = {}, body = "", signal }) {
      signal.throwIfAborted();
      const bytes = typeof body === "string" ? Buffer.from(body) : body;
      const answer = handle({ method, url: path, headers: { ...own, ...headers }, body: bytes, certificate, signal });
      // As over a socket, the response never arrives synchronously, so callers cannot come to rely on that.
      await Promise.resolve();
      const response = answer instanceof Promise ? await unlessAborted(answer, signal) : answer;
      return { ...response, body: response.body instanceof Uint8Array ? once(response.body) : abortable(response.body, signal) };
    },
    async [Symbol.asyncDispose]() {},
  };
}

/** Waits for the answer until the signal aborts; an answer that comes later is abandoned. */
async function unlessAborted(answer: Promise<ApiResponse>, signal: AbortSignal): Promise<ApiResponse> {
  try {
    return await untilAborted(answer, signal);
  } catch (error) {
    answer.then(abandon, () => undefined);
    throw error;
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}

/** Ends the body with the signal's reason when the signal aborts. */
function abortable(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const chunks = body[Symbol.asyncIterator]();
      const leave = (): void => void chunks.return?.();
      signal.addEventListener("abort", leave, { once: true });
      if (signal.aborted) leave();
      const finish = (): void => signal.removeEventListener("abort", leave);
      return {
        async next() {
          const result = await chunks.next();
          signal.throwIfAborted();
          if (result.done === true) finish();
          return result;
        },
        async return() {
          finish();
          await chunks.return?.();
          return { done: true as const, value: undefined };
        },
      };
    },
  };
}
