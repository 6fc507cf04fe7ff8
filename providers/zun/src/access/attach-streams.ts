import type { AttachIO } from "@virtual-kubelet/core";
import type { ZunApi } from "../zun/zun-api.ts";
import { chunksOf, writeTo } from "@virtual-kubelet/remote-pods";
import { openTerminal, type SocketSettings } from "./terminal-socket.ts";

export interface AttachOptions {
  readonly api: Pick<ZunApi, "attach" | "resizeContainer">;
  readonly socket: SocketSettings;
}

/**
 * Joins the streams of a container's main process, through Zun's websocket proxy: one stream for output and errors. Resolves when
 * the other side closes it.
 *
 * @throws UnavailableError; `signal.reason`
 */
export async function attachStreams(uuid: string, io: AttachIO, { api, socket }: AttachOptions, signal: AbortSignal): Promise<void> {
  const terminal = await openTerminal(await api.attach(uuid, signal), socket, signal);
  const over = new AbortController();
  const inputs = AbortSignal.any([signal, over.signal]);
  const onAbort = (): void => void terminal.destroy();
  signal.addEventListener("abort", onAbort, { once: true });
  const feed = async (): Promise<void> => {
    if (io.stdin) for await (const chunk of chunksOf(io.stdin, inputs)) await writeTo(terminal, chunk, inputs);
  };
  const resize = async (): Promise<void> => {
    if (!io.tty) return;
    for await (const { width, height } of io.resizes) {
      if (inputs.aborted) return;
      if (width > 0 && height > 0) await api.resizeContainer(uuid, { width, height }, inputs);
    }
  };
  feed().catch(() => {});
  resize().catch(() => {});
  try {
    for await (const chunk of terminal) await writeTo(io.stdout ?? io.stderr, chunk as Buffer, signal);
  } catch (error) {
    signal.throwIfAborted();
    // A proxy closes without ceremony when the container ends.
    if (!terminal.destroyed) throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    over.abort();
    terminal.destroy();
  }
  signal.throwIfAborted();
}
