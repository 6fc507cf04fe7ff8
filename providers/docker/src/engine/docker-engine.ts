import type { Clock, Logger } from "@virtual-kubelet/core";
import type { Duplex, Readable } from "node:stream";

/** Address of an engine. */
export type EngineEndpoint =
  | { readonly kind: "unix"; readonly socketPath: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly tls?: EngineTls | undefined };

/** Certificates of a TLS connection, in PEM. The key is a secret. */
export interface EngineTls {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Default: true. */
  readonly verify?: boolean | undefined;
}

/** A request of the Engine API. */
export interface EngineRequest {
  readonly method: "DELETE" | "GET" | "HEAD" | "POST" | "PUT";
  /** Without the version: `/containers/ID/logs`. The caller encodes ids. */
  readonly path: string;
  /** `undefined` values are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Purpose for error messages: `create container web`. Default: method and path. */
  readonly what?: string | undefined;
  /** Deadline of the answer, in milliseconds. Default: 120,000. Streams and upgrades have no deadline. */
  readonly timeoutMs?: number | undefined;
}

/**
 * A connection to a Docker engine. Every request uses the agreed API version, and takes a signal.
 *
 * All calls reject with `signal.reason` when aborted, else with an error of errdefs that contains the
 * engine's message: NotFoundError (404), ConflictError (409), InvalidInputError (400), UnauthorizedError, ForbiddenError, UnavailableError
 * (no answer, 503). A 500 has no code. `engineStatusOf` returns the status.
 */
export interface DockerEngine {
  readonly endpoint: EngineEndpoint;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The API version in use, such as `1.41`. The first call requests it. @throws UnsupportedError below 1.41 */
  apiVersion(signal: AbortSignal): Promise<string>;
  /** Sends a request. @returns the JSON of the answer; `undefined` if it is empty */
  json(request: EngineRequest, signal: AbortSignal): Promise<unknown>;
  /** Sends a request. @returns the body as a stream, without a deadline; destroying it, or the signal, ends the request */
  stream(request: EngineRequest, signal: AbortSignal): Promise<Readable>;
  /**
   * Sends a request with an upgrade, for exec and attach. @returns the raw connection; ending it half-closes standard input, and the signal
   * destroys it
   */
  upgrade(request: EngineRequest, signal: AbortSignal): Promise<Duplex>;
}
