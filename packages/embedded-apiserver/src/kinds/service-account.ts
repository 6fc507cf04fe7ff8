import type { Kind } from "../kind.ts";

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
};
