import { connectPort } from "@virtual-kubelet/core";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { Socket } from "node:net";

/** A pod's loopback addresses, in the order of other container runtimes. */
export const loopbackHosts = ["127.0.0.1", "::1"] as const;

/**
 * Connects to a port on this machine's loopback addresses.
 *
 * @throws UnavailableError if nothing listens; `signal.reason`
 */
export async function connectLoopback(port: number, signal: AbortSignal): Promise<Socket> {
  let last: unknown;
  for (const host of loopbackHosts)
    try {
      return await connectPort(host, port, signal);
    } catch (error) {
      signal.throwIfAborted();
      last ??= error;
    }
  throw refused(port, last instanceof Error ? last.message : String(last), last);
}

/** Error for a port that cannot be reached. */
export function refused(port: number, why: string, cause?: unknown): UnavailableError {
  return new UnavailableError(`port ${port} of the pod: nothing answers on its loopback addresses: ${why}`, { cause });
}
