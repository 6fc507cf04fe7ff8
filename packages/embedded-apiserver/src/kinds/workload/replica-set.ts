import type { Kind } from "../kind.ts";
import { applyPodSpecDefaults } from "../pod/pod-spec-defaults.ts";
import type { ReplicaSetSpec } from "./workload-fields.ts";
import { replicaSetColumns } from "./workload-columns.ts";
import { replicaSetErrors } from "./validate-workload.ts";

/** Source: Kubernetes v1.36.3 pkg/apis/apps/v1/defaults.go and pkg/registry/apps/replicaset/strategy.go. */
export const replicaSetKind: Kind = {
  group: "apps",
  version: "v1",
  kind: "ReplicaSet",
  plural: "replicasets",
  singular: "replicaset",
  shortNames: ["rs"],
  categories: ["all"],
  namespaced: true,
  schema: "io.k8s.api.apps.v1.ReplicaSet",
  hasStatus: true,
  hasScale: true,
  hasGeneration: true,
  applyDefaults(replicaSet) {
    const spec: ReplicaSetSpec = replicaSet["spec"];
    spec.replicas ??= 1;
    applyPodSpecDefaults(spec.template.spec);
  },
  prepareForCreate(replicaSet) {
    replicaSet["status"] = { replicas: 0 };
  },
  validate: replicaSetErrors,
  columns: replicaSetColumns,
};
