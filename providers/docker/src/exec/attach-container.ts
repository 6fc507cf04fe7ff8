import type { AttachIO, TerminalSize } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import type { DockerEngine } from "../engine/docker-engine.ts";
import { inspectContainer } from "../container/inspected-container.ts";
import { joinStreams } from "./join-streams.ts";
import { resizeTerminal } from "./terminal-size.ts";

/**
 * Keys that detach a client from a terminal. The engine requires some, but its default keys are used in shells, and clients detach by
 * closing their connection. So this is a sequence that nobody types.
 */
const detachKeys = "ctrl-^,ctrl-@,ctrl-^,ctrl-@,ctrl-^,ctrl-@";

/**
 * Connects a client to the streams of a container's main process, without earlier output; resolves when the process has ended. The end of
 * the client's input ends the container's input only if it has `stdinOnce`.
 *
 * @throws NotFoundError for a container that does not exist or does not run; `signal.reason`
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
