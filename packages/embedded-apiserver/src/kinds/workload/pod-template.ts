import { equalJson } from "../../json/json-value.ts";
import type { Kind } from "../kind.ts";
import { nameColumn, templateColumnsOf } from "../columns/columns.ts";
import { formatLabels } from "../../selectors/label-selector-text.ts";
import { applyPodSpecDefaults } from "../pod/pod-spec-defaults.ts";
import { podTemplateErrors } from "./validate-pod-template.ts";
import type { PodTemplate } from "./workload-fields.ts";

/** Source: Kubernetes v1.36.3 pkg/registry/core/podtemplate/strategy.go and pkg/printers. */
export const podTemplateKind: Kind = {
  group: "",
  version: "v1",
  kind: "PodTemplate",
  plural: "podtemplates",
  singular: "podtemplate",
  namespaced: true,
  schema: "io.k8s.api.core.v1.PodTemplate",
  hasGeneration: true,
  applyDefaults(object) {
    applyPodSpecDefaults((object["template"] as PodTemplate).spec);
  },
  prepareForUpdate(object, old) {
    if (!equalJson(object["template"], old["template"])) object.metadata.generation = (old.metadata.generation ?? 0) + 1;
  },
  validate: (object) => podTemplateErrors(object["template"], "template"),
  columns: [
    nameColumn,
    ...templateColumnsOf((object) => object["template"]).map(({ wide: _wide, ...column }) => column),
    {
      name: "Pod Labels",
      type: "string",
      description: "The labels for the pod template.",
      cell: (object) => formatLabels((object["template"] as PodTemplate).metadata.labels),
    },
  ],
};
