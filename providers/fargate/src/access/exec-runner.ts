import type { Clock, Random } from "@virtual-kubelet/clock";
import type { AttachIO, ExecResult } from "@virtual-kubelet/core";
import { UnavailableError, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { EcsApi } from "../aws/ecs-api.ts";
import { endOfInput, go, inputFrame, maxFrameBytes, pipedScript } from "./exec-script.ts";
import { MarkedStream, toCommandLine, chunksOf, writeTo } from "@virtual-kubelet/remote-pods";
import { DataChannel, type ChannelSocket } from "./ssm/data-channel.ts";

export interface ExecRunnerOptions {
  readonly api: Pick<EcsApi, "executeCommand">;
  readonly clock: Clock;
  readonly random: Random;
  /** Connects to a session's streams. */
  readonly openSocket: (streamUrl: string, signal: AbortSignal) => Promise<ChannelSocket>;
}

/** A command in a container. */
export interface ExecRequest {
  readonly taskArn: string;
  readonly container: string;
  readonly command: readonly string[];
  readonly io: AttachIO;
}

/**
 * Runs a command to its end. Aborting ends it.
 *
 * With a terminal, the command runs as it is, and its exit code is known only if the agent tells it; otherwise it is 0. Without a terminal, a
 * script of `sh` reports the exit code and ends the input; errors come with the output.
 *
 * @throws UnsupportedError if the image lacks a program that the script needs; UnavailableError; `signal.reason`
 */
export async function runCommand(
  options: ExecRunnerOptions,
  { taskArn, container, command, io }: ExecRequest,
  signal: AbortSignal,
): Promise<ExecResult> {
  const { api, clock, random, openSocket } = options;
  const nonce = `vk-${random.uuid()}-`;
  const line = io.tty ? toCommandLine(command) : pipedScript(command, nonce, { stdin: io.stdin !== undefined });
  const { streamUrl, tokenValue } = await api.executeCommand(taskArn, container, line, signal);
  using channel = new DataChannel({ socket: await openSocket(streamUrl, signal), clock, random, tokenValue });
  const over = new AbortController();
  const inputs = AbortSignal.any([signal, over.signal]);
  const onAbort = (): void => {
    channel.terminate();
    channel[Symbol.dispose]();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const exitCode = await (io.tty ? followTerminal(channel, io, inputs) : followScript(channel, { io, nonce }, inputs));
    return { exitCode };
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    over.abort();
    signal.removeEventListener("abort", onAbort);
    if (!signal.aborted) channel.terminate();
  }
}

async function followTerminal(channel: DataChannel, io: AttachIO, signal: AbortSignal): Promise<number> {
  let exitCode = 0;
  for await (const event of channel.events())
    switch (event.kind) {
      case "ready":
        runAside(followSizes(channel, io, signal));
        if (io.stdin) runAside(feedBytes(channel, io.stdin, signal));
        break;
      case "output":
        await writeTo(io.stdout, event.bytes, signal);
        break;
      case "exit":
        exitCode = event.code;
        break;
      case "closed":
        return exitCode;
      default:
        return event satisfies never;
    }
  return exitCode;
}

async function followScript(
  channel: DataChannel,
  { io, nonce }: { readonly io: AttachIO; readonly nonce: string },
  signal: AbortSignal,
): Promise<number> {
  const marked = new MarkedStream(nonce);
  let hasBegun = false;
  for await (const event of channel.events()) {
    if (event.kind === "closed") {
      if (!hasBegun) throw missingProgram("sh", event.message);
      throw new UnavailableError(
        `run a command: the session was closed before the command had ended: ${event.message || "no reason is given"}`,
      );
    }
    if (event.kind !== "output") continue;
    for (const piece of marked.push(event.bytes))
      switch (piece.kind) {
        case "output":
          await writeTo(io.stdout, piece.bytes, signal);
          break;
        case "begun":
          hasBegun = true;
          await channel.write(Buffer.from(go), signal);
          if (io.stdin) runAside(feedFrames(channel, io.stdin, signal));
          break;
        case "ended":
          return piece.code;
        case "missing":
          throw missingProgram(piece.program, "");
        default:
          return piece satisfies never;
      }
  }
  throw new UnavailableError("run a command: the connection to AWS ended before the command");
}

/** Input and sizes end with the command or the client; their failures are seen in the output. */
function runAside(work: Promise<void>): void {
  work.catch(() => {});
}

async function feedFrames(channel: DataChannel, stdin: NonNullable<AttachIO["stdin"]>, signal: AbortSignal): Promise<void> {
  for await (const chunk of chunksOf(stdin, signal))
    for (let start = 0; start < chunk.length; start += maxFrameBytes)
      await channel.write(inputFrame(chunk.subarray(start, start + maxFrameBytes)), signal);
  await channel.write(Buffer.from(endOfInput), signal);
}

async function feedBytes(channel: DataChannel, stdin: NonNullable<AttachIO["stdin"]>, signal: AbortSignal): Promise<void> {
  for await (const chunk of chunksOf(stdin, signal)) await channel.write(chunk, signal);
}

async function followSizes(channel: DataChannel, io: AttachIO, signal: AbortSignal): Promise<void> {
  for await (const size of io.resizes) {
    if (signal.aborted) return;
    if (size.width > 0 && size.height > 0) channel.resize(size);
  }
}

function missingProgram(program: string, detail: string): UnsupportedError {
  return new UnsupportedError(
    `run a command: ECS runs every command on a terminal; without one, a script reports the exit code, and it needs a program that the image does ` +
      `not have: ${program}${detail === "" ? "" : ` (${detail})`}`,
  );
}
