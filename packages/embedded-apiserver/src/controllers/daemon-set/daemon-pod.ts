import { cloneJson } from "../../json/json-value.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import type { Affinity, PodSpec, Toleration } from "../../kinds/pod/pod-fields.ts";
import { daemonSetKind, templateGenerationOf } from "../../kinds/workload/daemon-set.ts";
import type { DaemonSetSpec } from "../../kinds/workload/workload-fields.ts";
import { controllerReference } from "../shared/ownership.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/controller/daemon/util/daemonset_util.go. */

/** Label with the hash of the pod's revision. */
export const revisionHashLabel = "controller-revision-hash";
const generationLabel = "pod-template-generation";

const exists = (name: string, effect: string): Toleration => ({ key: `node.kubernetes.io/${name}`, operator: "Exists", effect });

/** Tolerations of a DaemonSet's pods: those of the template and those that every DaemonSet adds. */
export function daemonTolerations({ tolerations = [], hostNetwork }: PodSpec): Toleration[] {
  const added = [
    exists("not-ready", "NoExecute"),
    exists("unreachable", "NoExecute"),
    exists("disk-pressure", "NoSchedule"),
    exists("memory-pressure", "NoSchedule"),
    exists("pid-pressure", "NoSchedule"),
    exists("unschedulable", "NoSchedule"),
    ...(hostNetwork === true ? [exists("network-unavailable", "NoSchedule")] : []),
  ];
  const isSame = (a: Toleration, b: Toleration): boolean =>
    a.key === b.key && a.effect === b.effect && a.operator === b.operator && (a.value ?? "") === (b.value ?? "");
  const kept = tolerations.map((toleration) => added.find((one) => isSame(one, toleration)) ?? toleration);
  return [...kept, ...added.filter((one) => !tolerations.some((toleration) => isSame(one, toleration)))];
}

/** Builds a pod for one node. */
export function daemonPod(daemonSet: Readonly<ApiObject>, node: string, hash: string): object {
  const { template }: DaemonSetSpec = daemonSet["spec"];
  const { labels, annotations, finalizers } = template.metadata;
  const { name, namespace } = daemonSet.metadata;
  const spec = cloneJson(template.spec);
  return {
    metadata: {
      generateName: `${name}-`,
      namespace,
      labels: { ...labels, [generationLabel]: String(templateGenerationOf(daemonSet)), [revisionHashLabel]: hash },
      annotations,
      finalizers,
      ownerReferences: [controllerReference(daemonSetKind, daemonSet)],
    },
    spec: { ...spec, tolerations: daemonTolerations(spec), affinity: onNode(spec.affinity, node) },
  };
}

/** Replaces the required terms by the node's name, because the DaemonSet has already evaluated them. */
function onNode(affinity: Affinity | undefined, node: string): Affinity {
  return {
    ...affinity,
    nodeAffinity: {
      ...affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] }],
      },
    },
  };
}

/** Node of a pod, or the node that its affinity names; `undefined` if there is neither. */
export function targetNodeOf(pod: Readonly<ApiObject>): string | undefined {
  const { nodeName, affinity }: PodSpec = pod["spec"];
  if (nodeName !== undefined) return nodeName;
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const fields = terms.flatMap(({ matchFields = [] }) => matchFields);
  const named = fields.find(({ key, operator }) => key === "metadata.name" && operator === "In");
  return named?.values?.length === 1 ? named.values[0] : undefined;
}

/** Whether a pod was created from the current template. */
export function isUpdated({ metadata }: Readonly<ApiObject>, daemonSet: Readonly<ApiObject>, hash: string): boolean {
  const { labels = {} } = metadata;
  return labels[revisionHashLabel] === hash || labels[generationLabel] === String(templateGenerationOf(daemonSet));
}
