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

/** An answer. A body of chunks is a watch: leaving it, or returning its iterator, ends it. */
export interface ApiResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
}

/** Answers a request; a promise where that takes time, rejected where the connection is to break. */
export type RequestHandler = (request: ApiRequest) => ApiResponse | Promise<ApiResponse>;

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
