import type { Clock, Provider } from "@virtual-kubelet/core";

/** Methods that run as long as a command, a client or a connection. All others must return soon. */
const lasting: ReadonlySet<PropertyKey> = new Set<keyof Provider>(["runInContainer", "attachToContainer", "portForward"]);

/** Tracks the calls of a provider that are in progress, and fails when one does not return in time. */
export class CallWatch {
  /** Rejects when a call does not return in time, or at {@link stop}. */
  readonly failed: Promise<never>;
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #fail: (error: Error) => void;
  readonly #underWay = new Set<{ readonly method: string; readonly startedMs: number }>();
  #stopped: Error | undefined;

  /** @param limitMs - milliseconds that a call may take */
  constructor({ clock, limitMs }: { readonly clock: Clock; readonly limitMs: number }) {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => {});
    this.failed = promise;
    this.#fail = reject;
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  /** Returns the same provider with every call tracked. */
  watch(provider: Provider): Provider {
    return new Proxy(provider, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== "function") return value;
        return (...args: readonly unknown[]): unknown => {
          if (this.#stopped) throw this.#stopped;
          const result: unknown = Reflect.apply(value, target, args);
          return result instanceof Promise ? this.#settled(key, result) : result;
        };
      },
    });
  }

  /** Calls that have not returned, each with its age. */
  underWay(): readonly string[] {
    return [...this.#underWay].map(
      ({ method, startedMs }) => `${method}, called ${Math.round(this.#clock.monotonic() - startedMs)} ms ago`,
    );
  }

  /** Makes every further call fail, and {@link failed} reject. */
  stop(reason: Error): void {
    this.#stopped ??= reason;
    this.#fail(reason);
  }

  async #settled<T>(key: PropertyKey, result: Promise<T>): Promise<T> {
    const method = typeof key === "symbol" ? `[${key.description ?? ""}]` : String(key);
    const call = { method, startedMs: this.#clock.monotonic() };
    this.#underWay.add(call);
    using _timer = lasting.has(key) ? undefined : this.#clock.setTimer(this.#limitMs, () => this.#fail(overdue(method, this.#limitMs)));
    try {
      return await result;
    } finally {
      this.#underWay.delete(call);
    }
  }
}

/** Error of a call that did not return in time. */
export function overdue(call: string, limitMs: number): Error {
  return new Error(`${call} has not come back within ${limitMs} ms`);
}
