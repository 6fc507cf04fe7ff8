import type { Clock } from "@virtual-kubelet/clock";
import type { Duplex } from "node:stream";
import type { StreamingShare } from "../budget/connection-budget.ts";
import type { StreamingLimits } from "../limits.ts";

/** How port-forwards are served. */
export interface PortForwardServerOptions {
  readonly clock: Clock;
  readonly limits?: StreamingLimits | undefined;
  /** What the connection shares with others; default: it has only its own limits. */
  readonly share?: StreamingShare | undefined;
}

/** One forwarded connection. */
export interface PortForwardConnection {
  /** 1 to 65,535. */
  readonly port: number;
  /**
   * The client's bytes. Each direction ends by itself: ending it tells the client that there is no more, and its end says
   * that the client has none. A client that drops the connection before this side has ended destroys it with an error,
   * which is the client's right and no failure; one that drops it later just ends it. It has an error handler.
   */
  readonly stream: Duplex;
  /** Aborts when the client drops the connection before both directions have ended: nobody waits for what is done for it then. */
  readonly signal: AbortSignal;
  /**
   * Tells the client why the port cannot be reached, and drops the connection. kubectl gives up the whole session on any
   * such message, so it is for a port that cannot be reached, not for a connection that breaks later. Kubelets say
   * `error forwarding port 80 to pod ID, uid : WHY`.
   */
  fail(message: string): void;
}

/** A client's connections to the ports of one pod. */
export interface PortForwardSession extends AsyncDisposable {
  /** `websocket-tunnel`: SPDY within a WebSocket. `websocket`: one connection a port, named in the query. */
  readonly transport: "spdy" | "websocket-tunnel" | "websocket";
  /** What the client opens, as it opens it; may be iterated once. Ends with the session. */
  readonly connections: AsyncIterable<PortForwardConnection>;
  /** When a stream of the session carried something last, on the clock's monotonic time; pings count for nothing. */
  readonly lastActiveMs: number;
  /** Aborts when the session is over, whoever ended it. */
  readonly signal: AbortSignal;
  /** Resolves when the session is over. */
  readonly closed: Promise<void>;
  /** Drops what is open and ends the session. */
  close(): Promise<void>;
}
