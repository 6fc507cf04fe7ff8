import { equalJson } from "../../json/json-value.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { statefulSetKind } from "../../kinds/workload/stateful-set.ts";
import type { StatefulSetSpec } from "../../kinds/workload/workload-fields.ts";
import { controllerReference, type OwnerReference } from "../shared/ownership.ts";

/**
 * Owner references of a claim according to the set's retention policy: the set, or the pod if its ordinal is scaled away. `undefined` if
 * they are already right, or if others have changed them.
 *
 * Source: Kubernetes v1.36.3 pkg/controller/statefulset/stateful_set_utils.go, isClaimOwnerUpToDate and updateClaimOwnerRefForSetAndPod.
 *
 * @param isCondemned - whether the pod's ordinal is out of range
 */
export function wantedOwners(
  claim: Readonly<ApiObject>,
  set: Readonly<ApiObject>,
  pod: Readonly<ApiObject>,
  isCondemned: boolean,
): OwnerReference[] | undefined {
  const { persistentVolumeClaimRetentionPolicy: policy = {} }: StatefulSetSpec = set["spec"];
  const owners = claim.metadata.ownerReferences ?? [];
  const ours = [controllerReference(statefulSetKind, set), controllerReference(podKind, pod)] as const;
  const isOurs = (owner: OwnerReference): boolean =>
    ours.some(({ apiVersion, kind, name }) => owner.apiVersion === apiVersion && owner.kind === kind && owner.name === name);
  const isStale = owners.some((owner) => isOurs(owner) && !ours.some(({ uid }) => uid === owner.uid));
  if (isStale || owners.some((owner) => !isOurs(owner) && owner.controller === true)) return undefined;
  const [bySet, byPod] = ours;
  const goesWithPod = policy.whenScaled === "Delete" && isCondemned;
  const added = goesWithPod ? [byPod] : policy.whenDeleted === "Delete" ? [bySet] : [];
  const wanted = [...owners.filter((owner) => !isOurs(owner)), ...added];
  return equalJson(wanted, owners) ? undefined : wanted;
}
