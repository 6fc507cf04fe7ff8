import { Signal } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/clock";
import { backoffMs, type Logger, type Metrics } from "@virtual-kubelet/kube-client";
import { isDeepStrictEqual } from "node:util";
import { providerMessage } from "../provider-calls/provider-message.ts";
import type { NodeDescription, NodeProvider } from "../provider/node-provider.ts";
import { ExclusiveCall } from "./exclusive-call.ts";
import { checkDescription } from "./node-description.ts";

/** Minimum interval between descriptions, whatever the provider notifies. */
const minIntervalMs = 1_000;

/** Back-off after a failed description, which is also retried when the provider recovers. */
const retryBounds = { initialMs: 1_000, maxMs: 60_000 };

export interface NodeDescriberOptions {
  readonly provider: NodeProvider;
  /** Deadline of one call in milliseconds. */
  readonly timeoutMs: number;
  /** Called after each change of the description, and returns at once. */
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Holds the provider's description of its node, and updates it. */
export class NodeDescriber {
  readonly #options: NodeDescriberOptions;
  readonly #configure: ExclusiveCall<unknown> | undefined;
  readonly #wake = new Signal();
  #description: NodeDescription | undefined;
  #problems = "";
  #failures = 0;

  constructor(options: NodeDescriberOptions) {
    const { clock, provider, timeoutMs } = options;
    this.#options = options;
    if (!provider.configureNode) return;
    this.#configure = new ExclusiveCall({ clock, timeoutMs, what: "ask the provider for its node" }, async (signal) =>
      provider.configureNode?.(signal),
    );
  }

  /** The last description; `undefined` if all attempts have failed so far; `{}` for a provider without `configureNode`. */
  get description(): NodeDescription | undefined {
    return this.#description;
  }

  /** Requests a new description soon. */
  refresh(): void {
    this.#wake.notify();
  }

  /** Subscribes to the provider and asks it once, within the deadline; a failure is logged, and {@link run} retries it. */
  async start(signal: AbortSignal): Promise<void> {
    const { logger, provider } = this.#options;
    try {
      provider.notifyNodeStatus?.(() => this.refresh());
    } catch (error) {
      logger.warn({ err: providerMessage(error) }, "provider cannot report changes of its node");
    }
    await this.#ask(signal);
  }

  /** Asks after each notification, and again after a failure. @throws `signal.reason` when aborted, and nothing else */
  async run(signal: AbortSignal): Promise<never> {
    const { clock, random } = this.#options;
    for (;;) {
      const waitMs = this.#failures > 0 ? backoffMs(retryBounds, this.#failures, random) : Number.MAX_SAFE_INTEGER;
      await this.#wake.wait(waitMs, clock, signal);
      await this.#ask(signal);
      await clock.sleep(minIntervalMs, signal);
    }
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { logger, metrics, onChange } = this.#options;
    let answer: unknown = {};
    try {
      if (this.#configure) answer = await this.#configure.run(signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#failures++;
      metrics.count("vk_provider_configure_failures_total");
      logger.warn({ err: providerMessage(error), attempt: this.#failures }, "provider could not describe its node; trying again");
      return;
    }
    this.#failures = 0;
    const { description, problems } = checkDescription(answer);
    const listed = problems.join("; ");
    if (listed !== "" && listed !== this.#problems)
      logger.warn({ problems }, "provider's description of its node has invalid fields; they are left out");
    this.#problems = listed;
    const hasChanged = !isDeepStrictEqual(description, this.#description);
    this.#description = description;
    if (hasChanged) onChange();
  }
}
