import {
  codeOf,
  ConflictError,
  DeadlineExceededError,
  ForbiddenError,
  InvalidInputError,
  messageOf,
  QuotaExceededError,
  UnauthorizedError,
  UnavailableError,
} from "@virtual-kubelet/errdefs";
import { retryAfterMsOf } from "@virtual-kubelet/kube-client";
import type { Content } from "./content.ts";
import type { FarObject } from "./far-object.ts";

/** Waiting reason of a pod's containers whose config maps or secrets cannot be provided. */
const waitingReason = "CreateContainerConfigError";

/** Values shorter than this are left in messages: they are found in every text. */
const minSecretLength = 4;

/** Parts of a text that may be parts of a value, in base 64 or in any token. Shorter ones are words. */
const longRuns = /[A-Za-z0-9+/_-]{12,}/g;

/**
 * Returns the error of a far object that cannot be written. It has no cause, because admission webhooks and proxies may answer with the
 * object that they did not like. A pod whose object is refused waits as `CreateContainerConfigError`, as with a kubelet.
 */
export function carryError(object: FarObject, error: unknown, content: Content | undefined): Error {
  const problem = withoutValues(messageOf(error), object.kind === "Secret" ? content : undefined);
  const message = `${object.title} cannot be copied to ${object.namespace}/${object.name} of the far cluster: ${problem}`;
  switch (codeOf(error)) {
    case "VK_FORBIDDEN":
      return waiting(/exceeded quota/.test(problem) ? new QuotaExceededError(message) : new ForbiddenError(message));
    case "VK_CONFLICT":
      return waiting(new ConflictError(message));
    case "VK_INVALID_INPUT":
    case "VK_NOT_FOUND":
      return waiting(new InvalidInputError(message));
    case "VK_UNAUTHORIZED":
      return new UnauthorizedError(message);
    case "VK_DEADLINE_EXCEEDED":
      return new DeadlineExceededError(message);
    default:
      return new UnavailableError(message, { retryAfterMs: retryAfterMsOf(error) });
  }
}

/** Makes the pod wait as `CreateContainerConfigError`. */
function waiting(error: Error): Error {
  return Object.assign(error, { waitingReason });
}

/** The text without the secret's values, in base 64 or as they are, and without longer parts of them: who quotes may cut, or quote a single line. */
function withoutValues(text: string, content: Content | undefined): string {
  const values = Object.values(content?.data ?? {}).flatMap((encoded) => {
    const plain = Buffer.from(encoded, "base64").toString("utf8");
    const quoted = JSON.stringify(plain).slice(1, -1);
    // As programs in Go quote it, in which webhooks are written.
    const escaped = quoted.replaceAll("&", "\\u0026").replaceAll("<", "\\u003c").replaceAll(">", "\\u003e");
    return [encoded, plain, quoted, escaped];
  });
  let result = text;
  for (const value of values) if (value.length >= minSecretLength) result = result.replaceAll(value, "…");
  return result.replace(longRuns, (run) => (values.some((value) => value.includes(run)) ? "…" : run));
}
