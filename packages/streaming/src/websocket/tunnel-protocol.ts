/** The WebSocket sub-protocol that carries SPDY's bytes for port-forwards. It is no RFC token, for its slash. */
export const portForwardTunnel = "SPDY/3.1+portforward.k8s.io";

/** Whether a sub-protocol carries SPDY. Source: kubernetes v1.36.3 k8s.io/streaming wsstream/conn.go. */
export function isTunnelProtocol(protocol: string): boolean {
  return protocol.startsWith("SPDY/3.1+") && protocol.endsWith(".k8s.io");
}
