import { untilAborted } from "@virtual-kubelet/async";
import type { AttachIO, Clock, ExecResult, Logger, Random, TerminalSize } from "@virtual-kubelet/core";
import { InvalidInputError, UnavailableError, UnsupportedError } from "@virtual-kubelet/errdefs";
import { chunksOf, writeTo } from "@virtual-kubelet/remote-pods";
import type { Duplex } from "node:stream";
import type { ContainerGroups, GroupPlace } from "../azure/container-groups.ts";
import { endOfInput, firstLine, inputFrames, killLine, pipedScript, shell, terminalScript } from "./exec-script.ts";
import { markedStream, type Piece } from "./script-marks.ts";
import type { OpenSocket, SocketStream } from "./web-socket.ts";

/** Maximum wait for a terminal's first size; later sizes cannot be passed on. */
const firstSizeMs = 300;
/** Maximum wait for output of a command that has ended. */
const lastOutputMs = 2_000;
/** Maximum time for the end of a command whose client is gone. */
const killMs = 10_000;

const defaultSize: TerminalSize = { width: 80, height: 24 };

export interface ExecRunnerOptions {
  readonly groups: Pick<ContainerGroups, "exec">;
  readonly openSocket: OpenSocket;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** See the setting `exec`. */
  readonly mode: "shell" | "direct";
}

/** A command in a container. */
export interface ExecRequest {
  readonly place: GroupPlace & { readonly container: string };
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
   * Runs a command to its end. Aborting ends the command.
   *
   * @throws UnsupportedError if the image lacks `sh`, `stty` or `dd`; InvalidInputError for arguments in the mode `direct`; UnavailableError if the
   * stream closes before the end is known; `signal.reason`
   */
  run(request: ExecRequest, signal: AbortSignal): Promise<ExecResult> {
    return this.#options.mode === "shell" ? this.#runInShell(request, signal) : this.#runDirectly(request, signal);
  }

