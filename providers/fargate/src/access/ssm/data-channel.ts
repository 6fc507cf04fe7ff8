import { Signal } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/clock";
import type { TerminalSize } from "@virtual-kubelet/core";
import { UnavailableError, UnsupportedError } from "@virtual-kubelet/errdefs";
import { answerHandshake, clientVersion } from "./handshake.ts";
import { InOrder } from "./in-order.ts";
import { decodeMessage, encodeMessage, flagValues, payloadTypes, type ChannelMessage, type MessageType } from "./message.ts";
import { Unacknowledged } from "./unacknowledged.ts";

/** Connection that carries frames. Disposing closes it. */
export interface ChannelSocket extends Disposable {
  /** Frames of the other side, until it closes the connection. */
  readonly frames: AsyncIterable<Uint8Array>;
  send(frame: string | Uint8Array): void;
  ping(): void;
}

/** What comes out of the channel. */
export type ChannelEvent =
  /** The session has started; input is accepted. */
  | { readonly kind: "ready" }
  | { readonly kind: "output"; readonly stream: "stdout" | "stderr"; readonly bytes: Uint8Array }
  | { readonly kind: "exit"; readonly code: number }
  /** The session has ended. */
  | { readonly kind: "closed"; readonly message: string };

export interface DataChannelOptions {
  readonly socket: ChannelSocket;
  readonly clock: Clock;
  readonly random: Random;
  /** Token of the session; a secret. */
  readonly tokenValue: string;
}

/** Maximum size of an input message's payload in bytes. Source: aws/session-manager-plugin src/config/config.go (StreamDataPayloadSize). */
const maxPayloadBytes = 1024;
/** Messages on their way at once; more would only fill the other side's buffer. */
const maxUnacknowledged = 64;
const resendCheckMs = 100;
const pingMs = 300_000;
const synFin = 3;

/**
 * Client side of the data channel of AWS Systems Manager Session Manager, over which ECS runs commands: ordered, acknowledged messages on a
 * WebSocket.
 * Source: aws/session-manager-plugin src/datachannel/streaming.go.
 */
export class DataChannel implements Disposable {
  readonly #options: DataChannelOptions;
  readonly #incoming = new InOrder<ChannelMessage>();
  readonly #outgoing = new Unacknowledged();
  readonly #progress = new Signal();
  readonly #timers: { resend?: Disposable; ping?: Disposable } = {};
  #sequence = 0;
  #isReady = false;
  #isPaused = false;
  #failure: Error | undefined;

  constructor(options: DataChannelOptions) {
    this.#options = options;
  }

  /**
   * Opens the channel, and yields what comes of it until the session is closed. The reader sets the pace.
   *
   * @throws UnavailableError if the connection ends before; UnsupportedError if the session is encrypted
   */
  async *events(): AsyncGenerator<ChannelEvent, void, undefined> {
    const { socket, random, tokenValue } = this.#options;
    socket.send(
      JSON.stringify({
        MessageSchemaVersion: "1.0",
        RequestId: random.uuid(),
        TokenValue: tokenValue,
        ClientId: random.uuid(),
        ClientVersion: clientVersion,
      }),
    );
    this.#watchResends();
    this.#keepAlive();
    for await (const frame of socket.frames) {
      const message = decodeMessage(frame);
      if (!message) continue;
      for (const event of this.#receive(message)) {
        yield event;
        if (event.kind === "closed") return;
      }
      if (this.#failure) throw this.#failure;
    }
    throw this.#failure ?? new UnavailableError("run a command: the connection to AWS ended before the command");
  }

  /** Sends input, and waits while the other side is slow. @throws `signal.reason`; UnavailableError when the other side is gone */
  async write(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    for (let start = 0; start < bytes.byteLength; start += maxPayloadBytes) {
      while (this.#isPaused || this.#outgoing.size >= maxUnacknowledged) {
        if (this.#failure) throw this.#failure;
        await this.#progress.wait(pingMs, this.#options.clock, signal);
        signal.throwIfAborted();
      }
      this.#sendInput(payloadTypes.output, bytes.subarray(start, start + maxPayloadBytes));
    }
  }

  /** Tells the size of the terminal. */
  resize({ width, height }: TerminalSize): void {
    this.#sendInput(payloadTypes.size, Buffer.from(JSON.stringify({ cols: width, rows: height })));
  }

  /** Ends the session and its command. */
  terminate(): void {
    const flag = Buffer.alloc(4);
    flag.writeUInt32BE(flagValues.terminateSession);
    this.#sendInput(payloadTypes.flag, flag);
  }

  /** Closes the connection. */
  [Symbol.dispose](): void {
    this.#timers.resend?.[Symbol.dispose]();
    this.#timers.ping?.[Symbol.dispose]();
    this.#options.socket[Symbol.dispose]();
  }

  *#receive(message: ChannelMessage): Generator<ChannelEvent, void, undefined> {
    switch (message.type) {
      case "acknowledge":
        return this.#acknowledged(message);
      case "pause_publication":
        this.#isPaused = true;
        return;
      case "start_publication":
        this.#isPaused = false;
        return this.#progress.notify();
      case "channel_closed":
        return yield { kind: "closed", message: closingText(message.payload) };
      case "output_stream_data": {
        const ready = this.#incoming.take(message);
        if (ready) this.#acknowledge(message);
        for (const each of ready ?? []) yield* this.#process(each);
        return;
      }
      default:
        // Later versions of the agent may send more.
        return;
    }
  }

  *#process({ payloadType, payload }: ChannelMessage): Generator<ChannelEvent, void, undefined> {
    switch (payloadType) {
      case payloadTypes.handshakeRequest: {
        const { response, problem } = answerHandshake(payload);
        this.#sendInput(payloadTypes.handshakeResponse, Buffer.from(response));
        if (problem !== undefined) this.#failure = new UnsupportedError(`run a command: ${problem}`);
        return;
      }
      case payloadTypes.handshakeComplete:
        return yield* this.#becomeReady();
      case payloadTypes.output:
        // An old agent sends output without a handshake.
        yield* this.#becomeReady();
        return yield { kind: "output", stream: "stdout", bytes: payload };
      case payloadTypes.error:
      case payloadTypes.stderr:
        yield* this.#becomeReady();
        return yield { kind: "output", stream: "stderr", bytes: payload };
      case payloadTypes.exitCode: {
        const code = exitCodeOf(payload);
        if (code !== undefined) yield { kind: "exit", code };
        return;
      }
      case payloadTypes.encryptionChallengeRequest:
        this.#failure = new UnsupportedError("run a command: the session is encrypted with a KMS key, which is not supported");
        return;
      default:
        return;
    }
  }

