import {
  ConflictError,
  InvalidInputError,
  NotFoundError,
  QuotaExceededError,
  UnauthorizedError,
  UnavailableError,
  type VirtualKubeletError,
} from "@virtual-kubelet/errdefs";

/** The longest part of an answer that goes into a message. */
const maxTextLength = 400;

/** How soon after a refused connection another is worth a try. */
const tooManyConnectionsMs = 1000;

/**
 * The error that an answer of Nomad stands for. Nomad says 500 to what is wrong for good, to what has changed meanwhile
 * and to what passes, and only the text tells them apart; whatever is not known passes.
 *
 * @param what - what was attempted, on what
 */
export function nomadError(what: string, status: number, text: string): VirtualKubeletError {
  const message = `${what}: Nomad answered ${status}: ${oneLine(text)}`;
  switch (status) {
    case 401:
    case 403:
      return new UnauthorizedError(`${message}; check the ACL token and its policy`);
    case 404:
      return new NotFoundError(message);
    case 409:
      return new ConflictError(message);
    case 429:
      return new UnavailableError(`${message}; too many connections from here`, { retryAfterMs: tooManyConnectionsMs });
    case 500:
      return serverError(message, text);
    default:
      return status < 500 ? new InvalidInputError(message) : new UnavailableError(message);
  }
}

function serverError(message: string, text: string): VirtualKubeletError {
  if (text.includes("Enforcing job modify index")) return new ConflictError(message);
  if (/Permission denied|ACL token (not found|expired)/i.test(text)) return new UnauthorizedError(`${message}; check the ACL token`);
  if (/\bquota\b/i.test(text)) return new QuotaExceededError(message);
  if (/validation failed|errors? occurred|index error|No path to region|nonexistent namespace/i.test(text))
    return new InvalidInputError(message);
  return new UnavailableError(message);
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim() || "nothing";
  return line.length > maxTextLength ? `${line.slice(0, maxTextLength - 1)}…` : line;
}
