import { codeOf, httpStatusOf, messageOf } from "@virtual-kubelet/errdefs";
import { Refusal } from "../server/refusal.ts";

/** `retry-after` when the back end has no capacity. Source: kubernetes, CRI "resource exhausted". */
const quotaRetrySeconds = 60;

/**
 * Maps an error to a response by its errdefs code. If the back end rejects the program's own credentials, the client cannot do anything
 * about it, so that is a 500.
 */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const code = codeOf(error);
  const message = messageOf(error);
  if (code === undefined || code === "VK_UNAUTHORIZED" || code === "VK_FORBIDDEN" || code === "VK_TERMINAL")
    return new Refusal(500, `Internal Error: ${message}`, { cause: error });
  const retrySeconds = code === "VK_QUOTA_EXCEEDED" ? quotaRetrySeconds : retryAfterSeconds(error);
  const headers = retrySeconds === undefined ? {} : { "retry-after": String(retrySeconds) };
  return new Refusal(httpStatusOf(error), message, { cause: error, headers });
}

function retryAfterSeconds(error: unknown): number | undefined {
  const { retryAfterMs } = error as { readonly retryAfterMs?: unknown };
  return typeof retryAfterMs === "number" ? Math.ceil(retryAfterMs / 1000) : undefined;
}
