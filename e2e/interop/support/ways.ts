/** A way for a client's streams to reach the node. */
export interface Way {
  readonly name: string;
  /** Whether the node declares `ExtendWebSocketsToKubelet`. */
  readonly declared: boolean;
  /** For kubectl. */
  readonly env: Readonly<Record<string, string>>;
  /** What the node is spoken to with, by an API server that heeds what it declares. */
  readonly atNode: "websocket" | "spdy";
  /** What a large stream is here. The node does the same work over SPDY, whoever speaks it. */
  readonly megabytes: { readonly input: number; readonly output: number };
}

const noWebSockets = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "false", KUBECTL_PORT_FORWARD_WEBSOCKETS: "false" };

/** Every way there is from a kubectl of today. */
export const ways: readonly Way[] = [
  { name: "WebSocket up to the node", declared: true, env: {}, atNode: "websocket", megabytes: { input: 50, output: 200 } },
  { name: "WebSocket, that the API server turns into SPDY", declared: false, env: {}, atNode: "spdy", megabytes: { input: 5, output: 20 } },
  { name: "SPDY", declared: true, env: noWebSockets, atNode: "spdy", megabytes: { input: 50, output: 200 } },
];
