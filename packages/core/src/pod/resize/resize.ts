import type { Container, ContainerStatus, DeepReadonly, Pod, PodCondition, PodSpec, PodStatus } from "@virtual-kubelet/kube-client";
import { isSameJson } from "../../api-server/json-equality.ts";
import { canonicalResources } from "../status/canonical-status.ts";

/** A change of a running pod's resources that has not been applied. */
export type PodResize =
  /**
   * The pod runs with its old resources. The change does not fit beside the node's other pods (`Deferred`), or never
   * will (`Infeasible`). `refused` if the provider refused the change, which is then not passed again.
   */
  | {
      readonly kind: "pending";
      readonly reason: "Deferred" | "Infeasible";
      readonly message: string;
      readonly generation: number | undefined;
      readonly refused: boolean;
    }
  /** The change was passed to the provider. `error` if that failed; it is retried. */
  | { readonly kind: "inProgress"; readonly error: string | undefined };

/** Whether the resources of two versions of a pod differ. `false` if one has no spec. */
export function isResized(before: DeepReadonly<Pod>, after: DeepReadonly<Pod>): boolean {
  return before.spec !== undefined && after.spec !== undefined && !isSameJson(resourcesOf(before.spec), resourcesOf(after.spec));
}

function resourcesOf(spec: DeepReadonly<PodSpec>): unknown {
  const of = (containers: readonly DeepReadonly<Container>[] = []): unknown =>
    containers.map(({ name, resources }) => [name, resources ?? {}]);
  return [of(spec.initContainers), of(spec.containers), spec.resources ?? {}];
}

/** Returns the pod with its resources before a resize, which it keeps while the resize is pending. */
export function withResourcesOf(pod: DeepReadonly<Pod>, before: DeepReadonly<Pod> | undefined): DeepReadonly<Pod> {
  if (!pod.spec || !before?.spec || !isResized(before, pod)) return pod;
  const { initContainers, containers, resources: _, ...spec } = pod.spec;
  const { spec: old } = before;
  return {
    ...pod,
    spec: {
      ...spec,
      ...(initContainers && { initContainers: withOldResources(initContainers, old.initContainers) }),
      containers: withOldResources(containers, old.containers),
      ...(old.resources && { resources: old.resources }),
    },
  };
}

function withOldResources(
  containers: readonly DeepReadonly<Container>[],
  before: readonly DeepReadonly<Container>[] = [],
): DeepReadonly<Container>[] {
  return containers.map((container) => {
    const old = before.find(({ name }) => name === container.name);
    if (!old) return container;
    const { resources: _, ...rest } = container;
    return { ...rest, ...(old.resources && { resources: old.resources }) };
  });
}

/** Whether the status reports a pending resize. */
export function showsPendingResize(pod: DeepReadonly<Pod>): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === "PodResizePending" && status === "True") ?? false;
}

/**
 * Adds the resources that the pod runs with to the status, like a kubelet, if the provider does not report them: while a resize is
 * pending, they differ from the spec, and after a restart only the status has them.
 */
export function withRunningResources(status: PodStatus, applied: DeepReadonly<Pod>): PodStatus {
  const fill = (list: "initContainers" | "containers", statuses: ContainerStatus[] | undefined): ContainerStatus[] | undefined =>
    statuses?.map((each) => {
      const resources = canonicalResources(applied.spec?.[list]?.find(({ name }) => name === each.name)?.resources);
      return resources && !each.resources
        ? { ...each, resources, allocatedResources: each.allocatedResources ?? resources.requests }
        : each;
    });
  return {
    ...status,
    resources: status.resources ?? canonicalResources(applied.spec?.resources),
    containerStatuses: fill("containers", status.containerStatuses),
    initContainerStatuses: fill("initContainers", status.initContainerStatuses),
  };
}

/** Returns the pod with the resources in its status; `undefined` if the status has none. */
export function asItRuns(pod: DeepReadonly<Pod>): DeepReadonly<Pod> | undefined {
  const { spec, status } = pod;
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  if (!spec || !statuses.some(({ resources }) => resources !== undefined)) return undefined;
  const old = (container: DeepReadonly<Container>): DeepReadonly<Container> => {
    const { resources: _, ...rest } = container;
    const runs = statuses.find(({ name }) => name === container.name)?.resources;
    return runs ? { ...rest, resources: runs } : rest;
  };
  const before = {
    spec: {
      containers: spec.containers.map(old),
      ...(spec.initContainers && { initContainers: spec.initContainers.map(old) }),
      ...(status?.resources && { resources: status.resources }),
    },
  };
  return withResourcesOf(pod, before);
}

/** Returns a kubelet's condition for the resize. Source: kubernetes v1.36.3 pkg/kubelet/status/status_manager.go. */
export function resizeCondition(resize: PodResize): PodCondition {
  if (resize.kind === "pending") return { type: "PodResizePending", status: "True", reason: resize.reason, message: resize.message };
  const { error } = resize;
  return { type: "PodResizeInProgress", status: "True", ...(error !== undefined && { reason: "Error", message: error }) };
}

/** Returns the message of a kubelet's event for a pending resize. Source: kubernetes v1.36.3 pkg/kubelet/events/resize.go. */
export function resizeEventMessage({ metadata, spec }: DeepReadonly<Pod>, reason: string, error: string): string {
  const list = (containers: readonly DeepReadonly<Container>[] = []): unknown =>
    containers.length > 0 ? containers.map(({ name, resources = {} }) => ({ name, resources })) : undefined;
  const summary = { initContainers: list(spec?.initContainers), containers: list(spec?.containers), generation: metadata?.generation ?? 0 };
  return `Pod resize ${reason}: ${JSON.stringify({ ...summary, error })}`;
}
