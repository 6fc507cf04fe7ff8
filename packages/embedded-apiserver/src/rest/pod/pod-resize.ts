import { computeQosClass } from "@virtual-kubelet/kubernetes";
import { equalJson } from "../../json/json-value.ts";
import type { FieldError } from "../../kinds/kind.ts";
import type { Container, PodSpec, ResourceList, ResourceRequirements } from "../../kinds/pod/pod-fields.ts";
import { podSpecErrors } from "../../kinds/pod/validate-pod-spec.ts";
import { forbiddenField, invalidValue } from "../../kinds/validation/field-errors.ts";
import { admitResize } from "./pod-resize-admission.ts";
import { updatePodSpec, type PodSpecUpdate } from "./pod-spec-update.ts";

const lists = ["containers", "initContainers"] as const;

/**
 * Updates `pods/resize`: CPU and memory of the containers, and nothing else.
 *
 * Source: pkg/apis/core/validation/validation.go of Kubernetes v1.36.3, `ValidatePodResize`. Pod-level resources cannot be resized.
 *
 * @throws ApiStatusError 403 if the node is too small, 404, 409 or 422
 */
export const resizePod: PodSpecUpdate = (context, pod, change, options) =>
  updatePodSpec(context, pod, {
    ...options,
    change,
    pick(wanted, old) {
      const spec = withResources(wanted, old);
      const errors = [...podSpecErrors(spec, "spec", true), ...resizeErrors(spec, old)];
      if (errors.length === 0 && !equalJson(spec, old)) admitResize(context, pod, spec);
      return { spec, errors };
    },
  });

/** Old spec with the new resources. If the containers differ, it keeps the new ones, so that validation reports them. */
function withResources(wanted: PodSpec, old: PodSpec): PodSpec {
  const spec = { ...old };
  for (const list of lists) {
    const [containers, before] = [wanted[list] ?? [], old[list] ?? []];
    if (containers.length === 0 && before.length === 0) continue;
    spec[list] = haveSameNames(containers, before) ? before.map((container, index) => resized(container, containers[index])) : containers;
  }
  return spec;
}

function haveSameNames(containers: readonly Container[], old: readonly Container[]): boolean {
  return containers.length === old.length && containers.every(({ name }, index) => name === old[index]?.name);
}

function resized(container: Container, wanted: Container | undefined): Container {
  const { resizePolicy: _old, ...rest } = container;
  const { resources = {}, resizePolicy } = wanted ?? {};
  return { ...rest, resources, ...(resizePolicy === undefined ? {} : { resizePolicy }) };
}

function resizeErrors(spec: PodSpec, old: PodSpec): FieldError[] {
  const errors: FieldError[] = [];
  const qos = computeQosClass(old);
  if (computeQosClass(spec) !== qos) errors.push(invalidValue("spec", qos, "Pod QOS Class may not change as a result of resizing"));
  const orderErrors = lists.flatMap((list) => containerOrderErrors(spec[list] ?? [], old[list] ?? [], list));
  if (orderErrors.length > 0) return [...errors, ...orderErrors];
  return [
    ...errors,
    ...removalErrors(spec, old, "initContainers"),
    ...removalErrors(spec, old, "containers"),
    ...otherResourceErrors(spec, old),
  ];
}

function containerOrderErrors(containers: readonly Container[], old: readonly Container[], list: string): FieldError[] {
  if (containers.length !== old.length) return [forbiddenField(`spec.${list}`, `${list} may not be added or removed on resize`)];
  return old.flatMap(({ name }, index) =>
    containers[index]?.name === name
      ? []
      : [forbiddenField(`spec.${list}[${index}].name`, `${list} may not be renamed or reordered on resize`)],
  );
}

function removalErrors(spec: PodSpec, old: PodSpec, list: (typeof lists)[number]): FieldError[] {
  return (old[list] ?? []).flatMap(({ resources: before }, index) => {
    const after = spec[list]?.[index]?.resources ?? {};
    const field = `spec.${list}[${index}].resources`;
    return (["requests", "limits"] as const)
      .filter((part) => loses(after[part], before[part]))
      .map((part) => forbiddenField(`${field}.${part}`, `resource ${part} cannot be removed`));
  });
}

function loses(after: ResourceList = {}, before: ResourceList = {}): boolean {
  return Object.keys(before).some((name) => !Object.hasOwn(after, name));
}

function otherResourceErrors(spec: PodSpec, old: PodSpec): FieldError[] {
  const errors: FieldError[] = [];
  spec.containers?.forEach((container, index) => {
    if (!isResizeOnly(container, old.containers?.[index])) errors.push(forbiddenField("spec", "only cpu and memory resources are mutable"));
  });
  spec.initContainers?.forEach((container, index) => {
    const field = `spec.initContainers[${index}]`;
    const before = old.initContainers?.[index];
    if (!isResizeOnly(container, before))
      errors.push(forbiddenField(field, "only cpu and memory resources for init or sidecar containers are mutable"));
    if (restartsOnResize(container) && !equalJson(container, before)) {
      errors.push(forbiddenField(field, "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"));
    }
  });
  return errors;
}

/** Whether two containers differ only in CPU and memory. */
function isResizeOnly(container: Container, old: Container | undefined): boolean {
  if (old === undefined) return false;
  return equalJson(
    { ...container, resources: withoutResizable(container.resources) },
    { ...old, resources: withoutResizable(old.resources) },
  );
}

function withoutResizable({ requests = {}, limits = {}, ...rest }: ResourceRequirements): ResourceRequirements {
  const drop = ({ cpu: _cpu, memory: _memory, ...others }: ResourceList): ResourceList => others;
  return { ...rest, requests: drop(requests), limits: drop(limits) };
}

function restartsOnResize({ restartPolicy, resizePolicy = [] }: Container): boolean {
  return restartPolicy !== "Always" && resizePolicy.some((policy) => policy.restartPolicy === "RestartContainer");
}
