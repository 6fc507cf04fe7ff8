import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { WebSocket } from "ws";
import { decodeMessage, encodeMessage, payloadTypes, type AgentMessage } from "../fake/exec/agent-message.ts";
import { json } from "../fake/exec/message-channel.ts";
import type { OpenedSession } from "../fake/exec/session-server.ts";

/** A plain client of a data channel, to test the fake's side with: it acknowledges everything and repeats nothing. */
export class ChannelClient implements Disposable {
  /** All messages in the order of their arrival. */
  readonly messages: AgentMessage[] = [];
  /** Whether messages are acknowledged. */
  acknowledges = true;
  readonly #socket: WebSocket;
  #next = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("error", () => {});
    socket.on("message", (data: Buffer) => {
      const message = decodeMessage(data);
      this.messages.push(message);
      if (message.type === "output_stream_data" && this.acknowledges) this.acknowledge(message);
    });
  }

  /** Opens the channel. @param changes - members of the opening that are to differ */
  static async open({ streamUrl, tokenValue }: OpenedSession, changes: object = {}): Promise<ChannelClient> {
    const socket = new WebSocket(streamUrl);
    const client = new ChannelClient(socket);
    await once(socket, "open");
    const opening = {
      MessageSchemaVersion: "1.0",
      RequestId: randomUUID(),
      TokenValue: tokenValue,
      ClientId: randomUUID(),
      ClientVersion: "1.2.0.0",
    };
    socket.send(JSON.stringify({ ...opening, ...changes }));
    return client;
  }

  /** Code and reason with which the channel was closed. 1006: without a close frame. */
  async closed(): Promise<readonly [code: number, reason: string]> {
    const [code, reason] = (await once(this.#socket, "close")) as [number, Buffer];
    return [code, reason.toString("utf8")];
  }

  /** Sends input with the next sequence number, or with this one. */
  send(payloadType: number, payload: Buffer, sequence: number = this.#next++): void {
    this.sendRaw(encodeMessage(this.#message("input_stream_data", { sequence, flags: sequence === 0 ? 1n : 0n, payloadType, payload })));
  }

  sendRaw(bytes: Buffer): void {
    this.#socket.send(bytes);
  }

  /** Answers the handshake. */
  shakeHands(status: number = 1): void {
    const actions = [{ ActionType: "SessionType", ActionStatus: status, ActionResult: null, Error: "" }];
    this.send(payloadTypes.handshakeResponse, json({ ClientVersion: "1.2.0.0", ProcessedClientActions: actions, Errors: [] }));
  }

  acknowledge({ type, id, sequence }: AgentMessage): void {
    const payload = json({
      AcknowledgedMessageType: type,
      AcknowledgedMessageId: id,
      AcknowledgedMessageSequenceNumber: sequence,
      IsSequentialMessage: true,
    });
    if (this.#socket.readyState === this.#socket.OPEN)
      this.sendRaw(encodeMessage(this.#message("acknowledge", { sequence: 0, flags: 3n, payloadType: 0, payload })));
  }

  /** Output so far, each message once, in order. */
  get output(): Buffer {
    const bySequence = new Map(
      this.messages.filter(({ payloadType }) => payloadType === payloadTypes.output).map((message) => [message.sequence, message]),
    );
    return Buffer.concat([...bySequence.values()].sort((one, other) => one.sequence - other.sequence).map(({ payload }) => payload));
  }

  [Symbol.dispose](): void {
    this.#socket.terminate();
  }

  #message(type: string, rest: Pick<AgentMessage, "sequence" | "flags" | "payloadType" | "payload">): AgentMessage {
    return { ...rest, type, id: randomUUID(), createdAtMs: Date.UTC(2026, 0, 1) };
  }
}
