import { joinConnection } from "@virtual-kubelet/core";
import { NotFoundError, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { isHostProcess } from "../engine/host-process.ts";
import { inspectContainer } from "../container/inspected-container.ts";
import { connectLoopback } from "./loopback.ts";
import type { NamespaceDialers } from "./namespace-dialers.ts";

export interface ForwardPortParts {
  readonly engine: DockerEngine;
  readonly dialers: NamespaceDialers;
}

/**
 * Connects a stream to a TCP port on the loopback addresses of a pod's network; resolves when both directions have ended, each on its own.
 *
 * @throws UnavailableError if nothing listens; NotFoundError for a sandbox that does not exist or does not run; UnsupportedError for an
 * engine on another machine; `signal.reason`
 */
export async function forwardPort(
  parts: ForwardPortParts,
  sandboxId: string,
  port: number,
  stream: Duplex,
  signal: AbortSignal,
): Promise<void> {
  const socket = await connectSandbox(parts, sandboxId, port, signal);
  await joinConnection(stream, socket, signal);
}

async function connectSandbox(
  { engine, dialers }: ForwardPortParts,
  sandboxId: string,
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  const { id, isRunning, pid, networkMode } = await inspectContainer(engine, sandboxId, signal);
  if (!isRunning) throw new NotFoundError(`forward port ${port}: the pod's sandbox ${sandboxId} does not run`);
  if (!(await isHostProcess(pid, id)))
    throw new UnsupportedError(`forward port ${port}: the Docker engine runs on another machine, and the pod's network is there`);
  return networkMode === "host" ? connectLoopback(port, signal) : dialers.connect({ sandboxId: id, pid }, port, signal);
}
