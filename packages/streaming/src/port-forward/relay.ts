import { dialSpdyOrRefusal } from "../upgrade/dial-spdy.ts";
import { refuseUpgrade } from "../upgrade/answer.ts";
import type { IncomingUpgrade } from "../upgrade/incoming-upgrade.ts";
import { joinDuplexes } from "../upgrade/join.ts";
import { passRefusal, type ProxyOptions, toRefusal } from "../upgrade/proxy.ts";
import type { UpgradeTarget } from "../upgrade/target.ts";
import { portForwardTunnel } from "../websocket/tunnel-protocol.ts";
import { webSocketDuplex } from "../websocket/web-socket-duplex.ts";
import { acceptWebSocket } from "../websocket/web-socket-handshake.ts";
import { portForwardVersion } from "./server.ts";

/**
 * Connects a client's port-forward (SPDY inside a WebSocket) to a kubelet's SPDY, as an API server does, by copying bytes. A refusal of the
 * kubelet is passed on, so that the client tries SPDY. Resolves when both sides are done, and does not reject for errors of either side.
 *
 * Source: kubernetes v1.36.3 apiserver/pkg/util/proxy/streamtunnel.go.
 */
export async function relayPortForward(upgrade: IncomingUpgrade, target: UpgradeTarget, options: ProxyOptions): Promise<void> {
  const { socket } = upgrade;
  const gone = new AbortController();
  socket.on("error", () => undefined);
  socket.once("close", () => gone.abort(new Error("the client has disconnected")));
  let answer;
  try {
    answer = await dialSpdyOrRefusal(target, [portForwardVersion], { clock: options.clock, signal: gone.signal });
  } catch (error) {
    return refuseUpgrade(socket, toRefusal(error, options), options.clock);
  }
  if (answer.kind === "refused") return passRefusal(answer.response, { socket, target }, options);
  const { connection } = answer;
  try {
    const { webSocket } = await acceptWebSocket(upgrade, [portForwardTunnel], options.clock);
    const tunnel = webSocketDuplex(webSocket);
    if (connection.head !== undefined) tunnel.write(connection.head);
    await joinDuplexes(tunnel, connection.socket, options.clock);
  } catch {
    // The client already has its response.
    connection.socket.destroy();
  }
}
