import type { Clock } from "@virtual-kubelet/core";
import type { Writable } from "node:stream";
import type { ErrorTarget } from "./exec-script.ts";
import type { ScriptSession } from "./script-session.ts";
import { writeTo } from "@virtual-kubelet/remote-pods";

/** How long the rest of the errors may take once the command has ended. */
const lastErrorsMs = 2_000;

/** A second terminal in the container, that a command's errors go to: so they come apart from its output. */
export class ErrorTerminal implements Disposable {
  /** Where the errors are to go; `undefined` if it has no path in the container, and they come with the output. */
  readonly target: ErrorTarget | undefined;
  readonly #session: ScriptSession;
  readonly #end = new AbortController();
  readonly #drained: Promise<void>;

  private constructor(session: ScriptSession, stderr: Writable) {
    this.#session = session;
    this.target = session.word?.startsWith("/") ? { path: session.word, nonce: session.nonce } : undefined;
    this.#drained = this.#pump(stderr).catch(() => {});
  }

  /** Waits until the terminal is there. @throws `signal.reason` */
  static async open(session: ScriptSession, stderr: Writable, signal: AbortSignal): Promise<ErrorTerminal> {
    try {
      while (session.word === undefined) if ((await session.next(signal)) === undefined) break;
    } catch (error) {
      session.close();
      throw error;
    }
    return new ErrorTerminal(session, stderr);
  }

  /** Resolves when all that the command wrote has arrived. */
  async drained(clock: Clock): Promise<void> {
    if (this.target === undefined) return;
    const patience = Promise.withResolvers<void>();
    using _timer = clock.setTimer(lastErrorsMs, () => patience.resolve());
    await Promise.race([this.#drained, patience.promise]);
  }

  /** Gives the terminal back. */
  [Symbol.dispose](): void {
    this.#end.abort();
    this.#session.close("\n");
  }

  async #pump(stderr: Writable): Promise<void> {
    for (;;) {
      const piece = await this.#session.next(this.#end.signal);
      if (piece === undefined || piece.kind === "ended") return;
      if (piece.kind === "output") await writeTo(stderr, piece.bytes, this.#end.signal);
    }
  }
}
