import { UnavailableError } from "@virtual-kubelet/errdefs";
import { hasNamedCause } from "./named-cause.ts";

/** A request was not sent, or not retried, because the program's own credentials could not be read. The cause has the reason. */
export class CredentialsError extends UnavailableError {
  override readonly name = "CredentialsError";
}

/** Whether the program could not read its own credentials, according to the error or one of its causes; no API server refused them. */
export function isCredentialsError(error: unknown): boolean {
  return hasNamedCause(error, "CredentialsError");
}
