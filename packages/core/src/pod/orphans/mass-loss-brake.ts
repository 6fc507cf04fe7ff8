import type { EventRecorder, Logger, Metrics } from "@virtual-kubelet/kube-client";

/** What {@link MassLossBrake} needs. */
export interface MassLossBrakeOptions {
  readonly nodeName: string;
  /** More than this many at once are not believed. */
  readonly limit: number;
  readonly recorder: Pick<EventRecorder, "event">;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Stops what would end many pods at once because an answer may be wrong: nothing is ended, and an event on the node says so. */
export class MassLossBrake {
  readonly #options: MassLossBrakeOptions;
  #told: string | undefined;

  constructor(options: MassLossBrakeOptions) {
    this.#options = options;
  }

  /**
   * Whether so many are too many to be believed. Says so once for each number.
   *
   * @param what - how many there are and what is suspicious about them, as the beginning of a sentence
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
