import type { Kind } from "./kind.ts";
import { ageColumn, nameColumn } from "./columns/columns.ts";

/** Source: Kubernetes v1.36.3 pkg/registry/core/serviceaccount/strategy.go. */
export const serviceAccountKind: Kind = {
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  singular: "serviceaccount",
  shortNames: ["sa"],
  namespaced: true,
  schema: "io.k8s.api.core.v1.ServiceAccount",
  columns: [nameColumn, ageColumn],
};
