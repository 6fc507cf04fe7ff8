import { once } from "node:events";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { PodRef } from "@virtual-kubelet/core";
import { messageOf, UnavailableError } from "@virtual-kubelet/errdefs";

/** A port of a pod, and the stream that is to be joined with it. */
export interface ForwardInput {
  readonly ref: PodRef;
  readonly address: string | undefined;
  readonly port: number;
  readonly stream: Duplex;
}

/** Joins a stream with a port at the pod's address: Nomad has no way to it of its own. @throws UnavailableError if nobody answers there */
export async function forwardPort({ ref, address, port, stream }: ForwardInput, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const what = `forward port ${port} of pod ${ref.namespace}/${ref.name}`;
  if (address === undefined) throw new UnavailableError(`${what}: the pod has no address that could be reached from here`);
  const socket = connect({ host: address, port, allowHalfOpen: true });
  const destroy = (): void => {
    socket.destroy();
    stream.destroy();
  };
  signal.addEventListener("abort", destroy, { once: true });
  try {
    await once(socket, "connect").catch((cause: unknown) => {
      signal.throwIfAborted();
      throw new UnavailableError(`${what}: connect to ${address}: ${messageOf(cause)}`, { cause });
    });
    await Promise.all([pipeline(stream, socket), pipeline(socket, stream)]);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", destroy);
    socket.destroy();
  }
}
