import type { ProviderHost } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { Observation } from "../status/observation.ts";
import type { PodNetwork } from "./pod-network.ts";

/** Milliseconds between two looks for ports and floating IPs whose pods are gone. */
const sweepIntervalMs = 600_000;

/** Does what pods need in Neutron while they run, and what is left there after them. What fails is tried again by itself. */
export class NetworkUpkeep {
  readonly #network: PodNetwork;
  readonly #host: Pick<ProviderHost, "clusterId" | "clock" | "logger" | "recordEvent">;
  #sweepAtMs: number = Number.NEGATIVE_INFINITY;

  constructor(network: PodNetwork, host: Pick<ProviderHost, "clusterId" | "clock" | "logger" | "recordEvent">) {
    this.#network = network;
    this.#host = host;
  }

  /** As {@link PodNetwork.settle}; a failure is an event of the pod. @throws `signal.reason` when aborted, and nothing else */
  async settle(observed: Observation, signal: AbortSignal): Promise<void> {
    try {
      await this.#network.settle(observed, signal);
    } catch (error) {
      signal.throwIfAborted();
      const { ref } = observed.labels;
      this.#host.recordEvent(ref, { type: "Warning", reason: "NetworkNotReady", message: messageOf(error) });
      this.#host.logger.warn(
        { err: error, pod: `${ref.namespace}/${ref.name}` },
        "security groups or floating IP of a pod could not be set; trying again",
      );
    }
  }

  /**
   * As {@link PodNetwork.sweep}, every ten minutes, and never without a cluster's id: nothing would tell whose a port is.
   *
   * @param uids - of all pods there are, also of such as are being made
   * @throws `signal.reason` when aborted, and nothing else
   */
  async sweep(uids: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const { clusterId, clock, logger } = this.#host;
    if (clusterId === "" || clock.monotonic() < this.#sweepAtMs) return;
    this.#sweepAtMs = clock.monotonic() + sweepIntervalMs;
    try {
      await this.#network.sweep(uids, signal);
    } catch (error) {
      signal.throwIfAborted();
      logger.debug({ err: error }, "leftover ports could not be searched for; trying again");
    }
  }
}
