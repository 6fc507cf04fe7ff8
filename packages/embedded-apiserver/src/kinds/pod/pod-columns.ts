import { isSidecar } from "@virtual-kubelet/kubernetes";
import type { ApiObject, Column } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { humanDuration } from "../columns/human-duration.ts";
import type { Container, ContainerState, ContainerStatus, PodSpec, PodStatus } from "./pod-fields.ts";

/** Values of `kubectl get pods` for one pod. */
export interface PodSummary {
  /** Number of ready containers, including sidecars. */
  readonly ready: number;
  /** Number of containers, including sidecars. */
  readonly total: number;
  /** Such as `Running`, `CrashLoopBackOff`, `Init:0/1`. */
  readonly status: string;
  /** Restarts of containers and sidecars; during initialization, those of init containers. */
  readonly restarts: number;
  /** End of the last restarted container in milliseconds since the epoch; 0 if unknown. */
  readonly lastRestartMs: number;
}

/** Accumulates restarts. */
class Restarts {
  count = 0;
  lastMs = 0;

  add({ restartCount, lastState }: ContainerStatus): void {
    this.count += restartCount;
    const finishedAt = lastState.terminated?.finishedAt;
    if (finishedAt) this.lastMs = Math.max(this.lastMs, Date.parse(finishedAt));
  }
}

/** Source: Kubernetes v1.36.3 pkg/printers/internalversion/printers.go, printPod. */
export function summarizePod(pod: ApiObject): PodSummary {
  const spec: PodSpec = pod["spec"];
  const status: PodStatus = pod["status"];
  const sidecars = (spec.initContainers ?? []).filter(isSidecar);
  const init = summarizeInit(spec, status, sidecars);
  const isGated = status.conditions?.some(({ type, reason }) => type === "PodScheduled" && reason === "SchedulingGated");
  let text = init.reason ?? (isGated ? "SchedulingGated" : (status.reason ?? status.phase ?? ""));
  let restarts = init.restarts;
  let ready = init.ready;
  const isInitialized = status.conditions?.some(({ type, status: value }) => type === "Initialized" && value === "True") ?? false;
  if (init.reason === undefined || isInitialized) {
    restarts = init.sidecarRestarts;
    const main = summarizeContainers(status, text, restarts);
    text = main.reason;
    ready += main.ready;
  }
  if (pod.metadata.deletionTimestamp !== undefined) {
    if (status.reason === "NodeLost") text = "Unknown";
    else if (status.phase !== "Failed" && status.phase !== "Succeeded") text = "Terminating";
  }
  return {
    ready,
    total: (spec.containers ?? []).length + sidecars.length,
    status: text,
    restarts: restarts.count,
    lastRestartMs: restarts.lastMs,
  };
}

interface InitSummary {
  /** Set while the pod is initializing. */
  readonly reason: string | undefined;
  readonly ready: number;
  readonly restarts: Restarts;
  readonly sidecarRestarts: Restarts;
}

function summarizeInit(spec: PodSpec, status: PodStatus, sidecars: readonly Container[]): InitSummary {
  const restarts = new Restarts();
  const sidecarRestarts = new Restarts();
  let ready = 0;
  for (const [index, container] of (status.initContainerStatuses ?? []).entries()) {
    const isSidecar = sidecars.some(({ name }) => name === container.name);
    restarts.add(container);
    if (isSidecar) sidecarRestarts.add(container);
    if (container.state.terminated?.exitCode === 0) continue;
    if (isSidecar && container.started) {
      if (container.ready) ready++;
      continue;
    }
    return {
      reason: `Init:${initReason(container.state) ?? `${index}/${(spec.initContainers ?? []).length}`}`,
      ready,
      restarts,
      sidecarRestarts,
    };
  }
  return { reason: undefined, ready, restarts, sidecarRestarts };
}

function initReason({ terminated, waiting }: ContainerState): string | undefined {
  if (terminated !== undefined) return endReason(terminated);
  return waiting?.reason !== undefined && waiting.reason !== "PodInitializing" ? waiting.reason : undefined;
}

