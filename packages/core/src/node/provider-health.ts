import type { Clock } from "@virtual-kubelet/clock";
import { isDeadlineExceeded, isUnavailable, messageOf } from "@virtual-kubelet/errdefs";
import type { Logger, Metrics } from "@virtual-kubelet/kube-client";
import type { ProviderHealth } from "./node-object.ts";
import { providerMessage } from "../provider-calls/provider-message.ts";
import type { NodeProvider } from "../provider/node-provider.ts";
import { ExclusiveCall } from "./exclusive-call.ts";

/** How often the message of a provider that stays away may change: it is written to the node each time. */
const messageRefreshMs = 60_000;

/** What {@link HealthMonitor} needs. */
export interface HealthMonitorOptions {
  readonly provider: Pick<NodeProvider, "ping">;
  /** Label of the gauge. */
  readonly nodeName: string;
  /** Milliseconds from the end of a ping to the next. */
  readonly intervalMs: number;
  /** Deadline of one ping in milliseconds. */
  readonly timeoutMs: number;
  /** Milliseconds since the last good ping for which a provider that cannot be reached counts as up. */
  readonly toleranceMs: number;
  /** Called when a ping goes well after one that did not, and returns at once. */
  readonly onAnswersAgain: () => void;
  /** Called after each change, and returns at once. Another message of a provider that stays away is a change once a minute. */
  readonly onChange: (health: ProviderHealth, previous: ProviderHealth) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Asks the provider at intervals whether its back end answers. One ping is under way at most: a provider that neither
 * answers nor keeps to its signal is down until it comes back.
 */
export class HealthMonitor {
  readonly #options: HealthMonitorOptions;
  readonly #ping: ExclusiveCall<void>;
  #health: ProviderHealth = { kind: "unknown" };
  #changedMs = 0;
  /** Whether the last ping failed. */
  #isFailing = false;
  /** On the monotonic clock; `undefined` before the first good ping. */
  #answeredMs: number | undefined;

  constructor(options: HealthMonitorOptions) {
    const { clock, timeoutMs, provider } = options;
    this.#options = options;
    this.#ping = new ExclusiveCall({ clock, timeoutMs, what: "ping the provider" }, (signal) => provider.ping(signal));
  }

  /** What the pings say: a failure that is tolerated leaves it as it was. */
  get health(): ProviderHealth {
    return this.#health;
  }

  /** Pings until aborted, the first time at once; throws `signal.reason` then, and nothing else ever. */
  async run(signal: AbortSignal): Promise<never> {
    const { clock, intervalMs } = this.#options;
    for (;;) {
      this.#note(await this.#ask(signal));
      await clock.sleep(intervalMs, signal);
    }
  }

  /** @returns the error of a ping that failed */
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
    metrics.gauge("vk_provider_up", failure ? 0 : 1, { node: nodeName });
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

  /** Source: baseRuntimeSyncThreshold in kubernetes v1.36.3 pkg/kubelet/runtime.go, which counts from the last good answer, too. */
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
