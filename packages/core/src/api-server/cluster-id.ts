import type { Clock, Random } from "@virtual-kubelet/clock";
import { isForbidden, messageOf } from "@virtual-kubelet/errdefs";
import { isGoneObject, resources, type KubeClient, type Logger } from "@virtual-kubelet/kube-client";
import { askUntilAnswered } from "./ask-until-answered.ts";

/**
 * Reads the id of the cluster: the UID of its namespace `kube-system`. Waits for an API server that does
 * not answer yet, and for valid credentials, because files of tokens and certificates are read again.
 *
 * @returns the empty string if the namespace may not be read
 */
export async function readClusterId(
  client: KubeClient,
  options: { readonly clock: Clock; readonly random: Random; readonly logger: Logger },
  signal: AbortSignal,
): Promise<string> {
  const ask = async (): Promise<string> =>
    (await client.get(resources.namespaces, { name: "kube-system" }, { signal })).metadata?.uid ?? "";
  const isNone = (error: unknown): boolean => isForbidden(error) || isGoneObject(error, resources.namespaces, "kube-system");
  try {
    return await askUntilAnswered(ask, isNone, options, signal);
  } catch (error) {
    signal.throwIfAborted();
    options.logger.warn(
      { err: messageOf(error) },
      "the cluster id is unknown, so orphans are not deleted: allow get on namespace kube-system, or set clusterId",
    );
    return "";
  }
}
