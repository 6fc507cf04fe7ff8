import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";

/**
 * Connects to a TCP port; each direction of the connection ends by itself.
 *
 * @throws what refused it; `signal.reason` when aborted
 */
export async function connectPort(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const socket = connect({ host, port, allowHalfOpen: true });
  try {
    await once(socket, "connect", { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    throw error;
  }
}

/**
 * Joins a client's stream with a connection to a port of its pod, as `ContainerAccess.portForward` has to: each direction
 * ends by itself. Resolves when both have ended; the connection is destroyed then.
 *
 * @throws what broke one of the two, which breaks the other off; `signal.reason` when aborted, and both are destroyed
 */
export async function joinConnection(stream: Duplex, connection: Duplex, signal: AbortSignal): Promise<void> {
  const destroy = (): void => {
    connection.destroy();
    stream.destroy();
  };
  signal.addEventListener("abort", destroy, { once: true });
  try {
    signal.throwIfAborted();
    await Promise.all([pipeline(stream, connection), pipeline(connection, stream)]);
  } catch (error) {
    // Of an abort before the call nobody hears.
    if (signal.aborted) destroy();
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", destroy);
    connection.destroy();
  }
}
