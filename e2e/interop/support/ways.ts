/** A combination of protocols between kubectl, the API server and the node. */
export interface Way {
  readonly name: string;
  /** Whether the node declares `ExtendWebSocketsToKubelet`. */
  readonly declared: boolean;
  /** Environment variables for kubectl. */
  readonly env: Readonly<Record<string, string>>;
  /** Protocol to the node of an API server that supports declared features. */
  readonly atNode: "websocket" | "spdy";
  /** Sizes of large streams in MB. The node does the same work in both cases with SPDY, so one of them is small. */
  readonly megabytes: { readonly input: number; readonly output: number };
}

const noWebSockets = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "false", KUBECTL_PORT_FORWARD_WEBSOCKETS: "false" };

/** All combinations that current kubectls use. */
export const ways: readonly Way[] = [
  { name: "WebSocket to the node", declared: true, env: {}, atNode: "websocket", megabytes: { input: 50, output: 200 } },
  {
    name: "WebSocket, which the API server translates to SPDY",
    declared: false,
    env: {},
    atNode: "spdy",
    megabytes: { input: 5, output: 20 },
  },
  { name: "SPDY", declared: true, env: noWebSockets, atNode: "spdy", megabytes: { input: 50, output: 200 } },
];
