import type { Clock, Logger } from "@virtual-kubelet/kube-client";

/** How often one kind of failure is told of. */
const intervalMs = 60_000;

/** Kinds that are told apart; the others are one. */
const maxKinds = 16;

/** Tells of handshakes that fail, each kind once a minute: whoever scans ports must not fill the log. */
export class TlsErrorLog {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #kinds = new Map<string, { readonly toldMs: number; untold: number }>();

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** A handshake has failed. */
  note(error: Error & { readonly code?: string }, address: string | undefined): void {
    const code = error.code ?? "UNKNOWN";
    const kind = this.#kinds.has(code) || this.#kinds.size < maxKinds ? code : "OTHER";
    const known = this.#kinds.get(kind);
    const nowMs = this.#clock.monotonic();
    if (known && nowMs - known.toldMs < intervalMs) {
      known.untold++;
      return;
    }
    this.#kinds.set(kind, { toldMs: nowMs, untold: 0 });
    this.#logger.info({ code, address, ...(known && known.untold > 0 && { more: known.untold }) }, "a TLS handshake failed");
  }
}
