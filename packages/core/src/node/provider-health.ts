import type { Clock } from "@virtual-kubelet/clock";
import { isDeadlineExceeded, isUnavailable, messageOf } from "@virtual-kubelet/errdefs";
import type { Logger, Metrics } from "@virtual-kubelet/kube-client";
import type { ProviderHealth } from "./node-object.ts";
import { providerMessage } from "../provider-calls/provider-message.ts";
import type { NodeProvider } from "../provider/node-provider.ts";
import { ExclusiveCall } from "./exclusive-call.ts";

/** Minimum interval between changes of the message of a provider that is down, because each is written to the node. */
const messageRefreshMs = 60_000;

export interface HealthMonitorOptions {
  readonly provider: Pick<NodeProvider, "ping">;
  /** Label of the metric. */
  readonly nodeName: string;
  /** Milliseconds from the end of a ping to the next. */
  readonly intervalMs: number;
  /** Deadline of one ping in milliseconds. */
  readonly timeoutMs: number;
  /** Milliseconds since the last successful ping during which an unreachable provider counts as up. */
  readonly toleranceMs: number;
  /** Called when a ping succeeds after a failure, and returns at once. */
  readonly onAnswersAgain: () => void;
  /** Called after each change, and returns at once. A new message of a provider that stays down is a change at most once a minute. */
  readonly onChange: (health: ProviderHealth, previous: ProviderHealth) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** What the pings show, for people who look at a running node. */
export interface PingState {
  readonly kind: ProviderHealth["kind"];
  /** Milliseconds since the health changed; `undefined` before the first result. */
  readonly forMs: number | undefined;
  /** Milliseconds since the last successful ping; `undefined` before the first. */
  readonly answeredAgeMs: number | undefined;
  /** Error of the last ping, without secrets; `undefined` if it succeeded. */
  readonly failure: string | undefined;
}

/**
 * Pings the provider at intervals. At most one ping is in progress: a provider that neither
 * answers nor respects its signal is down until the ping returns.
 */
export class HealthMonitor {
  readonly #options: HealthMonitorOptions;
  readonly #ping: ExclusiveCall<void>;
  #health: ProviderHealth = { kind: "unknown" };
  #changedMs = 0;
  /** Whether the last ping failed. */
  #isFailing = false;
  /** Time of the last successful ping on the monotonic clock; `undefined` before the first. */
  #answeredMs: number | undefined;
  /** Error of the last ping; `undefined` if it succeeded. */
  #failure: unknown;
  /** Series of the metric, while pings are sent; `undefined` where there are no scrapes. */
  #series: Disposable | undefined;

  constructor(options: HealthMonitorOptions) {
    const { clock, timeoutMs, provider } = options;
    this.#options = options;
    this.#ping = new ExclusiveCall({ clock, timeoutMs, what: "ping the provider" }, (signal) => provider.ping(signal));
  }

  /** Health according to the pings; a tolerated failure does not change it. */
  get health(): ProviderHealth {
    return this.#health;
  }

  /** What the pings show, including failures that are tolerated. */
  get state(): PingState {
    const { clock } = this.#options;
    const ageOf = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : clock.monotonic() - ms);
    return {
      kind: this.#health.kind,
      forMs: this.#health.kind === "unknown" ? undefined : ageOf(this.#changedMs),
      answeredAgeMs: ageOf(this.#answeredMs),
      failure: this.#failure === undefined ? undefined : providerMessage(this.#failure),
    };
  }

  /** Pings until aborted, the first time at once. @throws `signal.reason` when aborted, and nothing else */
  async run(signal: AbortSignal): Promise<never> {
    const { clock, intervalMs } = this.#options;
    try {
      for (;;) {
        this.#note(await this.#ask(signal));
        await clock.sleep(intervalMs, signal);
      }
    } finally {
      this.#series?.[Symbol.dispose]();
    }
  }

  /** @returns the error of a failed ping */
  async #ask(signal: AbortSignal): Promise<{ readonly error: unknown } | undefined> {
    const { clock, metrics } = this.#options;
    const startedMs = clock.monotonic();
    try {
      await this.#ping.run(signal);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      return { error };
    } finally {
      metrics.observe("vk_provider_ping_duration_seconds", (clock.monotonic() - startedMs) / 1000);
    }
  }

  #note(failure: { readonly error: unknown } | undefined): void {
    const { clock, logger, metrics, nodeName, onAnswersAgain, toleranceMs } = this.#options;
    const wasFailing = this.#isFailing;
    this.#isFailing = failure !== undefined;
    this.#failure = failure?.error;
    this.#series ??= metrics.sampled?.("vk_provider_up", () => (this.#isFailing ? 0 : 1), { node: nodeName });
    if (!this.#series) metrics.gauge("vk_provider_up", failure ? 0 : 1, { node: nodeName });
    if (failure) metrics.count("vk_provider_ping_failures_total");
    if (failure && this.#isTolerated(failure.error)) {
      if (!wasFailing)
        logger.warn({ err: messageOf(failure.error), toleranceMs }, "provider cannot be reached; the node stays ready for a while");
      return;
    }
    if (!failure) this.#answeredMs = clock.monotonic();
    this.#set(failure ? { kind: "down", message: providerMessage(failure.error) } : { kind: "up" });
    if (wasFailing && !failure) onAnswersAgain();
  }

  /** Source: baseRuntimeSyncThreshold in kubernetes v1.36.3 pkg/kubelet/runtime.go, which also counts from the last successful answer. */
  #isTolerated(error: unknown): boolean {
    if (this.#health.kind !== "up" || this.#answeredMs === undefined) return false;
    const isAway = isUnavailable(error) || isDeadlineExceeded(error);
    return isAway && this.#options.clock.monotonic() - this.#answeredMs < this.#options.toleranceMs;
  }

  #set(health: ProviderHealth): void {
    const { clock, logger, onChange } = this.#options;
    const previous = this.#health;
    if (!isChange(health, previous, clock.monotonic() - this.#changedMs)) return;
    this.#health = health;
    this.#changedMs = clock.monotonic();
    if (health.kind === "down") logger.warn({ err: health.message }, "provider does not answer");
    else if (previous.kind === "down") logger.info({}, "provider answers again");
    onChange(health, previous);
  }
}

function isChange(health: ProviderHealth, previous: ProviderHealth, ageMs: number): boolean {
  if (health.kind !== "down" || previous.kind !== "down") return health.kind !== previous.kind;
  return health.message !== previous.message && ageMs >= messageRefreshMs;
}
