import type { Clock } from "@virtual-kubelet/clock";
import { DeadlineExceededError } from "@virtual-kubelet/errdefs";
import type { KubeClient, WatchEvent, WatchQuery } from "../rest/client.ts";
import type { KubernetesObject } from "../rest/objects.ts";
import type { Resource } from "../rest/resources.ts";
import type { TransportPool } from "../transport/transport.ts";

/** How much longer than asked for a watch may last before the connection counts as dead. Source: kube-rs `watcher.rs`. */
const endMarginMs = 5_000;
/** Silence after which it counts as dead: bookmarks come about once a minute. */
const maxSilenceMs = 180_000;

/** What {@link openWatch} opens, and how it is timed. */
export interface WatchConnectionOptions<T extends KubernetesObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly query: WatchQuery & { readonly timeoutSeconds: number };
  /** Default `long`. */
  readonly pool?: TransportPool | undefined;
  /** As in `CallOptions`. */
  readonly managedFields?: "keep" | "drop" | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Opens a watch that cannot hang: a connection over which nothing comes any more, not even its end, is broken off with
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

  /** Milliseconds since the answer's head came. */
  get openMs(): number {
    return this.#options.clock.monotonic() - this.#openedMs;
  }

  /** Sends the request; resolves with the answer's head. To be called once. */
  async open(): Promise<void> {
    const { client, resource, query, pool = "long", managedFields, clock, signal } = this.#options;
    signal.throwIfAborted();
    signal.addEventListener("abort", this.#onAbort, { once: true });
    this.#heardMs = clock.monotonic();
    this.limit(query.timeoutSeconds * 1000 + endMarginMs, "its end is overdue");
    this.#watchSilence(maxSilenceMs);
    const events = await client.watch(resource, query, { signal: this.#abort.signal, pool, managedFields });
    this.#events = events[Symbol.asyncIterator]();
    this.#openedMs = this.#heardMs = clock.monotonic();
  }

  /** Breaks the connection off after `ms` milliseconds, unless what it returns is disposed before. */
  limit(ms: number, problem: string): Disposable {
    return this.#setTimer(ms, () => this.#breakOff(problem));
  }

  /** The next event; `undefined` at the server's end of the watch. */
  async next(): Promise<WatchEvent<T> | undefined> {
    const result = await this.#events?.next();
    this.#heardMs = this.#options.clock.monotonic();
    return result === undefined || result.done ? undefined : result.value;
  }

  /** Closes the connection, if it still is open. */
  [Symbol.dispose](): void {
    for (const timer of this.#timers) timer[Symbol.dispose]();
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    this.#abort.abort(new Error("the watch was left"));
    this.#events?.return?.().catch(() => {});
  }

  /** One timer that looks when something was last heard, instead of one for each line. */
  #watchSilence(afterMs: number): void {
    this.#setTimer(afterMs, () => {
      const leftMs = maxSilenceMs - (this.#options.clock.monotonic() - this.#heardMs);
      if (leftMs <= 0) this.#breakOff(`it has been silent for ${maxSilenceMs / 1000} s`);
      else this.#watchSilence(Math.ceil(leftMs));
    });
  }

  /** Sets a timer that ends with the connection, unless it is disposed before. */
  #setTimer(ms: number, onExpired: () => void): Disposable {
    const timer = this.#options.clock.setTimer(ms, () => {
      this.#timers.delete(timer);
      onExpired();
    });
    this.#timers.add(timer);
    return timer;
  }

  #breakOff(problem: string): void {
    const { resource } = this.#options;
    this.#abort.abort(new DeadlineExceededError(`watch ${resource.plural}: ${problem}; the connection is taken for dead`));
  }
}
