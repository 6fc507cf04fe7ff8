import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { replicaSetKind } from "../../kinds/workload/replica-set.ts";
import type { ReplicaSetSpec } from "../../kinds/workload/workload-fields.ts";
import { controllerReference } from "../shared/ownership.ts";

/** Builds a pod of a ReplicaSet, or of a ReplicationController, whose kind is then given. */
export function replicaSetPod(replicaSet: Readonly<ApiObject>, kind: Kind = replicaSetKind): object {
  const { template }: ReplicaSetSpec = replicaSet["spec"];
  const { labels, annotations, finalizers } = template.metadata;
  const { namespace, name } = replicaSet.metadata;
  const ownerReferences = [controllerReference(kind, replicaSet)];
  return { metadata: { generateName: `${name}-`, namespace, labels, annotations, finalizers, ownerReferences }, spec: template.spec };
}
