import { resolveLimits } from "../limits.ts";
import type { IncomingUpgrade } from "../upgrade/incoming-upgrade.ts";
import { acceptWebSocket } from "../websocket/web-socket-handshake.ts";
import { WebSocketChannels } from "../websocket/web-socket-channels.ts";
import { channelNumbers } from "./channel-numbers.ts";
import type { RemoteCommandServerOptions } from "./session.ts";
import type { SessionWires } from "./session-wires.ts";

/** Versions 2 and 3 are not accepted over WebSocket. */
const protocols = [
  "v5.channel.k8s.io",
  "v4.channel.k8s.io",
  "v4.base64.channel.k8s.io",
  "channel.k8s.io",
  "base64.channel.k8s.io",
  "",
] as const;

/** Accepts a WebSocket and greets the client. All channels exist from the beginning. */
export async function acceptWebSocketWires(upgrade: IncomingUpgrade, options: RemoteCommandServerOptions): Promise<SessionWires> {
  const { clock, tty, stdin, stdout, stderr } = options;
  const { webSocket, protocol } = await acceptWebSocket(upgrade, protocols, clock, options.share);
  const channels = new WebSocketChannels(webSocket, {
    codec: protocol.includes("base64") ? "base64" : "binary",
    channels: Object.values(channelNumbers),
    halfClose: protocol === "v5.channel.k8s.io" ? "receive" : "none",
    clock,
    limits: resolveLimits(options.limits),
    share: options.share,
  });
  for (const [wanted, number] of [
    [stdin, channelNumbers.stdin],
    [tty, channelNumbers.resize],
  ] as const)
    if (!wanted) channels.channel(number).inbox.discard();
  channels.greet(stdout ? channelNumbers.stdout : stderr ? channelNumbers.stderr : channelNumbers.error);
  return {
    transport: "websocket",
    protocol,
    tty,
    stdin: stdin ? channels.channel(channelNumbers.stdin) : undefined,
    stdout: stdout ? channels.channel(channelNumbers.stdout) : undefined,
    stderr: stderr ? channels.channel(channelNumbers.stderr) : undefined,
    resize: tty ? channels.channel(channelNumbers.resize) : undefined,
    error: channels.channel(channelNumbers.error),
    connection: {
      signal: channels.signal,
      closed: channels.closed,
      get lastActiveMs() {
        return channels.lastActiveMs;
      },
      closeWhenRead: () => channels.closeWhenRead(1000),
    },
  };
}
