import type { Clock } from "@virtual-kubelet/clock";
import type { Duplex } from "node:stream";
import type { StreamingShare } from "../budget/connection-budget.ts";
import type { StreamingLimits } from "../limits.ts";

/** Options of a port-forward session on the server's side. */
export interface PortForwardServerOptions {
  readonly clock: Clock;
  readonly limits?: StreamingLimits | undefined;
  /** Share in budgets of the process. Default: only the connection's own limits apply. */
  readonly share?: StreamingShare | undefined;
}

/** One forwarded connection. */
export interface PortForwardConnection {
  /** 1 to 65,535. */
  readonly port: number;
  /**
   * The client's connection. Each direction ends separately. If the client drops it before this side has ended, the stream is destroyed
   * with an error, which is not a failure; if later, it just ends. It has an error handler.
   */
  readonly stream: Duplex;
  /** Aborts when the client drops the connection before both directions have ended. */
  readonly signal: AbortSignal;
  /**
   * Reports to the client that the port cannot be reached, and drops the connection. kubectl ends the whole session on any such message, so
   * do not use it for a connection that breaks later. Kubelets send `error forwarding port 80 to pod ID, uid : WHY`.
   */
  fail(message: string): void;
}

/** A client's connections to the ports of one pod. */
export interface PortForwardSession extends AsyncDisposable {
  /** `websocket-tunnel`: SPDY inside a WebSocket. `websocket`: one connection per port, named in the query. */
  readonly transport: "spdy" | "websocket-tunnel" | "websocket";
  /** Connections as the client opens them. Can be iterated once; ends with the session. */
  readonly connections: AsyncIterable<PortForwardConnection>;
  /** Time of the last data on a stream of the session, on the clock's monotonic time; pings do not count. */
  readonly lastActiveMs: number;
  /** Aborts when the session is over. */
  readonly signal: AbortSignal;
  /** Resolves when the session is over. */
  readonly closed: Promise<void>;
  /** Drops open connections and ends the session. */
  close(): Promise<void>;
}
