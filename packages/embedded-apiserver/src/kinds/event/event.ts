import type { ApiObject, Kind } from "../kind.ts";
import { eventColumns } from "./event-columns.ts";
import type { ObjectReference } from "../object-reference.ts";
import { eventFields } from "./event-fields.ts";
import { pathSegmentProblems } from "../validation/names.ts";
import { eventErrors } from "./validate-event.ts";

function involved(field: keyof ObjectReference): (event: ApiObject) => string {
  return (event) => eventFields(event).involvedObject[field] ?? "";
}

/** Source: Kubernetes v1.36.3 pkg/registry/core/event/strategy.go. */
export const eventKind: Kind = {
  group: "",
  version: "v1",
  kind: "Event",
  plural: "events",
  singular: "event",
  shortNames: ["ev"],
  namespaced: true,
  schema: "io.k8s.api.core.v1.Event",
  nameProblems: pathSegmentProblems,
  fieldSelectors: {
    "involvedObject.kind": involved("kind"),
    "involvedObject.namespace": involved("namespace"),
    "involvedObject.name": involved("name"),
    "involvedObject.uid": involved("uid"),
    "involvedObject.apiVersion": involved("apiVersion"),
    "involvedObject.resourceVersion": involved("resourceVersion"),
    "involvedObject.fieldPath": involved("fieldPath"),
    reason: (event) => eventFields(event).reason ?? "",
    reportingComponent: (event) => eventFields(event).reportingComponent,
    source: (event) => eventFields(event).source.component || eventFields(event).reportingComponent,
    type: (event) => eventFields(event).type ?? "",
  },
  validate: (event) => eventErrors(event, "reportingComponent"),
  columns: eventColumns,
};
