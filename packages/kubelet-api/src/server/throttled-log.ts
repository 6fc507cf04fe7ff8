import type { Clock } from "@virtual-kubelet/clock";
import type { LogFields, Logger } from "@virtual-kubelet/kube-client";

/** How often one kind is told of. */
const intervalMs = 60_000;

/** Kinds that are told apart; the others are one. */
const maxKinds = 16;

/** Tells of what strangers can cause, each kind once a minute: whoever scans ports must not fill the log. */
export class ThrottledLog {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #kinds = new Map<string, { readonly toldMs: number; untold: number }>();

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Something has happened. `more` is how often it did since it was last told of. */
  log(level: "info" | "warn", kind: string, fields: LogFields, message: string): void {
    const key = this.#kinds.has(kind) || this.#kinds.size < maxKinds ? kind : "OTHER";
    const known = this.#kinds.get(key);
    const nowMs = this.#clock.monotonic();
    if (known && nowMs - known.toldMs < intervalMs) {
      known.untold++;
      return;
    }
    this.#kinds.set(key, { toldMs: nowMs, untold: 0 });
    this.#logger[level]({ ...fields, ...(known && known.untold > 0 && { more: known.untold }) }, message);
  }
}
