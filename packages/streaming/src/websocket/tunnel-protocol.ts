/** WebSocket sub-protocol for port-forwards over SPDY. The slash makes it an invalid token by the RFC. */
export const portForwardTunnel = "SPDY/3.1+portforward.k8s.io";

/** Whether a sub-protocol carries SPDY. Source: kubernetes v1.36.3 k8s.io/streaming wsstream/conn.go. */
export function isTunnelProtocol(protocol: string): boolean {
  return protocol.startsWith("SPDY/3.1+") && protocol.endsWith(".k8s.io");
}
