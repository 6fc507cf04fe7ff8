import type { Duplex } from "node:stream";
import { connectPort, joinConnection, type PodRef } from "@virtual-kubelet/core";
import { messageOf, UnavailableError } from "@virtual-kubelet/errdefs";

/** A port of a pod, and the stream to connect to it. */
export interface ForwardInput {
  readonly ref: PodRef;
  readonly address: string | undefined;
  readonly port: number;
  readonly stream: Duplex;
}

/** Connects a stream to a port at the pod's address, because Nomad cannot forward ports. @throws UnavailableError if the port does not answer */
export async function forwardPort({ ref, address, port, stream }: ForwardInput, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const what = `forward port ${port} of pod ${ref.namespace}/${ref.name}`;
  if (address === undefined) throw new UnavailableError(`${what}: the pod has no address that can be reached from this program`);
  const connection = await connectPort(address, port, signal).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw new UnavailableError(`${what}: connect to ${address}: ${messageOf(cause)}`, { cause });
  });
  await joinConnection(stream, connection, signal);
}
