import type { ApiObject, FieldError, Kind } from "../kind.ts";
import { labelKeyProblems } from "../validation/label-syntax.ts";
import { ageColumn } from "../columns/columns.ts";
import { duplicate, invalidValue, notSupported, required, tooLong } from "../validation/field-errors.ts";
import { immutableErrors } from "../validation/immutable.ts";
import { each, labelNameErrors } from "../validation/labels.ts";
import { isDefaultClass } from "./volume-class.ts";
import type { StorageClassObject } from "./volume-fields.ts";

const fieldsOf = (storageClass: ApiObject): Partial<StorageClassObject> => storageClass;
const limits = { parameters: 512, parameterBytes: 256 * 1024 };

/** Source: Kubernetes v1.36.3 pkg/apis/storage/v1/defaults.go, pkg/apis/storage/validation/validation.go and pkg/printers. */
export const storageClassKind: Kind = {
  group: "storage.k8s.io",
  version: "v1",
  kind: "StorageClass",
  plural: "storageclasses",
  singular: "storageclass",
  shortNames: ["sc"],
  namespaced: false,
  schema: "io.k8s.api.storage.v1.StorageClass",
  applyDefaults(storageClass) {
    storageClass["reclaimPolicy"] ??= "Delete";
    storageClass["volumeBindingMode"] ??= "Immediate";
  },
  validate: storageClassErrors,
  columns: [
    {
      name: "Name",
      type: "string",
      description:
        "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
      cell: (storageClass) => `${storageClass.metadata.name}${isDefaultClass(storageClass) ? " (default)" : ""}`,
    },
    {
      name: "Provisioner",
      type: "string",
      description: "provisioner indicates the type of the provisioner.",
      cell: (storageClass) => fieldsOf(storageClass).provisioner ?? "",
    },
    {
      name: "ReclaimPolicy",
      type: "string",
      description:
        "reclaimPolicy controls the reclaimPolicy for dynamically provisioned PersistentVolumes of this storage class. Defaults to Delete.",
      cell: (storageClass) => fieldsOf(storageClass).reclaimPolicy ?? "Delete",
    },
    {
      name: "VolumeBindingMode",
      type: "string",
      description:
        "volumeBindingMode indicates how PersistentVolumeClaims should be provisioned and bound.  When unset, VolumeBindingImmediate is used. This field is only honored by servers that enable the VolumeScheduling feature.",
      cell: (storageClass) => fieldsOf(storageClass).volumeBindingMode ?? "Immediate",
    },
    {
      name: "AllowVolumeExpansion",
      type: "string",
      description: "allowVolumeExpansion shows whether the storage class allow volume expand.",
      cell: (storageClass) => fieldsOf(storageClass).allowVolumeExpansion ?? false,
    },
    ageColumn,
  ],
};

function storageClassErrors(storageClass: ApiObject, old: ApiObject | undefined): FieldError[] {
  const { provisioner = "", parameters = {}, reclaimPolicy = "", volumeBindingMode } = fieldsOf(storageClass);
  if (old !== undefined)
    return (["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] as const).flatMap((name) =>
      immutableErrors(storageClass[name], old[name], name),
    );
  const lower = provisioner.toLowerCase();
  return [
    ...(provisioner === "" ? [required("provisioner")] : each("provisioner", lower, labelKeyProblems(lower))),
    ...parameterErrors(parameters),
    ...(["", "Delete", "Retain"].includes(reclaimPolicy) ? [] : [notSupported("reclaimPolicy", reclaimPolicy, ["Delete", "Retain"])]),
    ...(volumeBindingMode === undefined || ["Immediate", "WaitForFirstConsumer"].includes(volumeBindingMode)
      ? []
      : [notSupported("volumeBindingMode", volumeBindingMode, ["Immediate", "WaitForFirstConsumer"])]),
    ...topologyErrors(storageClass["allowedTopologies"] ?? []),
  ];
}

interface TopologyTerm {
  readonly matchLabelExpressions?: readonly { readonly key: string; readonly values?: readonly string[] | null }[];
}

function topologyErrors(terms: readonly TopologyTerm[]): FieldError[] {
  const texts = terms.map((term) => JSON.stringify(term));
  return terms.flatMap(({ matchLabelExpressions: expressions = [] }, index) => {
    const field = `allowedTopologies[${index}].matchLabelExpressions`;
    const keys = expressions.map(({ key }) => key);
    return [
      ...expressions.flatMap(({ key, values }, at) => [
        ...topologyValueErrors(values ?? [], `${field}[${at}].values`),
        ...labelNameErrors(key, `${field}[${at}].key`),
        ...(keys.indexOf(key) < at ? [duplicate(`${field}[${at}].key`, key)] : []),
      ]),
      // The real server compares terms with empty ones, too.
      ...(expressions.length === 0 || texts.indexOf(texts[index] ?? "") < index ? [duplicate(field, "")] : []),
    ];
  });
}

function topologyValueErrors(values: readonly string[], field: string): FieldError[] {
  if (values.length === 0) return [required(field)];
  return values.flatMap((value, index) => (values.indexOf(value) < index ? [duplicate(`${field}[${index}]`, value)] : []));
}

export function parameterErrors(parameters: Readonly<Record<string, string>>): FieldError[] {
  const entries = Object.entries(parameters);
  if (entries.length > limits.parameters) return [tooLong("parameters", limits.parameters)];
  const bytes = entries.reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  return [
    ...entries.filter(([key]) => key === "").map(([key]) => invalidValue("parameters", key, "field can not be empty.")),
    ...(bytes > limits.parameterBytes ? [tooLong("parameters", limits.parameterBytes)] : []),
  ];
}
