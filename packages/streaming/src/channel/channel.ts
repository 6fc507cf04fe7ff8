import type { Inbox } from "./inbox.ts";

/** Called when data was handed to the operating system, or with the error. */
export type SendCallback = (error?: Error | null) => void;

/** A bidirectional byte stream; a connection carries several. */
export interface Channel {
  /** Data received. */
  readonly inbox: Inbox;
  /** Sends bytes; the callback provides back-pressure. */
  send(chunks: readonly Buffer[], sent: SendCallback): void;
  /** Signals the end of this direction, if the protocol supports that. */
  end(sent: SendCallback): void;
  /** Drops both directions, and signals that if the protocol supports it. */
  cancel(): void;
  /**
   * Sets the listener that is called once if the peer drops the channel or the connection is lost before both directions have ended. It is
   * called immediately if that has already happened. Replaces the previous listener.
   */
  whenLost(listener: (error: Error) => void): void;
}
