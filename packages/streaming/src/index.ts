/**
 * SPDY/3.1 and WebSocket remote-command and port-forward as Kubernetes speaks them, server and client.
 *
 * @packageDocumentation
 */
export type { StreamingShare } from "./budget/connection-budget.ts";
export { SharedBudget, type BudgetShare } from "./budget/shared-budget.ts";
export { resolveStreamIdleMs, type StreamingLimits } from "./limits.ts";
export { openPortForward, openPortForwardOver, type PortForwardClient, type PortForwardClientOptions } from "./port-forward/client.ts";
export { portForwardPorts } from "./port-forward/ports.ts";
export { relayPortForward } from "./port-forward/relay.ts";
export { acceptPortForward } from "./port-forward/server.ts";
export type { PortForwardConnection, PortForwardServerOptions, PortForwardSession } from "./port-forward/session.ts";
export { runRemoteCommand, runRemoteCommandOver, type RemoteCommandClientOptions } from "./remote-command/client.ts";
export type { RemoteCommandIO } from "./remote-command/command-io.ts";
export { relayRemoteCommand } from "./remote-command/relay.ts";
export type { RemoteCommandExit, RemoteCommandFailure, RemoteCommandResult, RemoteCommandStatus } from "./remote-command/result.ts";
export { acceptRemoteCommand } from "./remote-command/server.ts";
export type { RemoteCommandProtocol, RemoteCommandServerOptions, RemoteCommandSession } from "./remote-command/session.ts";
export type { TerminalSize } from "./remote-command/terminal-size.ts";
export { isSpdyRequest, isWebSocketRequest, type IncomingUpgrade, type UpgradeRequest } from "./upgrade/incoming-upgrade.ts";
export { proxyUpgrade, type ProxyOptions } from "./upgrade/proxy.ts";
export type { Refusal } from "./upgrade/answer.ts";
export type { UpgradedConnection, UpgradeTarget } from "./upgrade/target.ts";
export { UpgradeRefusedError } from "./upgrade/upgrade-refused-error.ts";
export { webSocketBearerToken } from "./websocket/offered-protocols.ts";
