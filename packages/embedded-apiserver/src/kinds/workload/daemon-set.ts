import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, Kind } from "../kind.ts";
import { applyPodSpecDefaults } from "../pod/pod-spec-defaults.ts";
import { daemonSetColumns } from "./daemon-set-columns.ts";
import { daemonSetErrors } from "./validate-daemon-set.ts";
import type { DaemonSetSpec } from "./workload-fields.ts";

/** Annotation that counts template changes; it predates revisions and is still maintained. */
const templateGenerationAnnotation = "deprecated.daemonset.template.generation";

/** Source: Kubernetes v1.36.3 pkg/apis/apps/v1/{defaults,conversion}.go and pkg/registry/apps/daemonset/strategy.go. */
export const daemonSetKind: Kind = {
  group: "apps",
  version: "v1",
  kind: "DaemonSet",
  plural: "daemonsets",
  singular: "daemonset",
  shortNames: ["ds"],
  categories: ["all"],
  namespaced: true,
  schema: "io.k8s.api.apps.v1.DaemonSet",
  hasStatus: true,
  hasGeneration: true,
  applyDefaults(daemonSet) {
    // The real server keeps the number in its internal type, and writes the annotation whenever it converts that.
    setTemplateGeneration(daemonSet, templateGenerationOf(daemonSet));
    const spec: DaemonSetSpec = daemonSet["spec"];
    const { updateStrategy: strategy } = spec;
    strategy.type ??= "RollingUpdate";
    if (strategy.type === "RollingUpdate") {
      strategy.rollingUpdate ??= {};
      strategy.rollingUpdate.maxUnavailable ??= 1;
      strategy.rollingUpdate.maxSurge ??= 0;
    }
    spec.revisionHistoryLimit ??= 10;
    applyPodSpecDefaults(spec.template.spec);
  },
  prepareForCreate(daemonSet) {
    setTemplateGeneration(daemonSet, Math.max(1, templateGenerationOf(daemonSet)));
    daemonSet["status"] = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };
  },
  prepareForUpdate(daemonSet, old) {
    const isSame = equalJson(daemonSet["spec"].template, old["spec"].template);
    setTemplateGeneration(daemonSet, templateGenerationOf(old) + (isSame ? 0 : 1));
  },
  validate: daemonSetErrors,
  columns: daemonSetColumns,
};

/** Number of template versions so far, at least one. */
export function templateGenerationOf({ metadata }: Readonly<ApiObject>): number {
  return Number.parseInt(metadata.annotations?.[templateGenerationAnnotation] ?? "0", 10) || 0;
}

function setTemplateGeneration({ metadata }: ApiObject, generation: number): void {
  metadata.annotations = { ...metadata.annotations, [templateGenerationAnnotation]: String(generation) };
}
