import { ageDefinition, customColumns } from "../custom-resources/custom-columns.ts";
import { ageColumn, nameColumn } from "../kinds/columns/columns.ts";
import type { JsonObject } from "../json/json-value.ts";
import type { ApiObject, Column } from "../kinds/kind.ts";
import type { ApiResponse } from "./api-request.ts";
import { tableOf, type ResourceCall, type ResourceContext } from "./resource-call.ts";
import { json, partialMetadata } from "./respond.ts";

/** Source: Kubernetes v1.36.3 pkg/printers/internalversion/printers.go, `scaleColumnDefinitions` and `printScale`. */
const scaleColumns: readonly Column[] = [
  nameColumn,
  {
    name: "Desired",
    type: "integer",
    description: "replicas is the desired number of instances for the scaled object.",
    cell: ({ spec }) => spec.replicas ?? 0,
  },
  {
    name: "Available",
    type: "integer",
    description: "replicas is the actual number of observed instances of the scaled object.",
    cell: ({ status }) => status.replicas,
  },
  ageColumn,
];

/** Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apiserver/helpers.go, `getScaleColumnsForVersion`. */
const customScaleColumns: readonly Column[] = customColumns([
  { name: "Desired", type: "integer", description: "Number of desired replicas", jsonPath: ".spec.replicas" },
  { name: "Available", type: "integer", description: "Number of actual replicas", jsonPath: ".status.replicas" },
  ageDefinition,
]);

/** Response with a Scale, in the requested form. */
export function scaleResponse(context: ResourceContext, call: ResourceCall, body: JsonObject): ApiResponse {
  const { form, metaVersion } = call.output;
  const scale = body as unknown as ApiObject;
  if (form === "object") return json(200, scale);
  if (form === "metadata") return json(200, partialMetadata(scale, metaVersion));
  const asScale = { ...call, kind: { ...call.kind, columns: call.kind.custom === undefined ? scaleColumns : customScaleColumns } };
  return json(200, tableOf(context, asScale, { objects: [scale], metadata: { resourceVersion: scale.metadata.resourceVersion } }));
}
