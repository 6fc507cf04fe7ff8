import type { Random } from "@virtual-kubelet/clock";
import type { ChannelSocket } from "../access/ssm/data-channel.ts";
import { decodeMessage, encodeMessage, payloadTypes, type ChannelMessage } from "../access/ssm/message.ts";

/** Other side of a data channel: what the agent in a task sends and receives. */
export class FakeAgent {
  /** Texts of the client, such as the one that opens the channel. */
  readonly texts: string[] = [];
  /** All input messages in the order of their arrival, repeated ones included. */
  readonly inputs: ChannelMessage[] = [];
  /** Sequence numbers that the client has acknowledged. */
  readonly acknowledged: number[] = [];
  /** Whether input is acknowledged. */
  confirms = true;
  /** Called with each input message that is not a repeated one. */
  onInput: (message: ChannelMessage) => void = () => {};
  isClosed = false;
  pings = 0;
  readonly #random: Random;
  readonly #frames: Uint8Array[] = [];
  readonly #seen = new Set<number>();
  #wake = Promise.withResolvers<void>();
  #sequence = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** The client's end of the connection. */
  get socket(): ChannelSocket {
    return {
      frames: this.#read(),
      send: (frame) => this.#receive(frame),
      ping: () => void this.pings++,
      [Symbol.dispose]: () => this.close(),
    };
  }

  /** Sends an output message. @param sequence - default: the next one */
  send(payloadType: number, payload: string | Uint8Array, sequence: number = this.#sequence++): void {
    this.push("output_stream_data", { payloadType, payload: Buffer.from(payload), sequence });
  }

  output(text: string): void {
    this.send(payloadTypes.output, text);
  }

  /** Starts the session. */
  greet(actions: readonly object[] = [{ ActionType: "SessionType", ActionParameters: {} }]): void {
    this.send(payloadTypes.handshakeRequest, JSON.stringify({ AgentVersion: "3", RequestedClientActions: actions }));
    this.send(payloadTypes.handshakeComplete, "{}");
  }

  /** Ends the session. */
  end(Output: string = "bye"): void {
    this.push("channel_closed", { payloadType: 0, payload: Buffer.from(JSON.stringify({ Output })), sequence: 0 });
  }

  /** Closes the connection. */
  close(): void {
    this.isClosed = true;
    this.#notify();
  }

  /** Sends a message of any type. */
  push(type: string, message: Pick<ChannelMessage, "payloadType" | "payload" | "sequence">): void {
    this.#frames.push(encodeMessage({ type, id: this.#random.uuid(), createdMs: 0, flags: 0, ...message }));
    this.#notify();
  }

  async *#read(): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      for (let frame = this.#frames.shift(); frame; frame = this.#frames.shift()) yield frame;
      if (this.isClosed) return;
      await this.#wake.promise;
    }
  }

  #receive(frame: string | Uint8Array): void {
    if (typeof frame === "string") {
      this.texts.push(frame);
      return;
    }
    const message = decodeMessage(frame);
    if (!message) throw new Error("the client sent a frame that cannot be read");
    if (message.type === "acknowledge") {
      const { AcknowledgedMessageSequenceNumber: number } = JSON.parse(Buffer.from(message.payload).toString()) as Record<string, number>;
      this.acknowledged.push(number ?? -1);
      return;
    }
    this.inputs.push(message);
    if (this.confirms) this.confirm(message);
    if (this.#seen.has(message.sequence)) return;
    this.#seen.add(message.sequence);
    this.onInput(message);
  }

  /** Acknowledges an input message. */
  confirm({ type, id, sequence }: ChannelMessage): void {
    const payload = {
      AcknowledgedMessageType: type,
      AcknowledgedMessageId: id,
      AcknowledgedMessageSequenceNumber: sequence,
      IsSequentialMessage: true,
    };
    this.push("acknowledge", { payloadType: 0, payload: Buffer.from(JSON.stringify(payload)), sequence: 0 });
  }

  #notify(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}
