import type { CallClass } from "@virtual-kubelet/remote-pods";
import { toError } from "./api-error.ts";

/** Runs a request at the pace that its class allows, and repeats it if it may be repeated. */
export type Pace = <T>(callClass: CallClass, request: (signal: AbortSignal) => Promise<T>, signal: AbortSignal) => Promise<T>;

/** Runs requests at once, and once. */
export const unpaced: Pace = (_callClass, request, signal) => request(signal);

/**
 * Sends a request and translates its errors.
 *
 * @param attempted - the attempt, for messages
 * @throws errdefs errors; `signal.reason`
 */
export async function send<T>(request: (signal: AbortSignal) => Promise<T>, attempted: string, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  try {
    return await request(signal);
  } catch (error) {
    signal.throwIfAborted();
    throw toError(error, attempted);
  }
}
