import type { Clock, Random } from "@virtual-kubelet/clock";
import type { AttachIO, ExecResult, Logger } from "@virtual-kubelet/core";
import { InvalidInputError, UnavailableError, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { ZunApi } from "../zun/zun-api.ts";
import { socketUrlSchema } from "../zun/zun-schemas.ts";
import { ErrorTerminal } from "./error-terminal.ts";
import { endOfInput, errorScript, go, inputFrame, killCommand, maxFrameBytes, pipedScript, terminalScript } from "./exec-script.ts";
import { ScriptSession } from "./script-session.ts";
import { isTooLong } from "./shell-words.ts";
import { chunksOf, writeTo } from "@virtual-kubelet/remote-pods";
import { openTerminal, type SocketSettings } from "./terminal-socket.ts";

/** Maximum wait for the process number of a command whose client is gone. */
const killGraceMs = 3_000;
/** Maximum wait for a terminal's first size. */
const firstSizeMs = 300;

export interface ExecRunnerOptions {
  readonly api: Pick<ZunApi, "execute" | "resizeExec">;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly socket: SocketSettings;
}

/** A command in a container. */
export interface ExecRequest {
  /** The container's uuid. */
  readonly uuid: string;
  readonly command: readonly string[];
  readonly io: AttachIO;
}

/** Runs commands in containers. */
export class ExecRunner implements AsyncDisposable {
  readonly #options: ExecRunnerOptions;
  readonly #kills = new Set<Promise<void>>();

  constructor(options: ExecRunnerOptions) {
    this.#options = options;
  }

  /**
   * Runs a command to its end. Aborting kills the command.
   *
   * @throws UnsupportedError where the image lacks a program that this needs; InvalidInputError for a command that is too long;
   * UnavailableError; `signal.reason`
   */
  async run({ uuid, command, io }: ExecRequest, signal: AbortSignal): Promise<ExecResult> {
    using errors =
      io.tty || !io.stderr ? undefined : await ErrorTerminal.open(await this.#open(uuid, errorScript, signal), io.stderr, signal);
    const script = (nonce: string): string =>
      io.tty
        ? terminalScript({ nonce, command })
        : pipedScript({ nonce, command }, { stdin: io.stdin !== undefined, errors: errors?.target });
    const session = await this.#open(uuid, script, signal);
    const over = new AbortController();
    try {
      const exitCode = await this.#follow({ uuid, session, io, inputs: AbortSignal.any([signal, over.signal]) }, signal);
      await errors?.drained(this.#options.clock);
      return { exitCode };
    } catch (error) {
      if (signal.aborted) this.#killLater(uuid, session);
      throw error;
    } finally {
      over.abort();
      if (!signal.aborted) session.close(io.stdin && !io.tty ? endOfInput : undefined);
    }
  }

  /** Waits until all aborted commands are killed. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#kills);
  }

  async #follow(run: CommandRun, signal: AbortSignal): Promise<number> {
    const { session, io } = run;
    for (;;) {
      const piece = await session.next(signal);
      switch (piece?.kind) {
        case "output":
          await writeTo(io.stdout, piece.bytes, signal);
          break;
        case "begun":
          this.#begin(run);
          break;
        case "ended":
          return piece.code;
        case "missing":
          throw missingProgram(piece.program);
        default:
          throw session.word === undefined
            ? missingProgram("sh")
            : new UnavailableError("the command's terminal was closed before the command had ended: its exit code is unknown");
      }
    }
  }

  #begin(run: CommandRun): void {
    const { session, io, inputs } = run;
    if (!io.tty) session.terminal.write(go);
    const feed = io.stdin && (io.tty ? feedBytes : feedFrames)(session, io.stdin, inputs);
    // The input fails when the client is gone or the command has ended.
    feed?.catch(() => {});
    if (io.tty) void this.#followSizes(run);
  }

  /** Gives the terminal its sizes as they come. The command begins after the first; a client that tells none is not waited for long. */
  async #followSizes({ uuid, session, io, inputs }: CommandRun): Promise<void> {
    const { api, clock, logger } = this.#options;
    let hasBegun = false;
    const begin = (): void => {
      if (!hasBegun && !inputs.aborted) session.terminal.write(go);
      hasBegun = true;
    };
    using _patience = clock.setTimer(firstSizeMs, begin);
    try {
      for await (const { width, height } of io.resizes) {
        if (inputs.aborted) return;
        if (width > 0 && height > 0) await api.resizeExec(uuid, { execId: session.execId, width, height }, inputs);
        begin();
      }
    } catch (err) {
      if (!inputs.aborted) logger.debug({ err }, "the size of a terminal could not be set");
    }
    begin();
  }

  async #open(uuid: string, script: (nonce: string) => string, signal: AbortSignal): Promise<ScriptSession> {
    const { api, socket, random } = this.#options;
    const nonce = `vk-${random.uuid()}-`;
    const command = script(nonce);
    if (isTooLong(command))
      throw new InvalidInputError(
        `run a command of ${command.length} characters: Zun receives it as part of a URL; put a long command into a file or into the input`,
      );
    const { exec_id: execId, proxy_url } = await api.execute(uuid, { command, run: false }, signal);
    const url = socketUrlSchema.safeParse(proxy_url).data;
    if (url === undefined || !execId) throw new UnavailableError("run a command: Zun does not report the address of its streams");
    return new ScriptSession({ terminal: await openTerminal(url, socket, signal), execId, nonce });
  }

  /** Kills an aborted command, because neither Zun nor Docker ends a command when its stream is closed. */
  #killLater(uuid: string, session: ScriptSession): void {
    const work = this.#kill(uuid, session).finally(() => this.#kills.delete(work));
    this.#kills.add(work);
  }

  async #kill(uuid: string, session: ScriptSession): Promise<void> {
    const { api, clock, logger } = this.#options;
    const late = new AbortController();
    using _timer = clock.setTimer(killGraceMs, () => late.abort(new Error("the command did not tell its number")));
    try {
      while (session.word === undefined) if ((await session.next(late.signal)) === undefined) return;
      await api.execute(uuid, { command: killCommand(Number(session.word)), run: true }, late.signal);
    } catch (err) {
      logger.debug({ err }, "a command whose client is gone could not be killed");
    } finally {
      session.close();
    }
  }
}

/** A running command. */
interface CommandRun {
  readonly uuid: string;
  readonly session: ScriptSession;
  readonly io: AttachIO;
  /** Aborts when no more input is wanted. */
  readonly inputs: AbortSignal;
}

/** Sends input in frames, so that its end can be marked. */
async function feedFrames({ terminal }: ScriptSession, stdin: NonNullable<AttachIO["stdin"]>, signal: AbortSignal): Promise<void> {
  try {
    for await (const chunk of chunksOf(stdin, signal))
      for (let at = 0; at < chunk.length; at += maxFrameBytes)
        await writeTo(terminal, inputFrame(chunk.subarray(at, at + maxFrameBytes)), signal);
  } finally {
    if (!signal.aborted) await writeTo(terminal, endOfInput, signal);
  }
}

/** Sends input of a terminal unchanged. */
async function feedBytes({ terminal }: ScriptSession, stdin: NonNullable<AttachIO["stdin"]>, signal: AbortSignal): Promise<void> {
  for await (const chunk of chunksOf(stdin, signal)) await writeTo(terminal, chunk, signal);
}

function missingProgram(program: string): UnsupportedError {
  return new UnsupportedError(
    `run a command: Zun runs every command on a terminal and reports no exit code; a script that makes up for this needs a program that the image does not have: ${program || "sh"}`,
  );
}
