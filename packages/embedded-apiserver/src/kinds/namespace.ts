import type { ApiObject, FieldError, Kind } from "./kind.ts";
import { ageColumn, nameColumn } from "./columns/columns.ts";
import { standardFinalizers } from "./validation/finalizers.ts";
import { labelKeyProblems } from "./validation/label-syntax.ts";
import { each } from "./validation/labels.ts";
import { dnsLabelProblems } from "./validation/names.ts";
import { invalidValue } from "./validation/field-errors.ts";

/** Finalizer of a namespace whose objects have not been deleted yet. */
const kubernetesFinalizer = "kubernetes";

const nameLabel = "kubernetes.io/metadata.name";

/** Source: Kubernetes v1.36.3 pkg/registry/core/namespace/strategy.go. */
export const namespaceKind: Kind = {
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  singular: "namespace",
  shortNames: ["ns"],
  namespaced: false,
  schema: "io.k8s.api.core.v1.Namespace",
  hasStatus: true,
  applyDefaults(namespace) {
    if (namespace.metadata.name) namespace.metadata.labels = { ...namespace.metadata.labels, [nameLabel]: namespace.metadata.name };
    namespace["status"].phase ??= "Active";
  },
  prepareForCreate(namespace) {
    const finalizers: string[] = namespace["spec"].finalizers ?? [];
    namespace["spec"].finalizers = finalizers.includes(kubernetesFinalizer) ? finalizers : [...finalizers, kubernetesFinalizer];
    namespace["status"] = { phase: "Active" };
    // With generateName, the name is known only now.
    namespace.metadata.labels = { ...namespace.metadata.labels, [nameLabel]: namespace.metadata.name };
  },
  prepareForUpdate(namespace, old) {
    namespace["spec"].finalizers = old["spec"].finalizers;
  },
  fieldSelectors: { name: (namespace) => namespace.metadata.name, "status.phase": phaseOf },
  nameProblems: dnsLabelProblems,
  validate: namespaceErrors,
  columns: [nameColumn, { name: "Status", type: "string", description: "The status of the namespace", cell: phaseOf }, ageColumn],
};

const { prepareForUpdate: _keepsFinalizers, ...finalizedKind } = namespaceKind;

/** A namespace as `namespaces/finalize` updates it: with everything but its status. Source: the same file, `namespaceFinalizeStrategy`. */
export const namespaceFinalizeKind: Kind = {
  ...finalizedKind,
  validate: (namespace) =>
    (namespace["spec"].finalizers ?? []).flatMap((name: string, index: number) =>
      finalizerErrors([name], `spec.finalizers[${String(index)}]`),
    ),
};

function phaseOf(namespace: ApiObject): string {
  return namespace["status"].phase ?? "";
}

function namespaceErrors(namespace: ApiObject, old: ApiObject | undefined): FieldError[] {
  if (old === undefined) return finalizerErrors(namespace["spec"].finalizers ?? [], "spec.finalizers");
  const { phase }: { phase?: string } = namespace["status"];
  const isDeleted = namespace.metadata.deletionTimestamp !== undefined;
  const wanted = isDeleted ? "Terminating" : "Active";
  return phase === wanted
    ? []
    : [invalidValue("status.Phase", phase, `may only be '${wanted}' if \`deletionTimestamp\` is ${isDeleted ? "not " : ""}empty`)];
}

/** Source: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, ValidateFinalizerName. */
function finalizerErrors(finalizers: readonly string[], field: string): FieldError[] {
  return finalizers.flatMap((name) => {
    const isStandard = name.includes("/") || standardFinalizers.has(name);
    const problem = "name is neither a standard finalizer name nor is it fully qualified";
    return [...each(field, name, labelKeyProblems(name)), ...(isStandard ? [] : [invalidValue(field, name, problem)])];
  });
}
