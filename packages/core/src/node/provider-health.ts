import type { Clock, Logger, Metrics } from "@virtual-kubelet/kube-client";
import type { ProviderHealth } from "./node-object.ts";
import { providerMessage } from "../provider/provider-message.ts";
import type { NodeProvider } from "../provider/provider.ts";
import { SoloCall } from "../provider/solo-call.ts";

/** How often the message of a provider that stays away may change: it is written to the node each time. */
const messageRefreshMs = 60_000;

/** What {@link HealthMonitor} needs. */
export interface HealthMonitorDeps {
  readonly provider: Pick<NodeProvider, "ping">;
  /** Label of the gauge. */
  readonly nodeName: string;
  /** Milliseconds from the end of a ping to the next. */
  readonly intervalMs: number;
  /** Deadline of one ping in milliseconds. */
  readonly timeoutMs: number;
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
  readonly #deps: HealthMonitorDeps;
  readonly #ping: SoloCall<void>;
  #health: ProviderHealth = { kind: "unknown" };
  #changedMs = 0;

  constructor(deps: HealthMonitorDeps) {
    const { clock, timeoutMs, provider } = deps;
    this.#deps = deps;
    this.#ping = new SoloCall({ clock, timeoutMs, what: "ping the provider" }, (signal) => provider.ping(signal));
  }

  /** What the last ping said. */
  get health(): ProviderHealth {
    return this.#health;
  }

  /** Pings until aborted, the first time at once; throws `signal.reason` then, and nothing else ever. */
  async run(signal: AbortSignal): Promise<never> {
    const { clock, intervalMs } = this.#deps;
    for (;;) {
      this.#set(await this.#ask(signal));
      await clock.sleep(intervalMs, signal);
    }
  }

  async #ask(signal: AbortSignal): Promise<ProviderHealth> {
    const { clock, metrics } = this.#deps;
    const startedMs = clock.monotonic();
    try {
      await this.#ping.run(signal);
      return { kind: "up" };
    } catch (error) {
      signal.throwIfAborted();
      return { kind: "down", message: providerMessage(error) };
    } finally {
      metrics.observe("vk_provider_ping_duration_seconds", (clock.monotonic() - startedMs) / 1000);
    }
  }

  #set(health: ProviderHealth): void {
    const { clock, logger, metrics, nodeName, onChange } = this.#deps;
    const previous = this.#health;
    metrics.gauge("vk_provider_up", health.kind === "up" ? 1 : 0, { node: nodeName });
    if (health.kind === "down") metrics.count("vk_provider_ping_failures_total");
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
