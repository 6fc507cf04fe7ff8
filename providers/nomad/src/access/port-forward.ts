import type { Duplex } from "node:stream";
import { connectPort, joinConnection, type PodRef } from "@virtual-kubelet/core";
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
  if (address === undefined) throw new UnavailableError(`${what}: the pod has no address that can be reached from this program`);
  const connection = await connectPort(address, port, signal).catch((cause: unknown) => {
    signal.throwIfAborted();
    throw new UnavailableError(`${what}: connect to ${address}: ${messageOf(cause)}`, { cause });
  });
  await joinConnection(stream, connection, signal);
}
