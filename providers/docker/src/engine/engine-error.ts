import {
  ConflictError,
  ForbiddenError,
  InvalidInputError,
  NotFoundError,
  QuotaExceededError,
  UnauthorizedError,
  UnavailableError,
} from "@virtual-kubelet/errdefs";
import type { EngineEndpoint } from "./docker-engine.ts";

/** An engine's answer with an error status. It is the `cause` of errors of errdefs. */
class EngineAnswer extends Error {
  /** The HTTP status. */
  readonly status: number;

  /** @param message - the engine's message */
  constructor(status: number, message: string) {
    super(message);
    this.name = "EngineAnswer";
    this.status = status;
  }
}

/** Status of an engine's answer; `undefined` for other errors. */
export function engineStatusOf(error: unknown): number | undefined {
  for (let current = error; current instanceof Error; current = current.cause) if (current instanceof EngineAnswer) return current.status;
  return undefined;
}

/** The engine's message alone; `undefined` for errors other than an engine's answer. */
export function engineMessageOf(error: unknown): string | undefined {
  for (let current = error; current instanceof Error; current = current.cause) if (current instanceof EngineAnswer) return current.message;
  return undefined;
}

/** Converts an engine's answer to an error with a code. A 500 has none, because a start fails with it both for good and for the moment. */
export function toEngineError(what: string, status: number, said: string): Error {
  const cause = new EngineAnswer(status, said.trim() || `HTTP status ${status}`);
  const message = `${what}: ${cause.message}`;
  switch (status) {
    case 400:
      return new InvalidInputError(message, { cause });
    case 401:
      return new UnauthorizedError(message, { cause });
    case 403:
      return new ForbiddenError(message, { cause });
    case 404:
      return new NotFoundError(message, { cause });
    case 409:
      return new ConflictError(message, { cause });
    case 429:
      return new QuotaExceededError(message, { cause });
    case 502:
    case 503:
    case 504:
      return new UnavailableError(message, { cause });
    default:
      return podmanConflict.test(cause.message) ? new ConflictError(message, { cause }) : new Error(message, { cause });
  }
}

/**
 * Messages of podman 4 with status 500 for conflicts that Docker reports as 409: a name in use, and a container in the wrong state. Source:
 * ErrCtrStateInvalid and ErrDuplicateName of containers/storage and podman v4.3 libpod/define/errors.go.
 */
const podmanConflict = /that name is already in use$|container state improper$/;

/** Converts a failed or broken connection. */
export function toConnectionError(what: string, endpoint: EngineEndpoint, error: unknown): UnavailableError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const said = error instanceof Error ? error.message : String(error);
  const remedy = remedies.get(code);
  return new UnavailableError(`${what}: the Docker engine at ${formatEndpoint(endpoint)} does not answer: ${said}${remedy ?? ""}`, {
    cause: error,
  });
}

/** An endpoint as text. */
export function formatEndpoint(endpoint: EngineEndpoint): string {
  return endpoint.kind === "unix" ? `unix://${endpoint.socketPath}` : `tcp://${endpoint.host}:${endpoint.port}`;
}

const remedies: ReadonlyMap<string, string> = new Map([
  ["EACCES", "; run as root, or as a member of the group that owns the socket"],
  ["ECONNREFUSED", "; is it running?"],
  ["ENOENT", "; is it running, and is `host` right?"],
]);
