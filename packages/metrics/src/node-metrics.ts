import { isTerminalPhase, type ContainerStatus, type DeepReadonly, type MetricFamily, type Pod } from "@virtual-kubelet/core";

/** A node whose pods are counted, such as a `NodeAccess`. */
export interface CountedNode {
  readonly nodeName: string;
  /** The pods bound to the node. */
  listPods(): readonly DeepReadonly<Pod>[];
}

/**
 * Metrics about the node and its pods, computed on each call, with a kubelet's names so that its dashboards work: `kubelet_node_name`,
 * `kubelet_desired_pods`, `kubelet_active_pods`, `kubelet_working_pods`, `kubelet_running_pods`, `kubelet_running_containers`. Each has a
 * label `node`, because one process may run several nodes.
 */
export function nodeMetrics(nodes: readonly CountedNode[]): readonly MetricFamily[] {
  const counted = nodes.map((node) => ({ node: node.nodeName, pods: node.listPods() }));
  const perNode = (value: (pods: readonly DeepReadonly<Pod>[]) => number, labels = {}): MetricFamily["samples"] =>
    counted.map(({ node, pods }) => ({ labels: { node, ...labels }, value: value(pods) }));
  return [
    family(
      "kubelet_node_name",
      "The node's name. The count is always 1.",
      perNode(() => 1),
    ),
    family(
      "kubelet_desired_pods",
      "The number of pods the kubelet is being instructed to run.",
      perNode((pods) => pods.length, { static: "" }),
    ),
    family(
      "kubelet_active_pods",
      "The number of pods the kubelet considers active and which are being considered when admitting new pods.",
      perNode((pods) => pods.filter((pod) => stageOf(pod) !== "terminated").length, { static: "" }),
    ),
    family(
      "kubelet_working_pods",
      "Number of pods the kubelet is actually running, broken down by lifecycle phase.",
      (["sync", "terminating", "terminated"] as const).flatMap((lifecycle) =>
        perNode((pods) => pods.filter((pod) => stageOf(pod) === lifecycle).length, { lifecycle, config: "desired", static: "" }),
      ),
    ),
    family(
      "kubelet_running_pods",
      "Number of pods that have a running pod sandbox",
      perNode((pods) => pods.filter(isRunning).length),
    ),
    family("kubelet_running_containers", "Number of containers currently running", [
      ...perNode((pods) => countContainers(pods, isCreated), { container_state: "created" }),
      ...perNode((pods) => countContainers(pods, ({ state }) => state?.running !== undefined), { container_state: "running" }),
      ...perNode((pods) => countContainers(pods, hasEnded), { container_state: "exited" }),
    ]),
  ];
}

/** State that a kubelet's pod worker would be in. Source: kubernetes v1.36.3 pkg/kubelet/pod_workers.go. */
function stageOf({ metadata, status }: DeepReadonly<Pod>): "sync" | "terminating" | "terminated" {
  if (isTerminalPhase(status?.phase)) return "terminated";
  return metadata?.deletionTimestamp === undefined ? "sync" : "terminating";
}

/** Whether the pod has a running sandbox. For providers without sandboxes, a running container shows that. */
function isRunning(pod: DeepReadonly<Pod>): boolean {
  const sandbox = pod.status?.conditions?.find(({ type }) => type === "PodReadyToStartContainers");
  const isEnded = isTerminalPhase(pod.status?.phase);
  return sandbox ? sandbox.status === "True" && !isEnded : countContainers([pod], ({ state }) => state?.running !== undefined) > 0;
}

/** A waiting container has been created if it has an ID that differs from that of its last, ended instance. */
function isCreated({ state, lastState, containerID }: DeepReadonly<ContainerStatus>): boolean {
  return state?.waiting !== undefined && Boolean(containerID) && containerID !== lastState?.terminated?.containerID;
}

/** A runtime keeps the last ended instance while the next one runs or waits. */
function hasEnded({ state, lastState }: DeepReadonly<ContainerStatus>): boolean {
  return state?.terminated !== undefined || lastState?.terminated !== undefined;
}

function countContainers(pods: readonly DeepReadonly<Pod>[], isCounted: (status: DeepReadonly<ContainerStatus>) => boolean): number {
  return pods
    .flatMap(({ status }) => [
      ...(status?.containerStatuses ?? []),
      ...(status?.initContainerStatuses ?? []),
      ...(status?.ephemeralContainerStatuses ?? []),
    ])
    .filter(isCounted).length;
}

function family(name: string, help: string, samples: MetricFamily["samples"]): MetricFamily {
  return { name, help, type: "gauge", samples };
}
