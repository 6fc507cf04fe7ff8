import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { Channel, SendCallback } from "../channel/channel.ts";
import { Inbox } from "../channel/inbox.ts";
import type { SpdyHeaders } from "./header-block.ts";

/** The part of a connection that its streams use. */
export interface StreamCarrier {
  readonly streamBufferBytes: number;
  sendData(id: number, chunks: readonly Buffer[], fin: boolean, sent: SendCallback): void;
  sendReset(id: number): void;
  /** Reports whether the stream's buffer exceeds its limit. */
  setFull(id: number, full: boolean): void;
  /** Reports a change of the stream's buffered bytes. */
  addHeld(change: number): void;
  /** Removes a stream that neither sends nor receives any more. */
  forget(id: number): void;
}

/** One SPDY stream. */
export class SpdyStream implements Channel {
  readonly id: number;
  readonly headers: SpdyHeaders;
  readonly inbox: Inbox;
  readonly #carrier: StreamCarrier;
  #localEnded = false;
  #remoteEnded = false;
  #over: Error | undefined;
  /** Set if the stream was lost before both directions had ended. */
  #lost: Error | undefined;
  #onLost: ((error: Error) => void) | undefined;

  constructor(id: number, headers: SpdyHeaders, carrier: StreamCarrier) {
    this.id = id;
    this.headers = headers;
    this.#carrier = carrier;
    this.inbox = new Inbox(
      carrier.streamBufferBytes,
      (full) => carrier.setFull(id, full),
      (change) => carrier.addHeld(change),
    );
  }

  /** Whether this direction has ended. */
  get localEnded(): boolean {
    return this.#localEnded;
  }

  send(chunks: readonly Buffer[], sent: SendCallback): void {
    if (this.#over !== undefined || this.#localEnded) sent(this.#over ?? new UnavailableError(`send on stream ${this.id}: it has ended`));
    else this.#carrier.sendData(this.id, chunks, false, sent);
  }

  end(sent: SendCallback): void {
    if (this.#over !== undefined || this.#localEnded) return sent();
    this.#localEnded = true;
    this.#carrier.sendData(this.id, [], true, sent);
    this.#forgetIfEnded();
  }

  whenLost(listener: (error: Error) => void): void {
    this.#onLost = listener;
    if (this.#lost !== undefined) listener(this.#lost);
  }

  cancel(): void {
    if (this.#over !== undefined) return;
    this.#over = new UnavailableError(`stream ${this.id} was cancelled`);
    if (!this.#localEnded || !this.#remoteEnded) this.#carrier.sendReset(this.id);
    this.inbox.discard();
    this.#carrier.forget(this.id);
  }

  /** Adds a received part of a DATA frame. */
  receive(data: Buffer, fin: boolean): void {
    if (this.#remoteEnded) return;
    this.inbox.add(data);
    if (!fin) return;
    this.#remoteEnded = true;
    this.inbox.end();
    this.#forgetIfEnded();
  }

  /** Called when the peer has reset the stream or the connection is lost. */
  lose(error: Error): void {
    if (this.#over !== undefined) return;
    this.#over = error;
    const whole = this.#localEnded && this.#remoteEnded;
    this.#carrier.forget(this.id);
    if (whole) return;
    this.#lost = error;
    this.#onLost?.(error);
  }

  #forgetIfEnded(): void {
    if (this.#localEnded && this.#remoteEnded) this.#carrier.forget(this.id);
  }
}
