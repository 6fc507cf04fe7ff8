import { forbidden } from "../../errors/api-status-error.ts";
import type { ApiObject, WriteContext } from "../kind.ts";
import { priorityClassKind } from "../plain/scheduling.ts";
import type { PodSpec } from "./pod-fields.ts";

const podResource = { group: "", plural: "pods" };

/**
 * Sets the priority of a new pod from its class, or from the default class.
 *
 * Source: Kubernetes v1.36.3 plugin/pkg/admission/priority.
 *
 * @throws ApiStatusError 403 if the class does not exist, or if the pod has a different priority
 */
export function admitPriority(name: string, spec: PodSpec, context: WriteContext): void {
  const priorityClass = classOf(name, spec, context);
  const priority: number = priorityClass?.["value"] ?? 0;
  const preemptionPolicy: string = priorityClass?.["preemptionPolicy"] ?? "PreemptLowerPriority";
  if (priorityClass !== undefined) spec.priorityClassName = priorityClass.metadata.name;
  if (spec.priority !== undefined && spec.priority !== priority)
    throw forbidden(
      podResource,
      name,
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`,
    );
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy)
    throw forbidden(
      podResource,
      name,
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`,
    );
  spec.priority = priority;
  spec.preemptionPolicy = preemptionPolicy;
}

function classOf(name: string, { priorityClassName }: PodSpec, { cluster }: WriteContext): Readonly<ApiObject> | undefined {
  if (priorityClassName === undefined) {
    const defaults = cluster.list(priorityClassKind).filter((one) => one["globalDefault"] === true);
    return defaults.toSorted((a, b) => a["value"] - b["value"])[0];
  }
  const found = cluster.get(priorityClassKind, undefined, priorityClassName);
  if (found === undefined) throw forbidden(podResource, name, `no PriorityClass with name ${priorityClassName} was found`);
  return found;
}
