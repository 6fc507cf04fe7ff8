import { hasNamedCause } from "./named-cause.ts";

/** The server's answer is not the expected one: not UTF-8, not JSON, too long, or not an object. A retry may succeed. */
export class DecodeError extends Error {
  override readonly name = "DecodeError";
}

/** Whether the error, or one of its causes, is a {@link DecodeError}. */
export function isDecodeError(error: unknown): boolean {
  return hasNamedCause(error, "DecodeError");
}
