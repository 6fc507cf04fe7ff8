import { rfc3339, selectsLabels } from "@virtual-kubelet/kubernetes";
import { forbidden, tooManyRequests, ApiStatusError } from "../../errors/api-status-error.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import type { PodStatus } from "../../kinds/pod/pod-fields.ts";
import {
  disruptionAllowed,
  type DisruptionBudgetSpec,
  type DisruptionBudgetStatus,
  withDisruptionAllowed,
} from "../../kinds/policy/disruption-budget-fields.ts";
import { podDisruptionBudgetKind } from "../../kinds/policy/disruption-budget.ts";
import type { RestContext } from "../rest-context.ts";
import type { Steps } from "../steps.ts";
import { updateObject } from "../update.ts";

/** Source of this file: Kubernetes v1.36.3 pkg/registry/core/pod/storage/eviction.go. */

const refusal = "Cannot evict pod as it would violate the pod's disruption budget.";
const maxDisruptedPods = 2000;

/** Budgets that select a pod; none for pods whose eviction is no disruption. */
export function budgetsOf({ cluster }: RestContext, pod: Readonly<ApiObject>): Readonly<ApiObject>[] {
  const { phase }: PodStatus = pod["status"];
  const isNoLoss = phase === "Succeeded" || phase === "Failed" || phase === "Pending" || pod.metadata.deletionTimestamp !== undefined;
  if (isNoLoss) return [];
  return cluster
    .list(podDisruptionBudgetKind, pod.metadata.namespace)
    .filter((budget) => selectsLabels((budget["spec"] as DisruptionBudgetSpec).selector, pod.metadata.labels));
}

/**
 * Subtracts one disruption from a pod's budget, if the pod counts towards it.
 *
 * @throws ApiStatusError 403 or 429 if the budget allows no disruption
 */
export function* chargeBudget(context: RestContext, budget: Readonly<ApiObject>, pod: Readonly<ApiObject>, isDryRun: boolean): Steps<void> {
  const { unhealthyPodEvictionPolicy: policy }: DisruptionBudgetSpec = budget["spec"];
  const status: DisruptionBudgetStatus = budget["status"];
  const isHealthy = status.currentHealthy >= status.desiredHealthy && status.desiredHealthy > 0;
  if (!isReady(pod) && (policy === "AlwaysAllow" || isHealthy)) return;
  checkBudget(budget);
  if (isDryRun) return;
  const now = rfc3339(context.clock.now());
  const disruptionsAllowed = status.disruptionsAllowed - 1;
  const charged: DisruptionBudgetStatus = {
    ...status,
    disruptionsAllowed,
    disruptedPods: { ...status.disruptedPods, [pod.metadata.name]: now },
  };
  const { namespace = "", name } = budget.metadata;
  const change = (object: Readonly<ApiObject>): ApiObject => ({
    ...object,
    status: disruptionsAllowed === 0 ? withDisruptionAllowed(charged, now) : charged,
  });
  yield* updateObject(context, { kind: podDisruptionBudgetKind, namespace, name }, change, { scope: "all" });
}

function isReady(pod: Readonly<ApiObject>): boolean {
  const { conditions = [] }: PodStatus = pod["status"];
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

function checkBudget({ metadata, status }: Readonly<ApiObject>): void {
  const { observedGeneration = 0, disruptionsAllowed, disruptedPods = {} }: DisruptionBudgetStatus = status;
  const { name, generation = 0 } = metadata;
  if (observedGeneration < generation) throw refused(10, `The disruption budget ${name} is still being processed by the server.`);
  const resource = { group: "policy", plural: "poddisruptionbudget" };
  if (disruptionsAllowed < 0) throw forbidden(resource, name, "pdb disruptions allowed is negative");
  if (Object.keys(disruptedPods).length > maxDisruptedPods)
    throw forbidden(resource, name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller");
  if (disruptionsAllowed === 0) throw refused(0, refusalOf(name, status));
}

function refusalOf(name: string, { conditions = [], currentHealthy, desiredHealthy }: DisruptionBudgetStatus): string {
  const condition = conditions.find(({ type, status }) => type === disruptionAllowed && status === "False");
  const { reason = "", message = "" } = condition ?? {};
  if (reason === "SyncFailed" && message !== "")
    return `The disruption budget ${name} does not allow evicting pods currently because it failed sync: ${message}`;
  if (currentHealthy <= desiredHealthy)
    return `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  const why = message === "" ? "" : ` (${reason}): ${message}`;
  return `The disruption budget ${name} does not allow evicting pods currently${why}`;
}

function refused(retryAfterSeconds: number, message: string): ApiStatusError {
  const { status } = tooManyRequests(refusal, retryAfterSeconds);
  const causes = [{ reason: "DisruptionBudget", message }];
  return new ApiStatusError({ ...status, details: { ...(retryAfterSeconds > 0 ? { retryAfterSeconds } : {}), causes } });
}
