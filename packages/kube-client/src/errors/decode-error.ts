import { hasNamedCause } from "./named-cause.ts";

/** The server's bytes are not what was asked for: not UTF-8, not JSON, too long, or no object. Worth another try. */
export class DecodeError extends Error {
  override readonly name = "DecodeError";
}

/** Whether the error, or one of its causes, is a {@link DecodeError}. */
export function isDecodeError(error: unknown): boolean {
  return hasNamedCause(error, "DecodeError");
}