  *#becomeReady(): Generator<ChannelEvent, void, undefined> {
    if (this.#isReady) return;
    this.#isReady = true;
    yield { kind: "ready" };
  }

  #acknowledged({ payload }: ChannelMessage): void {
    const sequence = acknowledgedSequence(payload);
    if (sequence !== undefined) this.#outgoing.acknowledge(sequence, this.#options.clock.monotonic());
    this.#progress.notify();
  }

  #acknowledge({ type, id, sequence }: ChannelMessage): void {
    const payload = {
      AcknowledgedMessageType: type,
      AcknowledgedMessageId: id,
      AcknowledgedMessageSequenceNumber: sequence,
      IsSequentialMessage: true,
    };
    this.#options.socket.send(
      this.#encode("acknowledge", { sequence: 0, flags: synFin, payloadType: 0, payload: Buffer.from(JSON.stringify(payload)) }),
    );
  }

  #sendInput(payloadType: number, payload: Uint8Array): void {
    const sequence = this.#sequence++;
    const frame = this.#encode("input_stream_data", { sequence, flags: sequence === 0 ? 1 : 0, payloadType, payload });
    this.#outgoing.add(sequence, frame, this.#options.clock.monotonic());
    this.#options.socket.send(frame);
  }

  #encode(type: MessageType, rest: Pick<ChannelMessage, "sequence" | "flags" | "payloadType" | "payload">): Buffer {
    const { random, clock } = this.#options;
    return encodeMessage({ type, id: random.uuid(), createdMs: clock.now(), ...rest });
  }

  #watchResends(): void {
    const { clock, socket } = this.#options;
    this.#timers.resend = clock.setTimer(resendCheckMs, () => {
      const due = this.#isPaused ? undefined : this.#outgoing.due(clock.monotonic());
      if (due === "gone") {
        this.#failure = new UnavailableError("run a command: the container does not confirm any input");
        this.#progress.notify();
        socket[Symbol.dispose]();
        return;
      }
      if (due) socket.send(due);
      this.#watchResends();
    });
  }

  #keepAlive(): void {
    const { clock, socket } = this.#options;
    this.#timers.ping = clock.setTimer(pingMs, () => {
      socket.ping();
      this.#keepAlive();
    });
  }
}

function acknowledgedSequence(payload: Uint8Array): number | undefined {
  const value = readField(payload, "AcknowledgedMessageSequenceNumber");
  return typeof value === "number" && Number.isSafeInteger(value) ? value : undefined;
}

function closingText(payload: Uint8Array): string {
  const value = readField(payload, "Output");
  return typeof value === "string" ? value : "";
}

function readField(payload: Uint8Array, name: string): unknown {
  try {
    const value: unknown = JSON.parse(Buffer.from(payload).toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
  } catch {
    return undefined;
  }
}

/** Reads decimal digits, or a 32-bit number. */
function exitCodeOf(payload: Uint8Array): number | undefined {
  const text = Buffer.from(payload).toString("latin1").trim();
  if (/^\d{1,3}$/.test(text)) return Number(text);
  return payload.byteLength === 4 ? Buffer.from(payload).readUInt32BE() & 0xff : undefined;
}
