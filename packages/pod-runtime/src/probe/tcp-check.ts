import { connect } from "node:net";
import type { ProbeAttempt } from "./prober.ts";

/** Succeeds if a connection to the port can be opened. */
export function tcpCheck({ host, port }: { readonly host: string; readonly port: number }, signal: AbortSignal): Promise<ProbeAttempt> {
  const { promise, resolve, reject } = Promise.withResolvers<ProbeAttempt>();
  const socket = connect({ host, port });
  const onAbort = (): void => {
    socket.destroy();
    reject(signal.reason);
  };
  const finish = (attempt: ProbeAttempt): void => {
    signal.removeEventListener("abort", onAbort);
    socket.destroy();
    resolve(attempt);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  socket.on("connect", () => finish({ isSuccess: true, output: "" }));
  socket.on("error", (error) => finish({ isSuccess: false, output: `dial tcp ${host}:${port}: ${error.message}` }));
  return promise;
}
