import { UnavailableError } from "@virtual-kubelet/errdefs";
import { hasNamedCause } from "./named-cause.ts";

/** A request that was not sent, or not sent again, because the program's own credentials could not be read. Its cause says why. */
export class CredentialsError extends UnavailableError {
  override readonly name = "CredentialsError";
}

/** Whether the error, or one of its causes, says that the program could not read its own credentials: no API server has refused them. */
export function isCredentialsError(error: unknown): boolean {
  return hasNamedCause(error, "CredentialsError");
}
