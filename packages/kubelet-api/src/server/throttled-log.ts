import type { Clock } from "@virtual-kubelet/clock";
import type { LogFields, Logger } from "@virtual-kubelet/kube-client";

/** Minimum time between two log lines of one kind. */
const intervalMs = 60_000;

/** Maximum number of kinds that are throttled separately; all further ones share one. */
const maxKinds = 16;

/** Logs events that unauthorized clients can cause at most once a minute per kind, so that a port scan does not fill the log. */
export class ThrottledLog {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #kinds = new Map<string, { readonly toldMs: number; untold: number }>();

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Logs an event. The field `more` is the number of events that were suppressed since the last line. */
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
