import type { Kind } from "../kind.ts";
import { applyPodSpecDefaults } from "../pod/pod-spec-defaults.ts";
import { dnsLabelProblems } from "../validation/names.ts";
import { applyClaimDefaults } from "../volume/persistent-volume-claim.ts";
import { ageColumn, nameColumn, templateColumns } from "../columns/columns.ts";
import { statefulSetErrors } from "./validate-stateful-set.ts";
import type { StatefulSetSpec, StatefulSetStatus } from "./workload-fields.ts";

/** Source: Kubernetes v1.36.3 pkg/apis/apps/v1/{defaults,conversion}.go, pkg/registry/apps/statefulset/strategy.go and pkg/printers. */
export const statefulSetKind: Kind = {
  group: "apps",
  version: "v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  singular: "statefulset",
  shortNames: ["sts"],
  categories: ["all"],
  namespaced: true,
  schema: "io.k8s.api.apps.v1.StatefulSet",
  hasStatus: true,
  hasScale: true,
  hasGeneration: true,
  nameProblems: dnsLabelProblems,
  applyDefaults(statefulSet) {
    applySpecDefaults(statefulSet["spec"]);
  },
  prepareForCreate(statefulSet) {
    dropMaxUnavailable(statefulSet["spec"]);
    statefulSet["status"] = { replicas: 0, availableReplicas: 0 };
  },
  prepareForUpdate(statefulSet) {
    dropMaxUnavailable(statefulSet["spec"]);
  },
  validate: statefulSetErrors,
  columns: [
    nameColumn,
    {
      name: "Ready",
      type: "string",
      description: "Number of the pod with ready state",
      cell: ({ spec, status }) => `${(status as StatefulSetStatus).readyReplicas ?? 0}/${(spec as StatefulSetSpec).replicas ?? 0}`,
    },
    ageColumn,
    ...templateColumns,
  ],
};

function applySpecDefaults(spec: StatefulSetSpec): void {
  const { updateStrategy: strategy } = spec;
  spec.podManagementPolicy ??= "OrderedReady";
  if (strategy.type === undefined) {
    strategy.type = "RollingUpdate";
    strategy.rollingUpdate ??= {};
  }
  if (strategy.type === "RollingUpdate" && strategy.rollingUpdate !== undefined) strategy.rollingUpdate.partition ??= 0;
  spec.persistentVolumeClaimRetentionPolicy ??= {};
  spec.persistentVolumeClaimRetentionPolicy.whenDeleted ??= "Retain";
  spec.persistentVolumeClaimRetentionPolicy.whenScaled ??= "Retain";
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  applyPodSpecDefaults(spec.template.spec);
  for (const claim of spec.volumeClaimTemplates ?? []) {
    claim.apiVersion = "v1";
    claim.kind = "PersistentVolumeClaim";
    applyClaimDefaults(claim);
  }
}

/** Kept only by servers with a feature gate that is off by default. */
function dropMaxUnavailable({ updateStrategy }: StatefulSetSpec): void {
  delete updateStrategy.rollingUpdate?.maxUnavailable;
}
