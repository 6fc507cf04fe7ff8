import type { Inbox } from "./inbox.ts";

/** Told that something was handed to the operating system, or why not. */
export type SendCallback = (error?: Error | null) => void;

/** Bytes each way, one of many within a connection. */
export interface Channel {
  /** What arrives. */
  readonly inbox: Inbox;
  /** Sends bytes; the callback paces the sender. */
  send(chunks: readonly Buffer[], sent: SendCallback): void;
  /** Says that no more bytes follow, where the protocol can say it. */
  end(sent: SendCallback): void;
  /** Drops both directions, and says so where the protocol can. */
  cancel(): void;
  /**
   * Sets who is told, once, that the other side has dropped the channel, or that the connection is lost, before both
   * directions have ended: at once if it is so already. The last one set is told.
   */
  whenLost(listener: (error: Error) => void): void;
}
