import { computeQosClass } from "@virtual-kubelet/kubernetes";
import type { ApiObject, Kind } from "../kind.ts";
import { admitPod, admitPodUpdate } from "./pod-admission.ts";
import { podColumns } from "./pod-columns.ts";
import type { PodCondition, PodSpec, PodStatus } from "./pod-fields.ts";
import { applyPodDefaults, applyPodSpecDefaults } from "./pod-spec-defaults.ts";
import { podErrors } from "./validate-pod.ts";

/** Source: Kubernetes v1.36.3 pkg/registry/core/pod/strategy.go. */
export const podKind: Kind = {
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods",
  singular: "pod",
  shortNames: ["po"],
  categories: ["all"],
  namespaced: true,
  schema: "io.k8s.api.core.v1.Pod",
  hasStatus: true,
  hasGeneration: true,
  gracePeriodSeconds(pod) {
    const spec: PodSpec = pod["spec"];
    const { phase }: PodStatus = pod["status"];
    if (spec.nodeName === undefined || phase === "Failed" || phase === "Succeeded") return 0;
    return spec.terminationGracePeriodSeconds ?? 0;
  },
  applyDefaults(pod) {
    const spec: PodSpec = pod["spec"];
    applyPodDefaults(spec);
    applyPodSpecDefaults(spec);
    applyStatusDefaults(pod["status"]);
  },
  prepareForCreate(pod, context) {
    const spec: PodSpec = pod["spec"];
    admitPod(pod, context);
    const status: PodStatus = { phase: "Pending", qosClass: computeQosClass(spec) };
    if (spec.schedulingGates !== undefined) status.conditions = [gatedCondition(pod)];
    pod["status"] = status;
  },
  prepareForUpdate(pod, old) {
    admitPodUpdate(pod["spec"], old["spec"]);
    keepStatus(pod["status"], old["status"]);
    dropDisabledFields(pod["status"]);
  },
  fieldSelectors: {
    "spec.nodeName": (pod) => pod["spec"].nodeName ?? "",
    "spec.restartPolicy": (pod) => pod["spec"].restartPolicy ?? "",
    "spec.schedulerName": (pod) => pod["spec"].schedulerName ?? "",
    "spec.serviceAccountName": (pod) => pod["spec"].serviceAccountName ?? "",
    "spec.hostNetwork": (pod) => String(pod["spec"].hostNetwork ?? false),
    "status.phase": (pod) => pod["status"].phase ?? "",
    "status.podIP": (pod) => pod["status"].podIP ?? "",
    "status.podIPs": (pod) => pod["status"].podIP ?? "",
    "status.nominatedNodeName": (pod) => pod["status"].nominatedNodeName ?? "",
  },
  validate: podErrors,
  columns: podColumns,
};

/** `podIP` and the first of `podIPs` must be equal; `podIP` takes precedence. */
function applyStatusDefaults(status: PodStatus): void {
  if (status.podIP !== undefined && status.podIPs?.[0]?.ip !== status.podIP) status.podIPs = [{ ip: status.podIP }];
  else if (status.podIPs?.[0] !== undefined) status.podIP = status.podIPs[0].ip;
}

/** Keeps fields that a client which does not know them would drop. */
function keepStatus(status: PodStatus, old: PodStatus): void {
  if (old.qosClass !== undefined) status.qosClass ??= old.qosClass;
  if (old.observedGeneration !== undefined) status.observedGeneration ??= old.observedGeneration;
  for (const condition of status.conditions ?? []) {
    const before = old.conditions?.find(({ type }) => type === condition.type)?.observedGeneration;
    if (before !== undefined) condition.observedGeneration ??= before;
  }
}

/**
 * Drops fields of features that are off by default.
 * Source: dropDisabledPodStatusFields in Kubernetes v1.36.3 pkg/api/pod/util.go.
 */
function dropDisabledFields(status: PodStatus): void {
  delete status.nodeAllocatableResourceClaimStatuses;
  for (const list of [status.containerStatuses, status.initContainerStatuses, status.ephemeralContainerStatuses])
    for (const mount of list?.flatMap(({ volumeMounts = [] }) => volumeMounts) ?? []) delete mount.volumeStatus;
}

function gatedCondition(pod: ApiObject): PodCondition {
  return {
    type: "PodScheduled",
    status: "False",
    lastProbeTime: null,
    lastTransitionTime: pod.metadata.creationTimestamp,
    reason: "SchedulingGated",
    message: "Scheduling is blocked due to non-empty scheduling gates",
  };
}
