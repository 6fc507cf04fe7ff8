/**
 * Which connections a request may use. `long` ones (watches, followed logs) may never starve `short` ones, and the
 * lease's waits for nothing. `quiet` ones are watches of single objects: there may be very many, and little comes over
 * each, so they share few connections.
 */
export type TransportPool = "short" | "long" | "quiet" | "lease";

/** One HTTP request to the API server. */
export interface TransportRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query, starting with `/`. */
  readonly path: string;
  /** Header names in lower case. Credentials are the transport's business. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly pool: TransportPool;
  readonly signal: AbortSignal;
}

/** The answer; status and headers have arrived, the body may still be on its way. */
export interface TransportResponse {
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The body's chunks. Reading slowly slows the sender. Must be read to its end, or left early (`break`, `return()`),
   * which frees the connection.
   */
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * Carries requests to an API server. There are two implementations: over HTTP, and in process to an embedded API
 * server.
 */
export interface Transport extends AsyncDisposable {
  /**
   * @throws `signal.reason` when aborted; UnavailableError when the server cannot be reached, CredentialsError among them when
   * there are no credentials to show. A status of 400 and
   * above is an answer, not an error.
   */
  request(request: TransportRequest): Promise<TransportResponse>;
}
