/**
 * The connections that a request may use. `long` ones (watches, followed logs) never starve `short` ones, and the
 * heartbeats of nodes (`lease`) have their own. `quiet` ones are watches of single objects: there may be very many with little traffic
 * each, so they share few connections.
 */
export type TransportPool = "short" | "long" | "quiet" | "lease";

/** One HTTP request to the API server. */
export interface TransportRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query, starting with `/`. */
  readonly path: string;
  /** Header names in lower case. The transport adds the credentials. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly pool: TransportPool;
  readonly signal: AbortSignal;
}

/** The answer after status and headers have arrived; the body may still be in transit. */
export interface TransportResponse {
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The body's chunks, with back-pressure. Must be read to the end, or left early (`break`, `return()`),
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
   * @throws `signal.reason` when aborted; UnavailableError when the server cannot be reached, in particular a CredentialsError when
   * the credentials cannot be read. A status of 400 and
   * above is an answer, not an error.
   */
  request(request: TransportRequest): Promise<TransportResponse>;
}
