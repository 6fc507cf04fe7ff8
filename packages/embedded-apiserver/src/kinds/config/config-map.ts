import type { Kind } from "../kind.ts";
import { ageColumn, nameColumn } from "../columns/columns.ts";
import { configMapErrors } from "./validate-data.ts";

/** Source: Kubernetes v1.36.3 pkg/apis/core/v1/defaults.go. */
export const configMapKind: Kind = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  singular: "configmap",
  shortNames: ["cm"],
  namespaced: true,
  schema: "io.k8s.api.core.v1.ConfigMap",
  validate: configMapErrors,
  columns: [
    nameColumn,
    {
      name: "Data",
      type: "string",
      description:
        "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys in the BinaryData field, this is enforced during validation process.",
      cell: (configMap) => Object.keys(configMap["data"] ?? {}).length + Object.keys(configMap["binaryData"] ?? {}).length,
    },
    ageColumn,
  ],
};
