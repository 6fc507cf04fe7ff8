import type { AttachIO, TerminalSize } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { inspectContainer } from "../container/inspected-container.ts";
import { joinStreams } from "./join-streams.ts";
import { resizeTerminal } from "./terminal-size.ts";

/**
 * Keys that part a client from a terminal. The engine insists on some, and its own are used in shells; a client ends its
 * connection to go. Nobody types these in a row.
 */
const detachKeys = "ctrl-^,ctrl-@,ctrl-^,ctrl-@,ctrl-^,ctrl-@";

/**
 * Joins the streams of a container's main process, without what it wrote before; resolves when the process has ended.
 * Where the client's input ends, the container's ends only if it has `stdinOnce`.
 *
 * @throws NotFoundError for a container that is not there or does not run; `signal.reason`
 */
export async function attachContainer(engine: DockerEngine, id: string, io: AttachIO, signal: AbortSignal): Promise<void> {
  const { isRunning, tty, openStdin } = await inspectContainer(engine, id, signal);
  if (!isRunning) throw new NotFoundError(`attach to container ${id}: it does not run`);
  const stdin = openStdin ? io.stdin : undefined;
  const query = { stream: true, stdin: stdin !== undefined, stdout: true, stderr: true, detachKeys };
  const connection = await engine.upgrade({ method: "POST", path: `/containers/${id}/attach`, query }, signal);
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const resize = (size: TerminalSize): Promise<void> => resizeTerminal(engine, `/containers/${id}/resize`, size, until);
  try {
    await joinStreams(connection, { ...io, stdin }, { tty, resize }, signal);
  } finally {
    over.abort();
  }
}
