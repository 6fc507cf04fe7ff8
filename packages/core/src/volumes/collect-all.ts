import {
  codeOf,
  ForbiddenError,
  InvalidInputError,
  isUnsupported,
  messageOf,
  UnauthorizedError,
  UnavailableError,
} from "@virtual-kubelet/errdefs";

/**
 * Does something with every item, and throws only then: one error with all that went wrong, in a kubelet's form.
 * Source: NewAggregate in k8s.io/apimachinery v0.36.3 pkg/util/errors.
 */
export function collectAll<Item, Result>(items: readonly Item[], action: (item: Item) => Result): Result[] {
  const results: Result[] = [];
  const errors: unknown[] = [];
  for (const item of items) {
    try {
      results.push(action(item));
    } catch (error) {
      errors.push(error);
    }
  }
  throwAll(errors);
  return results;
}

/** Throws the error, if there is one, or one error for them all. What can never be done goes before what is missing. */
export function throwAll(errors: readonly unknown[]): void {
  if (errors.length === 0) return;
  const [first, ...others] = errors;
  const unsupported = errors.find(isUnsupported);
  if (unsupported !== undefined || others.length === 0) throw unsupported ?? first;
  const messages = [...new Set(errors.map(messageOf))];
  const cause = errors.find((error) => !isMissing(error)) ?? first;
  throw withCodeOf(cause, messages.length === 1 ? (messages[0] ?? "") : `[${messages.join(", ")}]`);
}

/** An error with that message and the cause's code, as far as it tells what to do; else UnavailableError. */
export function withCodeOf(cause: unknown, message: string): Error {
  switch (codeOf(cause)) {
    case "VK_INVALID_INPUT":
    case "VK_NOT_FOUND":
      return new InvalidInputError(message, { cause });
    case "VK_FORBIDDEN":
      return new ForbiddenError(message, { cause });
    case "VK_UNAUTHORIZED":
      return new UnauthorizedError(message, { cause });
    default:
      return new UnavailableError(message, { cause });
  }
}

function isMissing(error: unknown): boolean {
  const code = codeOf(error);
  return code === "VK_INVALID_INPUT" || code === "VK_NOT_FOUND";
}
