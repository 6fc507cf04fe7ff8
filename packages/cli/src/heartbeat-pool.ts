import type { HttpPoolOptions } from "@virtual-kubelet/kube-client";

/** Number of nodes whose heartbeats take turns on one connection. */
const nodesInTurn = 10;

/** Maximum number of connections. */
const maxConnections = 20;

/**
 * Returns how the heartbeats of so many nodes are sent, so that those of many nodes, each of which renews its Lease every 10 s, do not wait for
 * each other. They do not share an HTTP/2 connection: when an API server hangs, hundreds of them reach their deadlines and reset their streams,
 * and Node.js 24.21 then fills its memory in `Http2Session::SendPendingData` without an end.
 */
export function heartbeatPool(nodes: number): Partial<HttpPoolOptions> {
  return nodes > nodesInTurn ? { connections: Math.min(maxConnections, Math.ceil(nodes / nodesInTurn)) } : {};
}
