import type { IncomingHttpHeaders } from "node:http";
import type { Duplex } from "node:stream";

/** A connection whose client asks for another protocol; the shape of streaming's `IncomingUpgrade`. */
export interface UpgradeHandover {
  readonly request: {
    readonly method?: string | undefined;
    readonly url?: string | undefined;
    readonly headers: IncomingHttpHeaders;
    readonly rawHeaders?: readonly string[] | undefined;
  };
  readonly socket: Duplex;
  /** What was read behind the request's head. */
  readonly head: Buffer;
}

/** A request as every way into the server hands it over. */
export interface ApiRequest {
  /** In upper case. */
  readonly method: string;
  /** Path and query, starting with `/`. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Empty if there is none. */
  readonly body: Uint8Array;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal?: AbortSignal | undefined;
  /** The connection, where the client asks to go on in another protocol. */
  readonly upgrade?: UpgradeHandover | undefined;
  /** Whether there was a client certificate of an authority that is not trusted. */
  readonly hasForeignCertificate?: boolean | undefined;
  /** The subject of the client certificate that was verified, if there was one. */
  readonly certificate?:
    | {
        readonly commonName: string;
        readonly organizations: readonly string[];
        /** SHA-256 of the certificate, in lower-case hexadecimal digits. */
        readonly fingerprint?: string;
      }
    | undefined;
}

/** An answer. A body of chunks is a watch, or comes from a kubelet: leaving it, or returning its iterator, ends it. */
export interface ApiResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
}

/** Says that the request's {@link ApiRequest.upgrade} was taken: the connection has another owner, and gets no answer. */
export const takenOver: ApiResponse = { status: 101, headers: {}, body: new Uint8Array(0) };

/** An answer, or the promise of one where it takes time. */
export type Answer = ApiResponse | Promise<ApiResponse>;

/** Answers a request; a promise where that takes time, rejected where the connection is to break. */
export type RequestHandler = (request: ApiRequest) => Answer;

/** Ends the watch that an answer may be which nobody reads. */
export function abandon({ body }: ApiResponse): void {
  if (!(body instanceof Uint8Array)) void body[Symbol.asyncIterator]().return?.();
}

/** Who sends a request. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Request bodies may be as large as this; source: k8s.io/apiserver v0.36.3 pkg/server/config.go, `MaxRequestBodyBytes`. */
export const bodyLimitBytes: number = 3 * 1024 * 1024;
