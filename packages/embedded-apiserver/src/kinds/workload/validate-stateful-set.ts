import { selectsLabels } from "@virtual-kubelet/kubernetes";
import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, FieldError } from "../kind.ts";
import { selectsEverything } from "../../selectors/label-selector-text.ts";
import { forbiddenField, invalidValue, notSupported, required } from "../validation/field-errors.ts";
import { each, labelSelectorErrors, labelsErrors } from "../validation/labels.ts";
import { dnsLabelProblems } from "../validation/names.ts";
import { nonNegative } from "../validation/numbers.ts";
import { claimSpecErrors } from "../volume/validate-claim.ts";
import { collisionErrors } from "./validate-daemon-set.ts";
import { endlessPodErrors, podTemplateErrors, templateAnnotationErrors } from "./validate-pod-template.ts";
import type { PodTemplate, StatefulSetSpec, StatefulSetStatus } from "./workload-fields.ts";

/** Fields that are mutable after creation. */
const mutableFields = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
] as const;

/** Source of this file: Kubernetes v1.36.3 pkg/apis/apps/validation/validation.go. */
export function statefulSetErrors(statefulSet: ApiObject, old: ApiObject | undefined): FieldError[] {
  const spec: StatefulSetSpec = statefulSet["spec"];
  if (old !== undefined && old["spec"] === spec) return statusErrors(statefulSet["status"], old["status"]);
  return [...specErrors(spec, old === undefined), ...(old === undefined ? [] : updateErrors(spec, old["spec"]))];
}

function specErrors(spec: StatefulSetSpec, isNew: boolean): FieldError[] {
  const { podManagementPolicy: management, volumeClaimTemplates = [], serviceName } = spec;
  return [
    ...(management === "OrderedReady" || management === "Parallel"
      ? []
      : [invalidValue("spec.podManagementPolicy", management, "must be 'OrderedReady' or 'Parallel'")]),
    ...strategyErrors(spec.updateStrategy, "spec.updateStrategy"),
    ...retentionErrors(spec.persistentVolumeClaimRetentionPolicy, "spec.persistentVolumeClaimRetentionPolicy"),
    ...(isNew
      ? volumeClaimTemplates.flatMap((claim, index) => claimSpecErrors(claim.spec, `spec.volumeClaimTemplates[${index}].spec`))
      : []),
    ...nonNegative(spec.replicas, "spec.replicas"),
    ...nonNegative(spec.minReadySeconds, "spec.minReadySeconds"),
    ...nonNegative(spec.ordinals?.start, "spec.ordinals.start"),
    ...(isNew && serviceName ? each("spec.serviceName", serviceName, dnsLabelProblems(serviceName)) : []),
    ...selectorErrors(spec),
    ...endlessPodErrors(spec.template, "StatefulSet", "spec.template"),
  ];
}

function strategyErrors({ type, rollingUpdate }: StatefulSetSpec["updateStrategy"], field: string): FieldError[] {
  if (type === "RollingUpdate") return nonNegative(rollingUpdate?.partition, `${field}.rollingUpdate.partition`);
  if (type !== "OnDelete") return [invalidValue(field, { Type: type, RollingUpdate: null }, "must be 'RollingUpdate' or 'OnDelete'")];
  return rollingUpdate === undefined
    ? []
    : [
        invalidValue(
          `${field}.rollingUpdate`,
          { Partition: rollingUpdate.partition ?? 0, MaxUnavailable: null },
          "only allowed for updateStrategy 'RollingUpdate'",
        ),
      ];
}

function retentionErrors(policy: StatefulSetSpec["persistentVolumeClaimRetentionPolicy"], field: string): FieldError[] {
  return (["whenDeleted", "whenScaled"] as const).flatMap((when) => {
    const wanted = policy?.[when];
    return wanted === undefined || wanted === "Retain" || wanted === "Delete"
      ? []
      : [notSupported(`${field}.${when}`, wanted, ["Retain", "Delete"])];
  });
}

function selectorErrors(spec: StatefulSetSpec): FieldError[] {
  const { selector, template } = spec;
  const problems = labelSelectorErrors(selector, "spec.selector");
  const errors = selector === null ? [required("spec.selector")] : [...problems];
  if (selectsEverything(selector)) errors.push(invalidValue("spec.selector", selector, "empty selector is invalid for statefulset"));
  if (problems.length > 0) return [...errors, invalidValue("spec.selector", selector, "")];
  const { labels, annotations } = template.metadata;
  const isUnmatched = !selectsEverything(selector) && !selectsLabels(selector, labels);
  return [
    ...errors,
    ...(isUnmatched ? [invalidValue("spec.template.metadata.labels", labels ?? null, "`selector` does not match template `labels`")] : []),
    ...podTemplateErrors(asPodsHaveIt(spec), "spec.template"),
    ...labelsErrors(labels, "spec.template.labels"),
    ...templateAnnotationErrors(annotations, "spec.template"),
  ];
}

/** Template with the volumes of the claims and without the host name, which the controller sets. */
function asPodsHaveIt({ template, volumeClaimTemplates = [] }: StatefulSetSpec): PodTemplate {
  const { hostname: _host, subdomain: _domain, volumes = [], ...rest } = template.spec;
  const claims = volumeClaimTemplates.map(({ metadata }) => {
    const name = metadata.name ?? "";
    return { name, persistentVolumeClaim: { claimName: name } };
  });
  const others = volumes.filter(({ name }) => !claims.some((claim) => claim.name === name));
  const all = [...claims, ...others];
  return { ...template, spec: { ...rest, ...(all.length > 0 ? { volumes: all } : {}) } };
}

function updateErrors(spec: StatefulSetSpec, old: StatefulSetSpec): FieldError[] {
  const fixed = (of: StatefulSetSpec): object =>
    Object.fromEntries(Object.entries(of).filter(([name]) => !(mutableFields as readonly string[]).includes(name)));
  if (equalJson(fixed(spec), fixed(old))) return [];
  return [
    forbiddenField(
      "spec",
      "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    ),
  ];
}

function statusErrors(status: Partial<StatefulSetStatus>, old: StatefulSetStatus): FieldError[] {
  const parts = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"] as const;
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status;
  return [
    ...(["replicas", ...parts, "observedGeneration", "collisionCount"] as const).flatMap((name) =>
      nonNegative(status[name], `status.${name}`),
    ),
    ...parts
      .filter((name) => (status[name] ?? 0) > replicas)
      .map((name) => invalidValue(`status.${name}`, status[name], "cannot be greater than status.replicas")),
    ...(availableReplicas > readyReplicas
      ? [invalidValue("status.availableReplicas", availableReplicas, "cannot be greater than status.readyReplicas")]
      : []),
    ...collisionErrors(status, old),
  ];
}
