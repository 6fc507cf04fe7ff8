import type { ApiObject, Kind } from "../kind.ts";

/** The object an event is about. */
export interface ObjectReference {
  kind?: string;
  namespace?: string;
  name?: string;
  uid?: string;
  apiVersion?: string;
  resourceVersion?: string;
  fieldPath?: string;
}

/** An event as core/v1 has it. */
export interface EventFields {
  involvedObject: ObjectReference;
  reason?: string;
  message?: string;
  source: { component?: string; host?: string };
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  count?: number;
  type?: string;
  eventTime?: string | null;
  series?: { count?: number; lastObservedTime?: string | null };
  action?: string;
  reportingComponent: string;
  reportingInstance: string;
}

/** The fields of an event. */
export function eventFields(event: Readonly<ApiObject>): EventFields {
  // Every stored event has been read through the schema of its kind.
  return event as unknown as EventFields;
}

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
};
