import type { ApiObject } from "../../kinds/kind.ts";
import { replicaSetKind } from "../../kinds/workload/replica-set.ts";
import type { ReplicaSetSpec } from "../../kinds/workload/workload-fields.ts";
import { controllerReference } from "../shared/ownership.ts";

/** Builds a pod of a ReplicaSet. */
export function replicaSetPod(replicaSet: Readonly<ApiObject>): object {
  const { template }: ReplicaSetSpec = replicaSet["spec"];
  const { labels, annotations, finalizers } = template.metadata;
  const { namespace, name } = replicaSet.metadata;
  const ownerReferences = [controllerReference(replicaSetKind, replicaSet)];
  return { metadata: { generateName: `${name}-`, namespace, labels, annotations, finalizers, ownerReferences }, spec: template.spec };
}
