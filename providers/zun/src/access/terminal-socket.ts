import { messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import type { Duplex } from "node:stream";
import { createWebSocketStream, WebSocket } from "ws";
import type { CloudCertificates } from "../openstack/http-client.ts";

const handshakeTimeoutMs = 15_000;

/** How Zun's websocket proxy is reached. */
export interface SocketSettings {
  readonly tls: CloudCertificates;
  /** In place of scheme, host and path that Zun names. */
  readonly websocketUrl: string | undefined;
}

/**
 * Opens a stream to a terminal through Zun's websocket proxy. Its URL holds a token, and is never shown.
 *
 * @throws UnavailableError naming host and port; `signal.reason` when aborted
 */
export async function openTerminal(url: string, { tls, websocketUrl }: SocketSettings, signal: AbortSignal): Promise<Duplex> {
  signal.throwIfAborted();
  const target = addressOf(url, websocketUrl);
  const { ca, cert, key, rejectUnauthorized } = tls;
  const socket = new WebSocket(target, ["binary", "base64"], {
    handshakeTimeout: handshakeTimeoutMs,
    perMessageDeflate: false,
    rejectUnauthorized,
    ...(ca && { ca: [...ca] }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  });
  const stream = createWebSocketStream(socket);
  // Told where it is read or written.
  stream.on("error", () => {});
  const opened = Promise.withResolvers<void>();
  const onAbort = (): void => {
    opened.reject(signal.reason);
    socket.terminate();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  socket.once("open", () => opened.resolve());
  socket.once("error", (error) =>
    opened.reject(new UnavailableError(`reach Zun's websocket proxy at ${target.host}: ${withoutToken(error)}`)),
  );
  socket.once("close", () =>
    opened.reject(new UnavailableError(`reach Zun's websocket proxy at ${target.host}: it closed the connection`)),
  );
  try {
    await opened.promise;
    return stream;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function addressOf(url: string, websocketUrl: string | undefined): URL {
  let target: URL;
  try {
    target = new URL(url);
  } catch {
    throw new UnavailableError("reach Zun's websocket proxy: Zun returned no URL; set websocket_proxy.base_url in Zun's configuration");
  }
  if (websocketUrl !== undefined) {
    const own = new URL(websocketUrl);
    own.search = target.search;
    target = own;
  }
  target.protocol = target.protocol.replace(/^http/, "ws");
  return target;
}

function withoutToken(error: Error): string {
  return messageOf(error).replaceAll(/token=[^&\s]+/g, "token=[redacted]");
}
