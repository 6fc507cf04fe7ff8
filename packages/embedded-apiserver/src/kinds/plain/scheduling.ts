import { forbidden } from "../../errors/api-status-error.ts";
import type { ApiObject, FieldError, Kind, WriteContext } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { declarativeErrors } from "../validation/declarative.ts";
import { duplicate, forbiddenField, notSupported, required } from "../validation/field-errors.ts";
import { immutableErrors } from "../validation/immutable.ts";
import { labelsErrors } from "../validation/labels.ts";
import type { Toleration } from "../pod/pod-fields.ts";
import { tolerationsErrors } from "../pod/validate-placement.ts";
import { containerResourceErrors } from "../pod/validate-resources.ts";
import { plainKind, textColumn } from "./plain-kind.ts";

const highestUserPriority = 1_000_000_000;

/** The two priority classes of every cluster. Source: Kubernetes v1.36.3 pkg/apis/scheduling/v1/helpers.go. */
export const systemPriorityClasses: readonly { readonly name: string; readonly value: number; readonly description: string }[] = [
  {
    name: "system-node-critical",
    value: 2_000_001_000,
    description: "Used for system critical pods that must not be moved from their current node.",
  },
  {
    name: "system-cluster-critical",
    value: 2_000_000_000,
    description: "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
  },
];

/** Source: Kubernetes v1.36.3 pkg/registry/scheduling/priorityclass and pkg/apis/scheduling/validation. */
export const priorityClassKind: Kind = plainKind({
  group: "scheduling.k8s.io",
  kind: "PriorityClass",
  plural: "priorityclasses",
  shortNames: ["pc"],
  namespaced: false,
  counted: [],
  applyDefaults(priorityClass) {
    priorityClass["preemptionPolicy"] ??= "PreemptLowerPriority";
  },
  prepareForCreate: (priorityClass, context) => checkDefault(priorityClass, context),
  prepareForUpdate: (priorityClass, _old, context) => checkDefault(priorityClass, context),
  validate: priorityClassErrors,
  columns: [
    nameColumn,
    {
      name: "Value",
      type: "integer",
      description:
        "value represents the integer value of this priority class. This is the actual priority that pods receive when they have the name of this class in their pod spec.",
      cell: ({ value }) => value,
    },
    {
      name: "Global-Default",
      type: "boolean",
      description:
        "globalDefault specifies whether this PriorityClass should be considered as the default priority for pods that do not have any priority class. Only one PriorityClass can be marked as `globalDefault`. However, if more than one PriorityClasses exists with their `globalDefault` field set to true, the smallest value of such global default PriorityClasses will be used as the default priority.",
      cell: ({ globalDefault = false }) => globalDefault,
    },
    ageColumn,
    textColumn(
      "PreemptionPolicy",
      "preemptionPolicy is the Policy for preempting pods with lower priority. One of Never, PreemptLowerPriority. Defaults to PreemptLowerPriority if unset.",
      ({ preemptionPolicy }) => preemptionPolicy,
    ),
  ],
});

/** Source: Kubernetes v1.36.3 plugin/pkg/admission/priority, `validatePriorityClass`. */
function checkDefault({ metadata, globalDefault }: ApiObject, { cluster }: WriteContext): void {
  if (globalDefault !== true) return;
  const other = cluster.list(priorityClassKind).find((one) => one["globalDefault"] === true && one.metadata.name !== metadata.name);
  if (other !== undefined)
    throw forbidden(
      priorityClassKind,
      metadata.name,
      `PriorityClass ${other.metadata.name} is already marked as default. Only one default can exist`,
    );
}

function priorityClassErrors(priorityClass: ApiObject, old: ApiObject | undefined): FieldError[] {
  const { name } = priorityClass.metadata;
  const value: number = priorityClass["value"];
  if (old !== undefined) {
    return [
      ...(value === old["value"] ? [] : [forbiddenField("value", "may not be changed in an update.")]),
      ...immutableErrors(priorityClass["preemptionPolicy"], old["preemptionPolicy"], "preemptionPolicy"),
    ];
  }
  const errors: FieldError[] = [];
  if (name.startsWith("system-") && !isSystemClass(priorityClass))
    errors.push(
      forbiddenField(
        "metadata.name",
        `priority class names with 'system-' prefix are reserved for system use only. error: ${name} is not a known system priority class`,
      ),
    );
  else if (!name.startsWith("system-") && value > highestUserPriority)
    errors.push(forbiddenField("value", `maximum allowed value of a user defined priority is ${highestUserPriority}`));
  const policy: string = priorityClass["preemptionPolicy"];
  if (policy === "") errors.push(required("preemptionPolicy"));
  else if (policy !== "Never" && policy !== "PreemptLowerPriority")
    errors.push(notSupported("preemptionPolicy", policy, ["PreemptLowerPriority", "Never"]));
  return errors;
}

function isSystemClass(priorityClass: ApiObject): boolean {
  return systemPriorityClasses.some(({ name, value }) => name === priorityClass.metadata.name && value === priorityClass["value"]);
}

/** Source: Kubernetes v1.36.3 pkg/registry/node/runtimeclass and pkg/apis/node/validation. */
export const runtimeClassKind: Kind = plainKind({
  group: "node.k8s.io",
  kind: "RuntimeClass",
  plural: "runtimeclasses",
  namespaced: false,
  validate: runtimeClassErrors,
  columns: [
    nameColumn,
    textColumn(
      "Handler",
      "handler specifies the underlying runtime and configuration that the CRI implementation will use to handle pods of this class.",
      ({ handler }) => handler,
    ),
    ageColumn,
  ],
});

interface Scheduling {
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly Toleration[];
}

function runtimeClassErrors(runtimeClass: ApiObject, old: ApiObject | undefined): FieldError[] {
  const declared = declarativeErrors("io.k8s.api.node.v1.RuntimeClass", runtimeClass, old);
  if (old !== undefined) return declared;
  const { podFixed = {} }: { podFixed?: Record<string, string> } = runtimeClass["overhead"] ?? {};
  const { nodeSelector, tolerations = [] }: Scheduling = runtimeClass["scheduling"] ?? {};
  const field = "scheduling.tolerations";
  const keys = tolerations.map(({ key, operator, value, effect }) => JSON.stringify([key, operator, value, effect]));
  return [
    ...declared,
    ...containerResourceErrors({ limits: podFixed }, "overhead", []),
    ...labelsErrors(nodeSelector, "scheduling.nodeSelector"),
    ...tolerationsErrors(tolerations, field),
    ...keys.flatMap((key, index) =>
      keys.indexOf(key) < index ? [duplicate(`${field}[${index}]`, shownToleration(tolerations[index]))] : [],
    ),
  ];
}

/** A toleration as the real server shows it in an error: its Go struct. */
function shownToleration({ key = "", operator = "", value = "", effect = "", tolerationSeconds }: Partial<Toleration> = {}): object {
  return { Key: key, Operator: operator, Value: value, Effect: effect, TolerationSeconds: tolerationSeconds ?? null };
}
