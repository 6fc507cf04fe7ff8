import { cloneJson } from "../../json/json-value.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import type { Volume } from "../../kinds/pod/pod-fields.ts";
import { statefulSetKind } from "../../kinds/workload/stateful-set.ts";
import type { ClaimTemplate, PodTemplate, StatefulSetSpec } from "../../kinds/workload/workload-fields.ts";
import { controllerReference } from "../shared/ownership.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/controller/statefulset/stateful_set_utils.go. */

/** Label with the name of the pod's revision. */
const revisionLabel = "controller-revision-hash";

/** Ordinal in the name of one of the set's pods; `undefined` if the name does not match. */
export function ordinalOf(set: Readonly<ApiObject>, pod: Readonly<ApiObject>): number | undefined {
  const [, parent, ordinal] = /^(.*)-(\d+)$/.exec(pod.metadata.name) ?? [];
  return parent === set.metadata.name && ordinal !== undefined ? Number(ordinal) : undefined;
}

/** Name of a pod's revision; empty if the label is missing. */
export function podRevisionOf({ metadata }: Readonly<ApiObject>): string {
  return metadata.labels?.[revisionLabel] ?? "";
}

/** Name of a pod's claim for a claim template. */
export function claimName(set: Readonly<ApiObject>, template: ClaimTemplate, ordinal: number): string {
  return `${template.metadata.name ?? ""}-${set.metadata.name}-${ordinal}`;
}

/** Builds a pod. */
export function statefulPod(set: Readonly<ApiObject>, template: PodTemplate, revision: string, ordinal: number): object {
  const { serviceName, volumeClaimTemplates = [] }: StatefulSetSpec = set["spec"];
  const { labels, annotations, finalizers } = template.metadata;
  const name = `${set.metadata.name}-${ordinal}`;
  const spec = cloneJson(template.spec);
  const claims = volumeClaimTemplates.map((claim): Volume => ({
    name: claim.metadata.name ?? "",
    persistentVolumeClaim: { claimName: claimName(set, claim, ordinal) },
  }));
  const volumes = [...claims, ...(spec.volumes ?? []).filter((volume) => !claims.some((claim) => claim.name === volume.name))];
  return {
    metadata: {
      name,
      generateName: `${set.metadata.name}-`,
      namespace: set.metadata.namespace,
      labels: {
        ...labels,
        [revisionLabel]: revision,
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": String(ordinal),
      },
      annotations,
      finalizers,
      ownerReferences: [controllerReference(statefulSetKind, set)],
    },
    spec: { ...spec, hostname: name, subdomain: serviceName, ...(volumes.length > 0 ? { volumes } : {}) },
  };
}

/** Builds a claim for a pod. */
export function statefulClaim(set: Readonly<ApiObject>, template: ClaimTemplate, ordinal: number): object {
  const { selector }: StatefulSetSpec = set["spec"];
  const { metadata, spec } = cloneJson(template);
  return {
    metadata: {
      ...metadata,
      name: claimName(set, template, ordinal),
      namespace: set.metadata.namespace,
      labels: { ...metadata.labels, ...selector?.matchLabels },
    },
    spec,
  };
}
