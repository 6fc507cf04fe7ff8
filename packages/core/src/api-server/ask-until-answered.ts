import type { Clock, Random } from "@virtual-kubelet/clock";
import { isUnauthorized, messageOf } from "@virtual-kubelet/errdefs";
import { backoffMs, isCredentialsError, type Logger } from "@virtual-kubelet/kube-client";
import { apiServerBackoff } from "./api-server-backoff.ts";

/**
 * Repeats a request that a node needs for its start. Waits for a server that does not answer yet, and for valid
 * credentials, because files of tokens and certificates are read again.
 *
 * @param isFinal - whether an error is final, so that a retry cannot succeed
 * @throws the final error; `signal.reason`
 */
export async function askUntilAnswered<T>(
  ask: () => Promise<T>,
  isFinal: (error: unknown) => boolean,
  options: { readonly clock: Clock; readonly random: Random; readonly logger: Logger },
  signal: AbortSignal,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      signal.throwIfAborted();
      if (isFinal(error)) throw error;
      const delayMs = backoffMs(apiServerBackoff, attempt, options.random);
      options.logger.warn({ err: messageOf(error), attempt, delayMs: Math.round(delayMs) }, `${troubleOf(error)}; trying again`);
      await options.clock.sleep(delayMs, signal);
    }
  }
}

function troubleOf(error: unknown): string {
  if (isCredentialsError(error)) return "this program cannot read its own credentials for the API server";
  if (isUnauthorized(error)) return "the API server does not know who this is: the token or certificate is wrong, or has expired";
  return "the API server does not answer";
}
