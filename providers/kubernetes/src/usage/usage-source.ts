import { isForbidden, isNotFound, messageOf } from "@virtual-kubelet/errdefs";
import type { KubeClient } from "@virtual-kubelet/kube-client";
import type { KubernetesConfig } from "../config.ts";
import { isAllowed } from "../rights/check-rights.ts";
import { metricsPath } from "./far-figures.ts";

/** Why there are no figures with `usage: kubelets`. */
export const kubeletsForbidden =
  "the far cluster does not allow get nodes/proxy, which usage: kubelets needs; apply what virtual-kubelet manifests far prints. It is tried again every 5 minutes";

/** Why the far metrics API gives no figures, with the remedy. */
export function metricsApiProblem(error: unknown): string {
  if (isNotFound(error))
    return "the far cluster has no metrics API: install metrics-server there, or set usage: kubelets and allow get nodes/proxy";
  if (isForbidden(error))
    return `the far cluster does not allow list pods of metrics.k8s.io; apply what virtual-kubelet manifests far prints: ${messageOf(error)}`;
  return messageOf(error);
}

/**
 * Checks whether the far cluster has a source of figures for this configuration.
 *
 * @param namespace - the only far namespace; `undefined`: all
 * @returns the problem, with the remedy; `undefined` if there is a source, or none is wanted
 */
export async function usageProblem(
  client: Pick<KubeClient, "raw">,
  { usage }: Pick<KubernetesConfig, "usage">,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  // The right that kubelets needs is not optional, and is checked with the others.
  if (usage === "none" || usage === "kubelets") return undefined;
  const proxy = { verb: "get", group: "", resource: "nodes", subresource: "proxy", namespace: undefined };
  if (usage === "auto" && (await isAllowed(client, proxy, signal))) return undefined;
  try {
    await client.raw("GET", metricsPath(namespace), undefined, { signal });
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return `kubectl top, autoscalers and Prometheus get no figures of the pods: ${metricsApiProblem(error)}`;
  }
}
