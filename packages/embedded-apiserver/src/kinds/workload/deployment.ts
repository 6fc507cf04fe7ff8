import type { ApiObject, Kind } from "../kind.ts";
import { equalJson } from "../../json/json-value.ts";
import { applyPodSpecDefaults } from "../pod/pod-spec-defaults.ts";
import type { DeploymentSpec } from "./workload-fields.ts";
import { deploymentColumns } from "./workload-columns.ts";
import { deploymentErrors } from "./validate-workload.ts";

/** Source: Kubernetes v1.36.3 pkg/apis/apps/v1/defaults.go and pkg/registry/apps/deployment/strategy.go. */
export const deploymentKind: Kind = {
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments",
  singular: "deployment",
  shortNames: ["deploy"],
  categories: ["all"],
  namespaced: true,
  schema: "io.k8s.api.apps.v1.Deployment",
  hasStatus: true,
  hasScale: true,
  hasGeneration: true,
  applyDefaults(deployment) {
    const spec: DeploymentSpec = deployment["spec"];
    spec.replicas ??= 1;
    const { strategy } = spec;
    strategy.type ??= "RollingUpdate";
    if (strategy.type === "RollingUpdate") {
      strategy.rollingUpdate ??= {};
      strategy.rollingUpdate.maxUnavailable ??= "25%";
      strategy.rollingUpdate.maxSurge ??= "25%";
    }
    spec.revisionHistoryLimit ??= 10;
    spec.progressDeadlineSeconds ??= 600;
    applyPodSpecDefaults(spec.template.spec);
  },
  prepareForCreate(deployment) {
    deployment["status"] = {};
  },
  prepareForUpdate(deployment, old) {
    // Annotations count too, because the controller copies them to ReplicaSets, except the one that it writes itself.
    if (!equalJson(copiedAnnotations(deployment), copiedAnnotations(old)))
      deployment.metadata.generation = (old.metadata.generation ?? 0) + 1;
  },
  validate: deploymentErrors,
  columns: deploymentColumns,
};

function copiedAnnotations({ metadata }: Readonly<ApiObject>): Record<string, string> {
  const { "deployment.kubernetes.io/revision": _revision, ...annotations } = metadata.annotations ?? {};
  return annotations;
}
