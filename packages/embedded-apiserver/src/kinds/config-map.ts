import type { Kind } from "../kind.ts";

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
};