function endReason({ reason, signal, exitCode }: NonNullable<ContainerState["terminated"]>): string {
  if (reason !== undefined) return reason;
  return signal !== undefined && signal !== 0 ? `Signal:${signal}` : `ExitCode:${exitCode}`;
}

function summarizeContainers(status: PodStatus, phase: string, restarts: Restarts): { reason: string; ready: number } {
  let reason = phase;
  let ready = 0;
  let errorReason: string | undefined;
  let hasRunning = false;
  for (const container of (status.containerStatuses ?? []).toReversed()) {
    const { waiting, terminated, running } = container.state;
    restarts.add(container);
    if (waiting?.reason !== undefined) reason = waiting.reason;
    else if (terminated !== undefined) {
      reason = endReason(terminated);
      if (terminated.exitCode !== 0) errorReason = reason;
    } else if (container.ready && running !== undefined) {
      hasRunning = true;
      ready++;
    }
  }
  if (reason === "Completed") {
    const isReady = status.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True");
    if (hasRunning && isReady) reason = "Running";
    else if (errorReason !== undefined) reason = errorReason;
    else if (hasRunning) reason = "NotReady";
  }
  return { reason, ready };
}

function restartsCell(pod: ApiObject, nowMs: number): string {
  const { restarts, lastRestartMs } = summarizePod(pod);
  return restarts !== 0 && lastRestartMs !== 0 ? `${restarts} (${humanDuration(nowMs - lastRestartMs)} ago)` : String(restarts);
}

function gatesCell(pod: ApiObject): string {
  const { readinessGates = [] }: PodSpec = pod["spec"];
  const { conditions = [] }: PodStatus = pod["status"];
  if (readinessGates.length === 0) return "<none>";
  const open = readinessGates.filter(({ conditionType }) => conditions.find(({ type }) => type === conditionType)?.status === "True");
  return `${open.length}/${readinessGates.length}`;
}

export const podColumns: readonly Column[] = [
  nameColumn,
  {
    name: "Ready",
    type: "string",
    description: "The aggregate readiness state of this pod for accepting traffic.",
    cell(pod) {
      const { ready, total } = summarizePod(pod);
      return `${ready}/${total}`;
    },
  },
  {
    name: "Status",
    type: "string",
    description: "The aggregate status of the containers in this pod.",
    cell: (pod) => summarizePod(pod).status,
  },
  {
    name: "Restarts",
    type: "string",
    description:
      "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
    cell: restartsCell,
  },
  ageColumn,
  {
    name: "IP",
    type: "string",
    description: "podIP address allocated to the pod. Routable at least within the cluster. Empty if not yet allocated.",
    wide: true,
    cell: (pod) => pod["status"].podIPs?.[0]?.ip ?? "<none>",
  },
  {
    name: "Node",
    type: "string",
    description:
      "NodeName indicates in which node this pod is scheduled. If empty, this pod is a candidate for scheduling by the scheduler defined in schedulerName. Once this field is set, the kubelet for this node becomes responsible for the lifecycle of this pod. This field should not be used to express a desire for the pod to be scheduled on a specific node. https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename",
    wide: true,
    cell: (pod) => pod["spec"].nodeName ?? "<none>",
  },
  {
    name: "Nominated Node",
    type: "string",
    description:
      "nominatedNodeName is set only when this pod preempts other pods on the node, but it cannot be scheduled right away as preemption victims receive their graceful termination periods. This field does not guarantee that the pod will be scheduled on this node. Scheduler may decide to place the pod elsewhere if other nodes become available sooner. Scheduler may also decide to give the resources on this node to a higher priority pod that is created after preemption. As a result, this field may be different than PodSpec.nodeName when the pod is scheduled.",
    wide: true,
    cell: (pod) => pod["status"].nominatedNodeName ?? "<none>",
  },
  {
    name: "Readiness Gates",
    type: "string",
    description:
      'If specified, all readiness gates will be evaluated for pod readiness. A pod is ready when all its containers are ready AND all conditions specified in the readiness gates have status equal to "True" More info: https://git.k8s.io/enhancements/keps/sig-network/580-pod-readiness-gates',
    wide: true,
    cell: gatesCell,
  },
];
