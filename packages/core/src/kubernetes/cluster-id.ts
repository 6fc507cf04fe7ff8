import { isForbidden, isUnauthorized, messageOf } from "@virtual-kubelet/errdefs";
import { backoffMs, resources, type Clock, type KubeClient, type Logger, type Random } from "@virtual-kubelet/kube-client";
import { isGoneObject } from "./gone-object.ts";
import { kubeletBackoff } from "./kubelet-backoff.ts";

/**
 * The id a cluster is told from others by: the UID of its namespace `kube-system`. Waits for an API server that does
 * not answer yet, and for credentials that count: files of tokens and certificates are read again.
 *
 * @returns the empty string if the namespace may not be read
 */
export async function readClusterId(
  client: KubeClient,
  deps: { readonly clock: Clock; readonly random: Random; readonly logger: Logger },
  signal: AbortSignal,
): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      const namespace = await client.get(resources.namespaces, { name: "kube-system" }, { signal });
      return namespace.metadata?.uid ?? "";
    } catch (error) {
      signal.throwIfAborted();
      if (isForbidden(error) || isGoneObject(error, resources.namespaces, "kube-system")) {
        deps.logger.warn(
          { err: messageOf(error) },
          "no cluster id: allow get on namespace kube-system, or set clusterId; orphans are not deleted without",
        );
        return "";
      }
      const delayMs = backoffMs(kubeletBackoff, attempt, deps.random);
      const trouble = isUnauthorized(error)
        ? "the API server does not know who this is: the token or certificate is wrong, or has expired; trying again"
        : "the API server does not answer; trying again";
      deps.logger.warn({ err: messageOf(error), attempt, delayMs: Math.round(delayMs) }, trouble);
      await deps.clock.sleep(delayMs, signal);
    }
  }
}
