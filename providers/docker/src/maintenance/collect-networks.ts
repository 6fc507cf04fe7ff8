import type { ProviderHost } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import { tryPodRef } from "@virtual-kubelet/pod-runtime";
import type { DockerRuntime } from "../docker-runtime.ts";

/** How often network plugins are asked to free what they keep for sandboxes that are gone, in milliseconds. */
const intervalMs = 60_000;

export interface CollectNetworksOptions {
  readonly host: Pick<ProviderHost, "clock" | "logger" | "recordEvent">;
  readonly runtime: Pick<DockerRuntime, "collectNetworks" | "checkNetworks">;
}

/**
 * Frees the networks of sandboxes that are gone, at intervals. Checks once the networks of pods that an earlier program has started; a
 * network that is not in order becomes an event of its pod.
 *
 * @throws only `signal.reason`
 */
export async function collectNetworks({ host, runtime }: CollectNetworksOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger } = host;
  const onProblem = (labels: Readonly<Record<string, string>>, why: unknown): void => {
    const ref = tryPodRef(labels);
    const message = `the pod's network is not as it was made: ${messageOf(why)}`;
    if (ref) host.recordEvent(ref, { type: "Warning", reason: "NetworkNotReady", message });
  };
  for (let isChecked = false; ;) {
    try {
      await runtime.collectNetworks(signal);
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ err: error }, "resources of network plugins for deleted pods could not be released");
    }
    try {
      if (!isChecked) await runtime.checkNetworks(onProblem, signal);
      isChecked = true;
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ err: error }, "the networks of pods could not be checked");
    }
    await clock.sleep(intervalMs, signal);
  }
}
