import type { ApiObject, Column, FieldError, Kind } from "../kind.ts";
import { ageColumn, nameColumn, templateColumns } from "../columns/columns.ts";
import { formatLabels } from "../../selectors/label-selector-text.ts";
import { applyPodSpecDefaults } from "../pod/pod-spec-defaults.ts";
import { invalidValue, required } from "../validation/field-errors.ts";
import { nonNegative } from "../validation/numbers.ts";
import { endlessPodErrors, podTemplateErrors } from "./validate-pod-template.ts";
import type { PodTemplate, ReplicaSetStatus } from "./workload-fields.ts";

/** Spec of a ReplicationController, whose selector is a plain map. */
interface ReplicationControllerSpec {
  replicas?: number;
  minReadySeconds?: number;
  selector?: Record<string, string>;
  template?: PodTemplate;
}

const specOf = (controller: ApiObject): ReplicationControllerSpec => controller["spec"];

function count(name: string, description: string, cell: (controller: ApiObject) => number): Column {
  return { name, type: "integer", description, cell };
}

/** Source: Kubernetes v1.36.3 pkg/apis/core/v1/defaults.go, pkg/registry/core/replicationcontroller/strategy.go and pkg/printers. */
export const replicationControllerKind: Kind = {
  group: "",
  version: "v1",
  kind: "ReplicationController",
  plural: "replicationcontrollers",
  singular: "replicationcontroller",
  shortNames: ["rc"],
  categories: ["all"],
  namespaced: true,
  schema: "io.k8s.api.core.v1.ReplicationController",
  hasStatus: true,
  hasScale: true,
  hasGeneration: true,
  orphansByDefault: {},
  applyDefaults(controller) {
    const spec = specOf(controller);
    spec.replicas ??= 1;
    const labels = spec.template?.metadata.labels;
    if (spec.template !== undefined) applyPodSpecDefaults(spec.template.spec);
    if (labels === undefined) return;
    spec.selector ??= labels;
    controller.metadata.labels ??= labels;
  },
  prepareForCreate(controller) {
    controller["status"] = { replicas: 0 };
  },
  validate: replicationControllerErrors,
  fieldSelectors: { "status.replicas": (controller) => String(controller["status"].replicas ?? 0) },
  columns: [
    nameColumn,
    count(
      "Desired",
      "Replicas is the number of desired replicas. This is a pointer to distinguish between explicit zero and unspecified. Defaults to 1. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller#what-is-a-replicationcontroller",
      (controller) => specOf(controller).replicas ?? 0,
    ),
    count(
      "Current",
      "Replicas is the most recently observed number of replicas. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller#what-is-a-replicationcontroller",
      ({ status }) => (status as ReplicaSetStatus).replicas,
    ),
    count(
      "Ready",
      "The number of ready replicas for this replication controller.",
      ({ status }) => (status as ReplicaSetStatus).readyReplicas ?? 0,
    ),
    ageColumn,
    ...templateColumns,
    {
      name: "Selector",
      type: "string",
      description:
        "Selector is a label query over pods that should match the Replicas count. If Selector is empty, it is defaulted to the labels present on the Pod template. Label keys and values that must match in order to be controlled by this replication controller, if empty defaulted to labels on Pod template. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors",
      wide: true,
      cell: (controller) => formatLabels(specOf(controller).selector),
    },
  ],
};

/** Source: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, ValidateReplicationControllerSpec. */
function replicationControllerErrors(controller: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec = specOf(controller);
  if (old !== undefined && old["spec"] === spec) return statusErrors(controller["status"]);
  const { selector = {}, template } = spec;
  const labels = template?.metadata.labels;
  const isUnmatched = Object.entries(selector).some(([key, value]) => labels?.[key] !== value);
  return [
    ...nonNegative(spec.minReadySeconds, "spec.minReadySeconds"),
    ...(Object.keys(selector).length === 0 ? [required("spec.selector")] : []),
    ...nonNegative(spec.replicas, "spec.replicas"),
    ...(template === undefined ? [required("spec.template")] : []),
    ...(template !== undefined && isUnmatched
      ? [invalidValue("spec.template.metadata.labels", labels ?? null, "`selector` does not match template `labels`")]
      : []),
    ...(template === undefined
      ? []
      : [...podTemplateErrors(template, "spec.template"), ...endlessPodErrors(template, "ReplicationController", "spec.template")]),
  ];
}

function statusErrors(status: ReplicaSetStatus): FieldError[] {
  const names = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"] as const;
  const { replicas, availableReplicas = 0, readyReplicas = 0 } = status;
  return [
    ...(["replicas", ...names, "observedGeneration"] as const).flatMap((name) => nonNegative(status[name], `status.${name}`)),
    ...names
      .filter((name) => (status[name] ?? 0) > replicas)
      .map((name) => invalidValue(`status.${name}`, status[name], "cannot be greater than status.replicas")),
    ...(availableReplicas > readyReplicas
      ? [invalidValue("status.availableReplicas", availableReplicas, "cannot be greater than readyReplicas")]
      : []),
  ];
}
