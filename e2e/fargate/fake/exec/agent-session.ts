import type { Clock, Random } from "@virtual-kubelet/clock";
import type { WebSocket } from "ws";
import type { ContainerRun, HostSession } from "../../../support/container-host/container-host.ts";
import { shellSplit } from "../../../zun/fake/shell-split.ts";
import { payloadTypes, type AgentMessage } from "./agent-message.ts";
import { json, MessageChannel, type ChannelFaults } from "./message-channel.ts";

/** Behavior of the agent, which tests script. */
export interface SessionScript extends ChannelFaults {
  /** Whether the exit code is sent in a message of its own. Default: false, because it is not known that ECS does. */
  readonly sendsExitCode?: boolean;
  /** Maximum bytes of output in a message; small values split characters. Default: 1024. */
  readonly chunkBytes?: number;
  /** Cuts the connection without a close frame after so many bytes of output. */
  readonly cutAfterBytes?: number;
  /** Demands encryption by KMS in the handshake. */
  readonly demandsEncryption?: boolean;
  /** Tells the client to pause its input right after the handshake; `resume` on the session ends that. */
  readonly pauses?: boolean;
}

/** What a session is for. */
export interface SessionTarget {
  readonly id: string;
  readonly token: string;
  readonly run: ContainerRun;
  readonly command: string;
}

/** Size of a terminal before the client has told its own. */
const firstSize = { rows: 24, columns: 80 };

/** A session of the agent in a container: the handshake, the command on a terminal, and the end. */
export class AgentSession {
  readonly target: SessionTarget;
  /** Sizes that the client has told. */
  readonly sizes: { readonly columns: number; readonly rows: number }[] = [];
  readonly #socket: WebSocket;
  readonly #channel: MessageChannel;
  readonly #script: SessionScript;
  readonly #clock: Clock;
  #command: Promise<HostSession> | undefined;
  #sentBytes = 0;
  #isPaused = false;

  constructor(
    socket: WebSocket,
    target: SessionTarget,
    script: SessionScript,
    { clock, random }: { readonly clock: Clock; readonly random: Random },
  ) {
    this.target = target;
    this.#socket = socket;
    this.#script = script;
    this.#clock = clock;
    this.#channel = new MessageChannel(socket, clock, random, script);
    this.#channel.onInput = (message) => this.#input(message);
    socket.on("message", (data: Buffer, isBinary) => {
      if (isBinary) this.#channel.receive(data);
      else this.#channel.problems.push("a text frame came after the first");
    });
    socket.on("close", () => void this.#leave());
    this.#channel.send(payloadTypes.handshakeRequest, this.#handshakeRequest());
  }

  /** What the client has done wrong. */
  get problems(): readonly string[] {
    return this.#channel.problems;
  }

  /** Lets a paused client send again. */
  resume(): void {
    this.#isPaused = false;
    this.#channel.tell("start_publication", { SessionId: this.target.id });
  }

  #handshakeRequest(): Buffer {
    const { demandsEncryption = false } = this.#script;
    return json({
      AgentVersion: "3.3.1611.0",
      RequestedClientActions: [
        { ActionType: "SessionType", ActionParameters: { SessionType: "InteractiveCommands", Properties: {} } },
        ...(demandsEncryption
          ? [{ ActionType: "KMSEncryption", ActionParameters: { KMSKeyId: "arn:aws:kms:us-east-1:123456789012:key/1" } }]
          : []),
      ],
    });
  }

  #input({ payloadType, payload }: AgentMessage): void {
    switch (payloadType) {
      case payloadTypes.handshakeResponse:
        return this.#handshake(JSON.parse(payload.toString("utf8")) as Record<string, unknown>);
      case payloadTypes.output:
        if (this.#isPaused) this.#channel.problems.push("the client sent input while it was paused");
        void this.#command?.then(({ stream }) => stream.write(payload));
        return;
      case payloadTypes.size: {
        const { cols, rows } = JSON.parse(payload.toString("utf8")) as { readonly cols: number; readonly rows: number };
        this.sizes.push({ columns: cols, rows });
        void this.#command?.then((session) => session.resize({ columns: cols, rows }));
        return;
      }
      case payloadTypes.flag:
        // 1 is disconnect, 2 terminates the session.
        if (payload.readUInt32BE(0) === 2) this.#terminate();
        return;
      default:
        this.#channel.problems.push(`the client sent a payload of type ${payloadType}`);
    }
  }

  #handshake({ ClientVersion: version, ProcessedClientActions: actions }: Readonly<Record<string, unknown>>): void {
    const processed = Array.isArray(actions) ? (actions as readonly Readonly<Record<string, unknown>>[]) : [];
    const wanted = this.#script.demandsEncryption ? 2 : 1;
    if (typeof version !== "string" || processed.length !== wanted) this.#channel.problems.push("the handshake response lacks members");
    const failed = processed.find(({ ActionStatus: status }) => status !== 1);
    if (failed !== undefined) return this.#close(`Handshake with client failed: ${JSON.stringify(failed)}`);
    this.#channel.send(payloadTypes.handshakeComplete, json({ HandshakeTimeToComplete: 1_000_000, CustomerMessage: "" }));
    if (this.#script.pauses) {
      this.#isPaused = true;
      this.#channel.tell("pause_publication", { SessionId: this.target.id });
    }
    this.#command = this.#start();
    // A failure is told to the client by `#run`.
    this.#command.catch(() => {});
    void this.#run(this.#command);
  }

  /** The agent of a container splits the command like a shell, without running one. Source: amazon-ssm-agent, `shell_unix.go`. */
  #start(): Promise<HostSession> {
    const last = this.sizes.at(-1);
    return this.target.run.exec(shellSplit(this.target.command), { terminal: last ?? firstSize });
  }

  async #run(starting: Promise<HostSession>): Promise<void> {
    try {
      const session = await starting;
      const { chunkBytes = 1024 } = this.#script;
      for await (const data of session.stream as AsyncIterable<Buffer | string>) {
        const bytes = Buffer.from(data as Buffer);
        for (let at = 0; at < bytes.length; at += chunkBytes) this.#output(bytes.subarray(at, at + chunkBytes));
      }
      const exitCode = await session.exitCode;
      // Source of the text: amazon-ssm-agent, `sendExitCode`.
      if (this.#script.sendsExitCode) this.#channel.send(payloadTypes.exitCode, Buffer.from(`EXIT_CODE: ${exitCode}`));
      await this.#channel.drained();
      this.#close("");
    } catch (error) {
      this.#close(`Unable to start command: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #output(bytes: Buffer): void {
    const { cutAfterBytes = Infinity } = this.#script;
    if (this.#sentBytes >= cutAfterBytes) return;
    this.#channel.send(payloadTypes.output, bytes);
    this.#sentBytes += bytes.length;
    if (this.#sentBytes >= cutAfterBytes) this.#socket.terminate();
  }

  /** The agent kills the command of a session that is terminated. Source: amazon-ssm-agent, `executeCommandsWithPty`. */
  #terminate(): void {
    void this.#command?.then((session) => session.kill?.()).catch(() => {});
    this.#close("");
  }

  #close(output: string): void {
    const { id } = this.target;
    this.#channel.tell("channel_closed", {
      MessageType: "channel_closed",
      MessageId: id,
      DestinationId: id,
      SessionId: id,
      SchemaVersion: 1,
      CreatedDate: new Date(this.#clock.now()).toISOString(),
      Output: output,
    });
    this.#socket.close(1000);
  }

  async #leave(): Promise<void> {
    this.#channel.close();
    const session = await this.#command?.catch(() => undefined);
    session?.close();
  }
}
