import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";

/**
 * Connects to a TCP port; each direction of the connection ends independently.
 *
 * @throws the error of the connection; `signal.reason` when aborted
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
 * Connects a client's stream to a connection to a port of its pod, as `ContainerAccess.portForward` requires: each direction
 * ends independently. Resolves when both have ended; the connection is then destroyed.
 *
 * @throws the error of one of the two, which aborts the other; `signal.reason` when aborted, which destroys both
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
    // A signal that has already aborted fires no event.
    if (signal.aborted) destroy();
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", destroy);
    connection.destroy();
  }
}
