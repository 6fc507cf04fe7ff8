import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { badRequest, notFound, plainFailure } from "../../errors/api-status-error.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { deleteAdmitted, type DeleteOptions } from "../delete.ts";
import { budgetsOf, chargeBudget } from "./disruption-budgets.ts";
import { withPodCondition } from "../../kinds/pod/pod-conditions.ts";
import { collectionOf, type ObjectAddress, type RestContext } from "../rest-context.ts";
import type { Steps } from "../steps.ts";
import { updateObject } from "../update.ts";

/**
 * Evicts a pod if its disruption budget allows it: sets the condition DisruptionTarget and deletes the pod.
 *
 * Source: pkg/registry/core/pod/storage/eviction.go of Kubernetes v1.36.3.
 *
 * @param evictionName - name in the `Eviction`, which must be the pod's
 * @throws ApiStatusError 400, 403, 404, 409, 429 or 500
 */
export function* evictPod(context: RestContext, pod: ObjectAddress, evictionName: string, options: DeleteOptions): Steps<void> {
  if (evictionName !== pod.name) throw badRequest("name in URL does not match name in Eviction object");
  const stored = collectionOf(context, pod.kind).get(pod.namespace, pod.name);
  if (stored === undefined) throw notFound(pod.kind, pod.name);
  const mark = (object: Readonly<ApiObject>): ApiObject =>
    withPodCondition(
      object,
      { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI", message: "Eviction API: evicting" },
      rfc3339(context.clock.now()),
    );
  const isMet =
    (options.uid ?? stored.object.metadata.uid) === stored.object.metadata.uid &&
    (options.resourceVersion ?? stored.object.metadata.resourceVersion) === stored.object.metadata.resourceVersion;
  const [budget, ...moreBudgets] = budgetsOf(context, stored.object);
  if (moreBudgets.length > 0) {
    const message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    throw plainFailure(message);
  }
  if (budget !== undefined) yield* chargeBudget(context, budget, stored.object, options.dryRun === true);
  const { resourceVersion: _met, ...rest } = options;
  if (isMet && options.dryRun !== true) yield* updateObject(context, pod, mark, { scope: "all" });
  deleteAdmitted(context, pod, isMet ? rest : options);
}
