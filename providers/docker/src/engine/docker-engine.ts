import type { Clock, Logger } from "@virtual-kubelet/core";
import type Docker from "dockerode";
import type { Duplex, Readable } from "node:stream";

/** Where an engine answers. */
export type EngineEndpoint =
  | { readonly kind: "unix"; readonly socketPath: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly tls?: EngineTls | undefined };

/** Certificates of a TLS connection, in PEM. The key is a secret. */
export interface EngineTls {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Default `true`. */
  readonly verify?: boolean | undefined;
}

/** A request of the Engine API. */
export interface EngineRequest {
  readonly method: "DELETE" | "GET" | "HEAD" | "POST" | "PUT";
  /** Without the version: `/containers/ID/logs`. Ids in it are the caller's to encode. */
  readonly path: string;
  /** What is `undefined` is left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** What it is for, in messages: `create container web`. Default: method and path. */
  readonly what?: string | undefined;
  /** How long the answer may take, in milliseconds; default 120000. Streams and upgrades have no deadline. */
  readonly timeoutMs?: number | undefined;
}

/**
 * A connection to a Docker engine. Every request goes to the API version that was agreed on, and takes a signal.
 *
 * All calls, those of {@link client} too, reject with `signal.reason` when aborted and else with an error of errdefs
 * that says what the engine said: NotFoundError (404), ConflictError (409), InvalidInputError (400), UnauthorizedError,
 * ForbiddenError, UnavailableError (nobody answers, 503). What the engine calls its own fault (500) has no code.
 * `engineStatusOf` gives the status where it matters.
 */
export interface DockerEngine {
  /** dockerode over this connection, for all that is asked and answered in JSON. Pass `abortSignal`. */
  readonly client: Docker;
  readonly endpoint: EngineEndpoint;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The API version in use, such as `1.41`; asks the engine the first time. @throws UnsupportedError under 1.41 */
  apiVersion(signal: AbortSignal): Promise<string>;
  /** Asks and reads the answer as JSON; `undefined` if it is empty. */
  json(request: EngineRequest, signal: AbortSignal): Promise<unknown>;
  /** Asks and gives the answer's body as it comes, without a deadline. Destroying it ends the request; `signal` does, too. */
  stream(request: EngineRequest, signal: AbortSignal): Promise<Readable>;
  /**
   * Asks for an upgrade and gives the raw connection: exec and attach. Ending it half-closes standard input. `signal`
   * destroys it.
   */
  upgrade(request: EngineRequest, signal: AbortSignal): Promise<Duplex>;
}
