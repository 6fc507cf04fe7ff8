import type { IncomingHttpHeaders } from "node:http";
import type { Duplex } from "node:stream";

/** Connection of a client that requests a protocol upgrade; shaped like streaming's `IncomingUpgrade`. */
export interface UpgradeHandover {
  readonly request: {
    readonly method?: string | undefined;
    readonly url?: string | undefined;
    readonly headers: IncomingHttpHeaders;
    readonly rawHeaders?: readonly string[] | undefined;
  };
  readonly socket: Duplex;
  /** Bytes that were read after the request's head. */
  readonly head: Buffer;
}

/** A request, independent of its transport. */
export interface ApiRequest {
  /** Upper case. */
  readonly method: string;
  /** Path and query, starting with `/`. */
  readonly url: string;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Empty if there is no body. */
  readonly body: Uint8Array;
  /** Aborts when the client no longer waits for the response. */
  readonly signal?: AbortSignal | undefined;
  /** Connection of a client that requests a protocol upgrade. */
  readonly upgrade?: UpgradeHandover | undefined;
  /** Whether the client sent a certificate of an untrusted authority. */
  readonly hasForeignCertificate?: boolean | undefined;
  /** Subject of the verified client certificate. */
  readonly certificate?:
    | {
        readonly commonName: string;
        readonly organizations: readonly string[];
        /** SHA-256 of the certificate in lower-case hexadecimal. */
        readonly fingerprint?: string;
      }
    | undefined;
}

/** A response. A body of chunks comes from a watch or a kubelet; returning its iterator ends it. */
export interface ApiResponse {
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Values of `Set-Cookie`, which only a server behind this one sends; default: none. */
  readonly cookies?: readonly string[];
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
}

/** Response of a request whose {@link ApiRequest.upgrade} was taken over, so that nothing is written to the connection. */
export const takenOver: ApiResponse = { status: 101, headers: {}, body: new Uint8Array(0) };

/** A response, or its promise if it takes time. */
export type Answer = ApiResponse | Promise<ApiResponse>;

/** Handles a request. The promise is rejected if the connection should be broken. */
export type RequestHandler = (request: ApiRequest) => Answer;

/** Ends a response body that nobody will read. */
export function abandon({ body }: ApiResponse): void {
  if (!(body instanceof Uint8Array)) void body[Symbol.asyncIterator]().return?.();
}

/** Maximum size of a request body; source: k8s.io/apiserver v0.36.3 pkg/server/config.go, `MaxRequestBodyBytes`. */
export const bodyLimitBytes: number = 3 * 1024 * 1024;
