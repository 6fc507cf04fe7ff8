import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { isWebSocketRequest, type UpgradeRequest } from "../upgrade/incoming-upgrade.ts";
import { offeredProtocols } from "../websocket/offered-protocols.ts";
import { isTunnelProtocol } from "../websocket/tunnel-protocol.ts";

/** Channel numbers are one byte, and each port has two channels. */
const maxPorts = 128;

/**
 * Ports in the query of a port-forward over the older WebSocket protocol, `?port=80,81&port=82`. Empty for SPDY, with or without a
 * WebSocket, where each stream names its port.
 *
 * @throws InvalidInputError with a kubelet's message for a 400. Source: kubernetes v1.36.3 k8s.io/cri-streaming portforward/websocket.go.
 */
export function portForwardPorts(request: UpgradeRequest): readonly number[] {
  if (!isWebSocketRequest(request) || offeredProtocols(request).some(isTunnelProtocol)) return [];
  const query = new URLSearchParams(request.url?.split("?", 2)[1] ?? "").getAll("port");
  if (query.length === 0) throw new InvalidInputError('query parameter "port" is required');
  const ports = query.flatMap((value) => {
    if (value === "") throw new InvalidInputError('query parameter "port" cannot be empty');
    return value.split(",").map((text) => parseListedPort(text, value));
  });
  if (ports.length > maxPorts)
    throw new InvalidInputError(`query parameter "port" names ${ports.length} ports, at most ${maxPorts} are served`);
  return ports;
}

function parseListedPort(text: string, value: string): number {
  const port = parsePort(text);
  if (port === undefined) throw new InvalidInputError(`unable to parse ${JSON.stringify(value)} as a port: it is not a number up to 65535`);
  if (port === 0) throw new InvalidInputError(`port ${JSON.stringify(value)} must be > 0`);
  return port;
}

/** Parses a decimal number up to 65,535; `undefined` if invalid. */
export function parsePort(text: string): number | undefined {
  if (!/^[0-9]{1,10}$/.test(text)) return undefined;
  const port = Number(text);
  return port <= 65_535 ? port : undefined;
}
