import { LinkedSignal } from "@virtual-kubelet/async";
import { isInvalidInput, messageOf } from "@virtual-kubelet/errdefs";
import { acceptPortForward, portForwardPorts, type PortForwardConnection, type PortForwardSession } from "@virtual-kubelet/streaming";
import { requirePod, type FoundPod } from "../routes/pod-lookup.ts";
import type { Handler, KubeletRequest } from "../routes/route.ts";
import { taken } from "../server/answer.ts";
import { Refusal } from "../server/refusal.ts";
import { audited, beginAudit } from "./audit.ts";
import type { StreamRoutesOptions } from "./remote-command.ts";
import { requireUpgrade } from "./require-upgrade.ts";

/** `/portForward`: connects clients with ports of a pod. */
export function portForwardRoute(options: StreamRoutesOptions): Handler {
  return (request) =>
    audited(beginAudit(request, { verb: "port-forward" }, options), async () => {
      checkPorts(request);
      const found = requirePod(request, options.directory);
      const upgrade = requireUpgrade(request);
      using slot = options.slots.take(request, { isLog: false });
      let session: PortForwardSession;
      try {
        const { clock, limits, budgets } = options;
        session = await acceptPortForward(upgrade, { clock, limits, share: budgets.shareOf(request, { isForward: true }) });
      } catch (error) {
        // The client already has its response.
        return { result: `not started: ${messageOf(error)}`, value: taken };
      }
      await using _closed = session;
      slot.follow(() => session.lastActiveMs);
      using linked = new LinkedSignal(request.signal, slot.signal);
      const ports = await serve(session, found, { ...request, signal: linked.signal }, options);
      const how = slot.signal.aborted ? `; ${messageOf(slot.signal.reason)}` : "";
      return { result: `ports ${[...ports].join(", ") || "none"}${how}`, value: taken };
    });
}

/** @throws Refusal 400 if the older WebSocket protocol does not name its ports in the query */
function checkPorts({ upgrade }: KubeletRequest): void {
  if (!upgrade) return;
  try {
    portForwardPorts(upgrade.request);
  } catch (error) {
    throw isInvalidInput(error) ? new Refusal(400, messageOf(error), { cause: error }) : error;
  }
}

/** Forwards until the session is over. @returns the requested ports */
async function serve(
  session: PortForwardSession,
  found: FoundPod,
  request: KubeletRequest,
  options: StreamRoutesOptions,
): Promise<ReadonlySet<number>> {
  const ports = new Set<number>();
  const forwards = new Set<Promise<void>>();
  using linked = new LinkedSignal(session.signal, request.signal);
  const onStop = (): void => void session.close();
  request.signal.addEventListener("abort", onStop, { once: true });
  try {
    if (request.signal.aborted) await session.close();
    for await (const connection of session.connections) {
      ports.add(connection.port);
      const slot = options.budgets.takeForward(request, forwards.size);
      if (!slot) {
        connection.stream.destroy();
        continue;
      }
      const forward = forwardOne(connection, found, linked.signal, options).finally(() => {
        slot[Symbol.dispose]();
        forwards.delete(forward);
      });
      forwards.add(forward);
    }
  } finally {
    request.signal.removeEventListener("abort", onStop);
    linked.abort(new Error("the port-forward session is over"));
    await Promise.all(forwards);
  }
  return ports;
}

/** Forwards one connection until it or the session ends; never rejects. */
async function forwardOne(
  connection: PortForwardConnection,
  { node, ref }: FoundPod,
  session: AbortSignal,
  { logger }: StreamRoutesOptions,
): Promise<void> {
  const { port, stream } = connection;
  using linked = new LinkedSignal(session, connection.signal);
  try {
    await node.access.portForward(ref, port, stream, linked.signal);
  } catch (error) {
    if (linked.signal.aborted || isBrokenConnection(error)) stream.destroy();
    // A kubelet puts the sandbox ID here and leaves the UID empty.
    else connection.fail(`error forwarding port ${port} to pod ${ref.uid}, uid : ${messageOf(error)}`);
    logger.debug({ pod: `${ref.namespace}/${ref.name}`, port, err: messageOf(error) }, "a forwarded connection ended with an error");
  }
}

/** Errors of a connection that was established. They are not reported, because kubectl would give up all other connections. */
const brokenCodes: ReadonlySet<unknown> = new Set([
  "ECONNRESET",
  "EPIPE",
  "ERR_STREAM_PREMATURE_CLOSE",
  "ERR_STREAM_DESTROYED",
  "ABORT_ERR",
]);

function isBrokenConnection(error: unknown): boolean {
  return error instanceof Error && "code" in error && brokenCodes.has(error.code);
}
