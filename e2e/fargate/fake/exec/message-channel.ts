import type { Clock, Random } from "@virtual-kubelet/clock";
import type { WebSocket } from "ws";
import { decodeMessage, encodeMessage, payloadTypes, type AgentMessage, type MessageType } from "./agent-message.ts";

/** Faults of a data channel, which tests script. */
export interface ChannelFaults {
  /** Whether a message of the agent's is lost; counted from 0, with those that are sent again. */
  readonly losesOutgoing?: (count: number) => boolean;
  /** Whether a message of the client's is lost; counted from 0. */
  readonly losesIncoming?: (count: number) => boolean;
  /** Sends output with an even sequence after the message that follows it. */
  readonly reorders?: boolean;
  /** Sends each message twice. */
  readonly repeats?: boolean;
}

/** Milliseconds after which a message without acknowledgement is sent again. */
const resendMs = 200;

/** Numbers, acknowledges and repeats the messages of a data channel, from the agent's side. */
export class MessageChannel {
  /** What the client has done wrong. */
  readonly problems: string[] = [];
  /** Called with each message of the client's, in order. */
  onInput: (message: AgentMessage) => void = () => {};
  #next = 0;
  #expected = 0;
  #outgoing = 0;
  #incoming = 0;
  #held: Buffer | undefined;
  readonly #early = new Map<number, AgentMessage>();
  readonly #unacknowledged = new Map<number, Disposable>();
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #faults: ChannelFaults;
  #drained = Promise.withResolvers<void>();

  constructor(socket: WebSocket, clock: Clock, random: Random, faults: ChannelFaults) {
    this.#socket = socket;
    this.#clock = clock;
    this.#random = random;
    this.#faults = faults;
  }

  /** Sends output, numbered, until it is acknowledged. */
  send(payloadType: number, payload: Buffer): void {
    const sequence = this.#next++;
    const flags = sequence === 0 ? 1n : 0n;
    const bytes = this.#encode("output_stream_data", { sequence, flags, payloadType, payload });
    this.#repeat(sequence, bytes);
    if (this.#faults.reorders && sequence % 2 === 0 && payloadType === payloadTypes.output) this.#held = bytes;
    else {
      this.#transmit(bytes);
      if (this.#held) this.#transmit(this.#held);
      this.#held = undefined;
    }
  }

  /** Sends a message that is neither numbered nor acknowledged. */
  tell(type: MessageType, payload: object): void {
    this.#transmit(this.#encode(type, { sequence: 0, flags: 3n, payloadType: payloadTypes.none, payload: json(payload) }));
  }

  /** Reads a frame of the client's. */
  receive(bytes: Buffer): void {
    if (this.#faults.losesIncoming?.(this.#incoming++)) return;
    let message: AgentMessage;
    try {
      message = decodeMessage(bytes);
    } catch (error) {
      this.problems.push(String(error));
      return;
    }
    if (message.type === "acknowledge") this.#acknowledged(message);
    else if (message.type === "input_stream_data") this.#input(message);
    else this.problems.push(`the client sent a message of type ${message.type}`);
  }

  /** Resolves when all output is acknowledged. */
  async drained(): Promise<void> {
    while (this.#unacknowledged.size > 0) await this.#drained.promise;
  }

  close(): void {
    for (const timer of this.#unacknowledged.values()) timer[Symbol.dispose]();
    this.#unacknowledged.clear();
    this.#notifyDrained();
  }

  #input(message: AgentMessage): void {
    this.tell("acknowledge", {
      AcknowledgedMessageType: message.type,
      AcknowledgedMessageId: message.id,
      AcknowledgedMessageSequenceNumber: message.sequence,
      IsSequentialMessage: true,
    });
    if (message.sequence >= this.#expected) this.#early.set(message.sequence, message);
    for (let next = this.#early.get(this.#expected); next; next = this.#early.get(this.#expected)) {
      this.#early.delete(this.#expected++);
      this.onInput(next);
    }
  }

  #acknowledged({ payload }: AgentMessage): void {
    const {
      AcknowledgedMessageType: type,
      AcknowledgedMessageSequenceNumber: sequence,
      ...rest
    } = JSON.parse(payload.toString("utf8")) as Record<string, unknown>;
    if (
      typeof rest["AcknowledgedMessageId"] !== "string" ||
      typeof rest["IsSequentialMessage"] !== "boolean" ||
      typeof sequence !== "number"
    )
      this.problems.push(`an acknowledgement lacks members: ${payload.toString("utf8")}`);
    if (type !== "output_stream_data") return;
    this.#unacknowledged.get(Number(sequence))?.[Symbol.dispose]();
    this.#unacknowledged.delete(Number(sequence));
    if (this.#unacknowledged.size === 0) this.#notifyDrained();
  }

  #notifyDrained(): void {
    this.#drained.resolve();
    this.#drained = Promise.withResolvers();
  }

  #repeat(sequence: number, bytes: Buffer): void {
    const timer = this.#clock.setTimer(resendMs, () => {
      this.#transmit(bytes);
      this.#repeat(sequence, bytes);
    });
    this.#unacknowledged.set(sequence, timer);
  }

  #transmit(bytes: Buffer): void {
    for (let copies = this.#faults.repeats ? 2 : 1; copies > 0; copies--)
      if (!this.#faults.losesOutgoing?.(this.#outgoing++) && this.#socket.readyState === this.#socket.OPEN) this.#socket.send(bytes);
  }

  #encode(type: MessageType, message: Pick<AgentMessage, "sequence" | "flags" | "payloadType" | "payload">): Buffer {
    return encodeMessage({ ...message, type, id: this.#random.uuid(), createdAtMs: this.#clock.now() });
  }
}

/** JSON as the payload of a message. */
export function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