  /** Waits until commands of clients that are gone have been ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#kills);
  }

  async #runInShell({ place, command, io }: ExecRequest, signal: AbortSignal): Promise<ExecResult> {
    const { random } = this.#options;
    const nonce = `vk-${random.uuid()}-`;
    const script = io.tty ? terminalScript({ nonce, command }) : pipedScript({ nonce, command }, { stdin: io.stdin !== undefined });
    const { stream } = await this.#open(place, shell, await this.#sizeOf(io, signal), signal);
    const pieces = readPieces(stream, nonce);
    const over = new AbortController();
    const inputs = AbortSignal.any([signal, over.signal]);
    let pid: number | undefined;
    try {
      await writeTo(stream, firstLine(nonce, script), signal);
      return await this.#follow(pieces, signal, {
        onBegun: async (shellPid) => {
          pid = shellPid;
          await writeTo(stream, script, signal);
          feed(stream, io, inputs).catch(() => {});
        },
        onEnded: async () => {
          over.abort();
          if (io.stdin && !io.tty) await writeTo(stream, endOfInput, signal);
        },
        io,
      });
    } catch (error) {
      if (signal.aborted && pid !== undefined) this.#killLater(place, pid);
      throw error;
    } finally {
      over.abort();
      stream.destroy();
    }
  }

  async #follow(
    pieces: AsyncIterator<Piece>,
    signal: AbortSignal,
    work: {
      readonly io: AttachIO;
      onBegun(pid: number): Promise<void>;
      onEnded(): Promise<void>;
    },
  ): Promise<ExecResult> {
    const patience = Promise.withResolvers<IteratorResult<Piece>>();
    const { io } = work;
    let exitCode: number | undefined;
    let hasBegun = false;
    let timer: Disposable | undefined;
    try {
      for (;;) {
        const { done, value } = await untilAborted(Promise.race([pieces.next(), patience.promise]), signal);
        if (done) break;
        switch (value.kind) {
          case "output":
            await writeTo(io.stdout, value.bytes, signal);
            break;
          case "errors":
            await writeTo(io.stderr ?? io.stdout, value.bytes, signal);
            break;
          case "begun":
            hasBegun = true;
            await work.onBegun(Number(value.word));
            break;
          case "ended":
            exitCode = value.code;
            await work.onEnded();
            // A process that the command has left behind may keep its errors open.
            timer = this.#options.clock.setTimer(lastOutputMs, () => patience.resolve({ done: true, value: undefined }));
            break;
          case "done":
            patience.resolve({ done: true, value: undefined });
            break;
          case "missing":
            throw missingProgram(value.program);
        }
        if (value.kind === "done") break;
      }
    } finally {
      timer?.[Symbol.dispose]();
    }
    if (exitCode !== undefined) return { exitCode };
    throw hasBegun
      ? new UnavailableError("run a command: its stream was closed before it had ended, so that its exit code is unknown")
      : missingProgram("sh");
  }

  /** Runs one program as Azure does: without arguments of its own, and without an exit code. */
  async #runDirectly({ place, command, io }: ExecRequest, signal: AbortSignal): Promise<ExecResult> {
    if (command.some((word) => !/^[\w@%+=:,./-]+$/.test(word)))
      throw new InvalidInputError(
        "run a command: with exec: direct, words are passed on joined by spaces, so that none may have spaces or quotes",
      );
    const { stream, isBroken } = await this.#open(place, command.join(" "), await this.#sizeOf(io, signal), signal);
    const over = new AbortController();
    feed(stream, { ...io, tty: true }, AbortSignal.any([signal, over.signal])).catch(() => {});
    try {
      const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
      for (;;) {
        const { done, value } = await untilAborted(
          chunks.next().catch((): IteratorResult<Buffer> => ({ done: true, value: undefined })),
          signal,
        );
        if (done && isBroken()) throw new UnavailableError("run a command: the connection to Azure broke before the command had ended");
        if (done) return { exitCode: 0 };
        await writeTo(io.stdout ?? io.stderr, value, signal);
      }
    } finally {
      over.abort();
      stream.destroy();
    }
  }

  async #open(place: ExecRequest["place"], command: string, { width, height }: TerminalSize, signal: AbortSignal): Promise<SocketStream> {
    const { groups, openSocket } = this.#options;
    const { webSocketUri, password } = await groups.exec({ ...place, command, size: { rows: height, cols: width } }, signal);
    return openSocket(webSocketUri, { message: password }, signal);
  }

  async #sizeOf({ tty, resizes }: AttachIO, signal: AbortSignal): Promise<TerminalSize> {
    if (!tty) return defaultSize;
    const late = Promise.withResolvers<TerminalSize>();
    using _timer = this.#options.clock.setTimer(firstSizeMs, () => late.resolve(defaultSize));
    const first = resizes[Symbol.asyncIterator]()
      .next()
      .then(({ done, value }): TerminalSize => (done || !value.width || !value.height ? defaultSize : value));
    return await untilAborted(Promise.race([first, late.promise]), signal);
  }

  #killLater(place: ExecRequest["place"], pid: number): void {
    const work = this.#kill(place, pid).finally(() => this.#kills.delete(work));
    this.#kills.add(work);
  }

  async #kill(place: ExecRequest["place"], pid: number): Promise<void> {
    const { clock, logger } = this.#options;
    const late = new AbortController();
    using _timer = clock.setTimer(killMs, () => late.abort(new Error("it took too long")));
    try {
      const { stream } = await this.#open(place, shell, defaultSize, late.signal);
      await writeTo(stream, killLine(pid), late.signal);
      await untilAborted(ended(stream), late.signal).finally(() => stream.destroy());
    } catch (err) {
      logger.debug({ err }, "a command whose client is gone could not be ended");
    }
  }
}

/** Resolves when the other side has closed a stream. */
async function ended(stream: Duplex): Promise<void> {
  try {
    for await (const _chunk of stream);
  } catch {
    // A stream that breaks is closed, too.
  }
}

async function* readPieces(stream: Duplex, nonce: string): AsyncGenerator<Piece, void, undefined> {
  const marked = markedStream(nonce);
  try {
    for await (const chunk of stream) yield* marked.push(chunk as Buffer);
  } catch {
    // A stream that breaks ends without the mark of an end.
  }
  yield* marked.end();
}

/** Sends a client's input, in frames unless it goes to a terminal. */
async function feed(stream: Duplex, { stdin, tty }: AttachIO, signal: AbortSignal): Promise<void> {
  if (!stdin) return;
  for await (const chunk of chunksOf(stdin, signal)) await writeTo(stream, tty ? chunk : inputFrames(chunk), signal);
  if (!tty) await writeTo(stream, endOfInput, signal);
}

function missingProgram(program: string): UnsupportedError {
  return new UnsupportedError(
    `run a command: Azure Container Instances takes no arguments and reports no exit code; a script that makes up for this needs ${program}, which the image does not have. Set exec: direct to run single programs without exit codes`,
  );
}
