import type { ContainerStatus, DeepReadonly, Metrics, PodStatus } from "@virtual-kubelet/kube-client";

/** The lists of a pod's status, with a kubelet's names for their types of container. */
const lists = [
  ["init_container", "initContainerStatuses"],
  ["container", "containerStatuses"],
  ["ephemeral_container", "ephemeralContainerStatuses"],
] as const;

/** Reasons with a label value of their own. Providers can invent others, and the number of label values has to be small. */
const knownReasons: ReadonlySet<string> = new Set([
  "Completed",
  "Error",
  "OOMKilled",
  "ContainerCannotRun",
  "StartError",
  "DeadlineExceeded",
  "ContainerStatusUnknown",
]);

/**
 * Counts the starts and ends of a pod's containers between two of its statuses, under a
 * kubelet's names. Repeated starts and ends are each counted.
 *
 * Source: kubernetes v1.36.3 pkg/kubelet/metrics/metrics.go and pkg/kubelet/status/status_manager.go.
 */
export function countContainers(metrics: Metrics, before: DeepReadonly<PodStatus> | undefined, after: DeepReadonly<PodStatus>): void {
  for (const [type, list] of lists) {
    for (const status of after[list] ?? []) {
      const old = before?.[list]?.find(({ name }) => name === status.name);
      const started = startsOf(status) - startsOf(old);
      if (started > 0) metrics.count("kubelet_started_containers_total", { container_type: type }, started);
      const ended = endsOf(status) - endsOf(old);
      const last = status.state?.terminated ?? status.lastState?.terminated;
      if (ended <= 0 || !last) continue;
      const { exitCode, reason = "" } = last;
      const labels = { container_type: type, exit_code: String(exitCode), reason: knownReasons.has(reason) ? reason : "Other" };
      metrics.count("kubelet_terminated_containers_total", labels, ended);
    }
  }
}

/** Returns the number of starts of a container. */
function startsOf(status: DeepReadonly<ContainerStatus> | undefined): number {
  if (!status) return 0;
  const { state, lastState, restartCount } = status;
  const hasBegun = state?.running ?? state?.terminated ?? lastState?.terminated;
  return hasBegun ? restartCount + 1 : 0;
}

/** Returns the number of ends of a container. */
function endsOf(status: DeepReadonly<ContainerStatus> | undefined): number {
  return startsOf(status) - (status?.state?.running ? 1 : 0);
}
