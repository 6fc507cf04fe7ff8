import type { HttpPoolOptions } from "@virtual-kubelet/kube-client";

/** Number of nodes up to which the heartbeats of all take turns on one HTTP/1.1 connection. */
const maxNodesInTurn = 10;

/**
 * Returns how the heartbeats of so many nodes are sent. Those of many nodes, each of which renews its Lease every 10 s, do not wait for each other:
 * over HTTP/2 they share a connection. If the server has only HTTP/1.1, fifty nodes take turns on each.
 */
export function heartbeatPool(nodes: number): Partial<HttpPoolOptions> {
  return nodes > maxNodesInTurn ? { http2: true, connections: Math.ceil(nodes / 50) } : {};
}
