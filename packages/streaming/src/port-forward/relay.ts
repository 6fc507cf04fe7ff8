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
 * Joins a client's port-forward, SPDY within a WebSocket, with a kubelet's SPDY, as an API server does: bytes are copied.
 * A kubelet's refusal is given to the client as it is, which then tries SPDY. Resolves when both sides are done; never
 * throws for what either side does.
 *
 * Source: kubernetes v1.36.3 apiserver/pkg/util/proxy/streamtunnel.go.
 */
export async function relayPortForward(upgrade: IncomingUpgrade, target: UpgradeTarget, options: ProxyOptions): Promise<void> {
  const { socket } = upgrade;
  const gone = new AbortController();
  socket.on("error", () => undefined);
  socket.once("close", () => gone.abort(new Error("the client has gone")));
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
    // The client has its answer.
    connection.socket.destroy();
  }
}
