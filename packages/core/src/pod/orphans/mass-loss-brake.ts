import type { EventRecorder, Logger, Metrics } from "@virtual-kubelet/kube-client";
import type { CoreReason } from "../../reasons/core-reasons.ts";

export interface MassLossBrakeOptions {
  readonly nodeName: string;
  /** Maximum number of pods that may be ended at once. */
  readonly limit: number;
  readonly recorder: Pick<EventRecorder<CoreReason>, "event">;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Prevents the end of suspiciously many pods at once, because an answer may be wrong. An event on the node reports it. */
export class MassLossBrake {
  readonly #options: MassLossBrakeOptions;
  #told: string | undefined;

  constructor(options: MassLossBrakeOptions) {
    this.#options = options;
  }

  /** Why nothing is deleted now; `undefined` if the last number was not suspicious. */
  get suspicion(): string | undefined {
    return this.#told;
  }

  /**
   * Whether the number of pods is suspicious. Reported once for each number.
   *
   * @param what - number of pods and reason for the suspicion, as the beginning of a sentence
   */
  isSuspected(count: number, what: string): boolean {
    const { limit, logger, metrics, nodeName, recorder } = this.#options;
    if (count <= limit) {
      this.#told = undefined;
      return false;
    }
    const message = `${what}, more than ${limit} at once: none is deleted. If they are to go, raise orphans.maxPerSweep to ${count}`;
    if (this.#told === message) return true;
    this.#told = message;
    metrics.count("vk_mass_loss_suspected_total");
    logger.error({ count, limit }, message);
    recorder.event({ apiVersion: "v1", kind: "Node", name: nodeName, uid: nodeName }, "Warning", "MassLossSuspected", message);
    return true;
  }
}
