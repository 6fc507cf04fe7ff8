import type { Clock } from "@virtual-kubelet/clock";
import { messageOf } from "@virtual-kubelet/errdefs";
import { openPortForward } from "@virtual-kubelet/streaming";
import type { Duplex } from "node:stream";
import { finished } from "node:stream/promises";
import type { FarConnection } from "../far/far-cluster.ts";
import { explainRefusal, refusalError } from "./far-refusal.ts";
import { subresourcePath, type FarTarget } from "./far-target.ts";
import { withUpgradeTarget } from "./upgrade.ts";

/**
 * Connects a stream to a port of a far pod, in a session of its own: in a shared one a slow client would hold up the others, because
 * their data shares one TCP connection, and an error that ends the session would end them all.
 *
 * @throws UnavailableError with the far kubelet's message if nothing listens, which leaves the stream to the caller; an error of code
 * `ECONNRESET` if the connection breaks later; `signal.reason`
 */
export async function forwardToFarPort(
  { connection, clock, target }: { readonly connection: FarConnection; readonly clock: Clock; readonly target: FarTarget },
  port: number,
  stream: Duplex,
  signal: AbortSignal,
): Promise<void> {
  const path = subresourcePath(target, "portforward", { ports: port });
  try {
    await using session = await withUpgradeTarget(connection, path, signal, (to) => openPortForward(to, { clock, signal }));
    await join(stream, await session.open(port), signal);
  } catch (error) {
    signal.throwIfAborted();
    throw explainRefusal(error, target, "portforward");
  }

  /** Copies both ways until both directions have ended. Unlike a pipeline, leaves the client's stream open if the port is refused. */
  async function join(client: Duplex, far: Duplex, until: AbortSignal): Promise<void> {
    let hasAnswered = false;
    far.once("data", () => (hasAnswered = true));
    const onAbort = (): void => {
      far.destroy();
      client.destroy();
    };
    until.addEventListener("abort", onAbort, { once: true });
    try {
      until.throwIfAborted();
      client.pipe(far);
      far.pipe(client);
      await Promise.all([finished(client, { cleanup: true }), finished(far, { cleanup: true })]);
    } catch (cause) {
      if (until.aborted) onAbort();
      until.throwIfAborted();
      client.unpipe(far);
      const isFars = far.errored === cause;
      far.destroy();
      if (isFars && !hasAnswered) throw refusalError({ code: 503, message: messageOf(cause) }, target, "portforward");
      client.destroy();
      throw Object.assign(new Error(`port ${port}: the connection broke: ${messageOf(cause)}`, { cause }), { code: "ECONNRESET" });
    } finally {
      until.removeEventListener("abort", onAbort);
      far.destroy();
    }
  }
}
