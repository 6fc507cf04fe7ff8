import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { Duplex } from "node:stream";

/** Signal that aborts when a stream is closed before both of its directions have ended. */
export function dropSignal(stream: Duplex): AbortSignal {
  const controller = new AbortController();
  stream.once("close", () => {
    if (stream.readableEnded && stream.writableFinished) return;
    controller.abort(stream.errored ?? new UnavailableError("the forwarded connection was dropped"));
  });
  return controller.signal;
}
