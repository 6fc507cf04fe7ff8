import { forbidden } from "../../errors/api-status-error.ts";
import { equalJson } from "../../json/json-value.ts";
import type { WriteContext } from "../kind.ts";
import { runtimeClassKind } from "../plain/scheduling.ts";
import type { PodSpec, Toleration } from "./pod-fields.ts";

const podResource = { group: "", plural: "pods" };

interface RuntimeClassFields {
  readonly overhead?: { readonly podFixed?: Record<string, string> };
  readonly scheduling?: { readonly nodeSelector?: Record<string, string>; readonly tolerations?: Toleration[] };
}

/**
 * Applies the overhead, node selector and tolerations of a new pod's runtime class.
 *
 * Source: Kubernetes v1.36.3 plugin/pkg/admission/runtimeclass.
 *
 * @throws ApiStatusError 403 if the class does not exist, or if the pod conflicts with it
 */
export function admitRuntimeClass(name: string, spec: PodSpec, { cluster }: WriteContext): void {
  const refuse = (problem: string): Error => forbidden(podResource, name, problem);
  const { runtimeClassName } = spec;
  const found = runtimeClassName === undefined ? undefined : cluster.get(runtimeClassKind, undefined, runtimeClassName);
  if (runtimeClassName !== undefined && found === undefined)
    throw refuse(`pod rejected: RuntimeClass ${JSON.stringify(runtimeClassName)} not found`);
  const { overhead, scheduling } = (found ?? {}) as RuntimeClassFields;
  if (overhead === undefined) {
    if (spec.overhead !== undefined) throw refuse("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead");
  } else {
    if (spec.overhead !== undefined && !equalJson(spec.overhead, overhead.podFixed))
      throw refuse("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
    if (overhead.podFixed !== undefined) spec.overhead = { ...overhead.podFixed };
  }
  if (scheduling !== undefined) admitScheduling(spec, scheduling, refuse);
}

function admitScheduling(
  spec: PodSpec,
  scheduling: NonNullable<RuntimeClassFields["scheduling"]>,
  refuse: (problem: string) => Error,
): void {
  for (const [key, value] of Object.entries(scheduling.nodeSelector ?? {})) {
    const own = spec.nodeSelector?.[key];
    if (own !== undefined && own !== value)
      throw refuse(`conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`);
    spec.nodeSelector = { ...spec.nodeSelector, [key]: value };
  }
  for (const toleration of scheduling.tolerations ?? []) {
    if (!spec.tolerations?.some((own) => equalJson(own, toleration))) spec.tolerations = [...(spec.tolerations ?? []), toleration];
  }
}
