import type { ContainerStatus, DeepReadonly, Pod } from "@virtual-kubelet/kube-client";

/** Status of a terminated container; its times and ID show whether it ever ran. */
type Terminated = NonNullable<NonNullable<DeepReadonly<ContainerStatus>["state"]>["terminated"]>;

/**
 * Explains in a kubelet's words why a container has no logs; `undefined` if it may have some. People and tests look for these texts.
 *
 * A kubelet checks whether the container has an ID. Not every back end has IDs, so here a start time is sufficient as well.
 *
 * Source: kubernetes v1.36.3 pkg/kubelet/kubelet_pods.go `validateContainerLogStatus`.
 */
export function logProblem(pod: DeepReadonly<Pod>, container: string, { previous }: { readonly previous: boolean }): string | undefined {
  const subject = `container ${JSON.stringify(container)} in pod ${JSON.stringify(pod.metadata?.name ?? "")}`;
  const status = containerStatus(pod, container);
  if (!status) return `${subject} is not available`;
  const last = status.lastState?.terminated;
  const { running, terminated, waiting } = status.state ?? {};
  if (previous) return ran(last) ? undefined : `previous terminated ${subject} not found`;
  if (running) return undefined;
  if (terminated) return ran(terminated) || ran(last) ? undefined : `${subject} is terminated`;
  if (last) return ran(last) ? undefined : `${subject} is terminated`;
  if (waiting) return `${subject} is waiting to start: ${waitingText(waiting.reason)}`;
  return `${subject} is waiting to start - no logs yet`;
}

/** Status of a container of any kind. */
export function containerStatus(pod: DeepReadonly<Pod>, container: string): DeepReadonly<ContainerStatus> | undefined {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = pod.status ?? {};
  return [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(({ name }) => name === container);
}

function ran(terminated: Terminated | undefined): boolean {
  return Boolean(terminated?.containerID || terminated?.startedAt);
}

function waitingText(reason: string | undefined): string {
  if (reason === "ErrImagePull") return "image can't be pulled";
  if (reason === "ImagePullBackOff") return "trying and failing to pull image";
  return reason ?? "";
}
