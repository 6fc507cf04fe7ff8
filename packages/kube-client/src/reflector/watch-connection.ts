import type { Clock } from "@virtual-kubelet/clock";
import { DeadlineExceededError } from "@virtual-kubelet/errdefs";
import type { KubeClient, WatchEvent, WatchQuery } from "../rest/client.ts";
import type { KubernetesObject } from "../rest/objects.ts";
import type { Resource } from "../rest/resources.ts";
import { hasArrived } from "../rest/watch-events.ts";
import type { TransportPool } from "../transport/transport.ts";

/** Time beyond the requested duration of a watch after which the connection counts as dead. Source: kube-rs `watcher.rs`. */
const endMarginMs = 5_000;
/** Idle time after which it counts as dead; bookmarks arrive about once a minute. */
const maxSilenceMs = 180_000;

/** Options of {@link openWatch}. */
export interface WatchConnectionOptions<T extends KubernetesObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly query: WatchQuery & { readonly timeoutSeconds: number };
  /** Default `long`. */
  readonly pool?: TransportPool | undefined;
  /** As in `CallOptions`. */
  readonly managedFields?: "keep" | "drop" | undefined;
  /** As in `CallOptions`. */
  readonly answer?: "object" | "metadata" | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Opens a watch that cannot hang: a connection without any data, not even its end, is aborted with
 * a DeadlineExceededError. The caller disposes of it.
 */
export async function openWatch<T extends KubernetesObject>(options: WatchConnectionOptions<T>): Promise<WatchConnection<T>> {
  const connection = new WatchConnection(options);
  try {
    await connection.open();
    return connection;
  } catch (error) {
    connection[Symbol.dispose]();
    throw error;
  }
}

/** An open watch. */
export class WatchConnection<T extends KubernetesObject> implements Disposable {
  readonly #options: WatchConnectionOptions<T>;
  readonly #abort = new AbortController();
  readonly #timers = new Set<Disposable>();
  readonly #onAbort = (): void => this.#abort.abort(this.#options.signal.reason);
  #events: AsyncIterator<WatchEvent<T>> | undefined;
  #openedMs = 0;
  #heardMs = 0;

  constructor(options: WatchConnectionOptions<T>) {
    this.#options = options;
  }

  /** Milliseconds since the answer's head arrived. */
  get openMs(): number {
    return this.#options.clock.monotonic() - this.#openedMs;
  }

  /** Sends the request; resolves with the answer's head. To be called once. */
  async open(): Promise<void> {
    const { client, resource, query, pool = "long", managedFields, answer, clock, signal } = this.#options;
    signal.throwIfAborted();
    signal.addEventListener("abort", this.#onAbort, { once: true });
    this.#heardMs = clock.monotonic();
    this.limit(query.timeoutSeconds * 1000 + endMarginMs, "its end is overdue");
    this.#watchSilence(maxSilenceMs);
    const events = await client.watch(resource, query, { signal: this.#abort.signal, pool, managedFields, answer });
    this.#events = events[Symbol.asyncIterator]();
    this.#openedMs = this.#heardMs = clock.monotonic();
  }

  /** Aborts the connection after `ms` milliseconds, unless the returned handle is disposed of earlier. */
  limit(ms: number, problem: string): Disposable {
    return this.#setTimer(ms, () => this.breakOff(problem));
  }

  /** The next event; `undefined` at the server's end of the watch. */
  async next(): Promise<WatchEvent<T> | undefined> {
    const result = await this.#events?.next();
    this.#heardMs = this.#options.clock.monotonic();
    return result === undefined || result.done ? undefined : result.value;
  }

  /** Returns an event that has already arrived; `undefined` if the next one has to be waited for. @throws as {@link next} rejects */
  arrived(): WatchEvent<T> | undefined {
    return this.#events && hasArrived(this.#events) ? this.#events.arrived() : undefined;
  }

  /** Closes the connection, if it still is open. */
  [Symbol.dispose](): void {
    for (const timer of this.#timers) timer[Symbol.dispose]();
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    this.#abort.abort(new Error("the watch was left"));
    this.#events?.return?.().catch(() => {});
  }

  /** One timer that checks the time of the last line, instead of one timer for each line. */
  #watchSilence(afterMs: number): void {
    this.#setTimer(afterMs, () => {
      const leftMs = maxSilenceMs - (this.#options.clock.monotonic() - this.#heardMs);
      if (leftMs <= 0) this.breakOff(`it has been silent for ${maxSilenceMs / 1000} s`);
      else this.#watchSilence(Math.ceil(leftMs));
    });
  }

  /** Sets a timer that is disposed of with the connection. */
  #setTimer(ms: number, onExpired: () => void): Disposable {
    const timer = this.#options.clock.setTimer(ms, () => {
      this.#timers.delete(timer);
      onExpired();
    });
    this.#timers.add(timer);
    return timer;
  }

  /** Aborts the connection. @param problem - why, as the end of a sentence */
  breakOff(problem: string): void {
    const { resource } = this.#options;
    this.#abort.abort(new DeadlineExceededError(`watch ${resource.plural}: ${problem}; the connection is treated as dead`));
  }
}
