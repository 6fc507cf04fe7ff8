import { WriteWaits } from "../../rest/steps.ts";
import { rfc3339, selectsLabels } from "@virtual-kubelet/kubernetes";
import { Disposables } from "../../resources/disposables.ts";
import type { ApiObject } from "../../kinds/kind.ts";
import { kinds } from "../../kinds/index.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import {
  type DisruptionBudgetSpec,
  type DisruptionBudgetStatus,
  withDisruptionAllowed,
} from "../../kinds/policy/disruption-budget-fields.ts";
import { podDisruptionBudgetKind } from "../../kinds/policy/disruption-budget.ts";
import { deploymentKind } from "../../kinds/workload/deployment.ts";
import { replicaSetKind } from "../../kinds/workload/replica-set.ts";
import { statefulSetKind } from "../../kinds/workload/stateful-set.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { keyOf, parseKey } from "../shared/object-key.ts";
import { controllerOf, type OwnerReference } from "../shared/ownership.ts";
import { replaceStatus } from "../shared/status-write.ts";
import { createWorkQueue } from "../shared/work-queue.ts";
import { budgetCounts, expectationOf } from "./disruption-plan.ts";

const component = "controllermanager";
/** Kinds whose `spec.replicas` gives the expected number of pods. */
const scaled = [deploymentKind, replicaSetKind, statefulSetKind];

/**
 * Computes how many pods of each PodDisruptionBudget may be evicted.
 * Source: Kubernetes v1.36.3 pkg/controller/disruption.
 */
export function startDisruptionController(context: ControllerContext): Disposable {
  const { cluster, clock, events } = context;
  const resources = new Disposables();
  const queue = resources.use(createWorkQueue({ ...context, process: sync }));
  resources.use(cluster.watch(podDisruptionBudgetKind, ({ type, object }) => type !== "DELETED" && queue.add(keyOf(object))));
  resources.use(cluster.watch(podKind, ({ object }) => wake(object.metadata.namespace, object.metadata.labels)));
  for (const kind of scaled) resources.use(cluster.watch(kind, ({ object }) => wake(object.metadata.namespace)));
  for (const budget of cluster.list(podDisruptionBudgetKind)) queue.add(keyOf(budget));
  return resources;

  function wake(namespace: string | undefined, labels?: Readonly<Record<string, string>>): void {
    for (const budget of cluster.list(podDisruptionBudgetKind, namespace))
      if (labels === undefined || selectsLabels((budget["spec"] as DisruptionBudgetSpec).selector, labels)) queue.add(keyOf(budget));
  }

  function sync(key: string): number | undefined {
    const { namespace, name } = parseKey(key);
    const budget = cluster.get(podDisruptionBudgetKind, namespace, name);
    if (budget === undefined) return undefined;
    const spec: DisruptionBudgetSpec = budget["spec"];
    const old: DisruptionBudgetStatus = budget["status"];
    const now = rfc3339(clock.now());
    const pods = cluster.list(podKind, namespace).filter(({ metadata }) => selectsLabels(spec.selector, metadata.labels));
    if (pods.length === 0) events.record(component, budget, { type: "Normal", reason: "NoPods", message: "No matching pods found" });
    try {
      const expectation = expectationOf(spec, pods.length, () => wantedPods(pods));
      const { counts, recheckMs } = budgetCounts(pods, expectation, old, clock.now());
      const observedGeneration = budget.metadata.generation ?? 0;
      const { conditions } = old;
      replaceStatus(
        cluster,
        podDisruptionBudgetKind,
        budget,
        withDisruptionAllowed({ ...(conditions === undefined ? {} : { conditions }), ...counts, observedGeneration }, now),
      );
      return recheckMs;
    } catch (error) {
      if (error instanceof WriteWaits) throw error;
      const problem = error instanceof Error ? error.message : String(error);
      const message = `Failed to calculate the number of expected pods: ${problem}`;
      events.record(component, budget, { type: "Warning", reason: "CalculateExpectedPodCountFailed", message });
      replaceStatus(cluster, podDisruptionBudgetKind, budget, withDisruptionAllowed({ ...old, disruptionsAllowed: 0 }, now, problem));
      return undefined;
    }
  }

  /** @throws RangeError if the controller of a pod has no `spec.replicas` */
  function wantedPods(pods: readonly Readonly<ApiObject>[]): number {
    const scales = new Map<string, number>();
    for (const pod of pods) {
      const owner = controllerOf(pod);
      if (owner === undefined) continue;
      const { uid, replicas } = scaleOf(pod, owner);
      scales.set(uid, replicas);
    }
    return [...scales.values()].reduce((sum, replicas) => sum + replicas, 0);
  }

  function scaleOf({ metadata }: Readonly<ApiObject>, owner: OwnerReference): { readonly uid: string; readonly replicas: number } {
    const { apiVersion, kind: kindName, name, uid } = owner;
    const kind = kinds.find((one) => one.kind === kindName && `${one.group === "" ? "" : `${one.group}/`}${one.version}` === apiVersion);
    if (kind !== undefined && kind.hasScale !== true)
      throw new RangeError(`${kind.plural}${kind.group === "" ? "" : `.${kind.group}`} does not implement the scale subresource`);
    const object = kind === undefined ? undefined : cluster.get(kind, metadata.namespace, name);
    if (object?.metadata.uid !== uid) throw new RangeError(`found no controllers for pod "${metadata.name}"`);
    const parent = controllerOf(object);
    const deployment =
      parent === undefined || kind !== replicaSetKind ? undefined : cluster.get(deploymentKind, metadata.namespace, parent.name);
    const source = deployment !== undefined && deployment.metadata.uid === parent?.uid ? deployment : object;
    return { uid: source.metadata.uid, replicas: source["spec"].replicas ?? 0 };
  }
}
