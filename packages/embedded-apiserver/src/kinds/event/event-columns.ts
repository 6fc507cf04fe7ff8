import type { Column } from "../kind.ts";
import { eventFields, type EventFields } from "./event-fields.ts";
import { ageOf } from "../columns/human-duration.ts";

function firstSeen({ firstTimestamp, eventTime }: EventFields): string | null | undefined {
  return firstTimestamp ?? eventTime;
}

function lastSeen(event: EventFields): string | null | undefined {
  return event.series === undefined ? (event.lastTimestamp ?? firstSeen(event)) : event.series.lastObservedTime;
}

function target({ involvedObject: { kind = "", name } }: EventFields): string {
  return name === undefined ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`;
}

function source({ source: { component, host }, reportingComponent, reportingInstance }: EventFields): string {
  const instance = host || reportingInstance;
  return `${component || reportingComponent}${instance ? `, ${instance}` : ""}`;
}

/** Source: Kubernetes v1.36.3 pkg/printers/internalversion/printers.go, printEvent. */
export const eventColumns: readonly Column[] = [
  {
    name: "Last Seen",
    type: "string",
    description: "The time at which the most recent occurrence of this event was recorded.",
    cell: (event, nowMs) => ageOf(lastSeen(eventFields(event)), nowMs),
  },
  {
    name: "Type",
    type: "string",
    description: "Type of this event (Normal, Warning), new types could be added in the future",
    cell: (event) => eventFields(event).type ?? "",
  },
  {
    name: "Reason",
    type: "string",
    description:
      "This should be a short, machine understandable string that gives the reason for the transition into the object's current status.",
    cell: (event) => eventFields(event).reason ?? "",
  },
  { name: "Object", type: "string", description: "The object that this event is about.", cell: (event) => target(eventFields(event)) },
  {
    name: "Subobject",
    type: "string",
    description:
      'If referring to a piece of an object instead of an entire object, this string should contain a valid JSON/Go field access statement, such as desiredState.manifest.containers[2]. For example, if the object reference is to a container within a pod, this would take on a value like: "spec.containers{name}" (where "name" refers to the name of the container that triggered the event) or if no container name is specified "spec.containers[2]" (container with index 2 in this pod). This syntax is chosen only to have some well-defined way of referencing a part of an object.',
    wide: true,
    cell: (event) => eventFields(event).involvedObject.fieldPath ?? "",
  },
  {
    name: "Source",
    type: "string",
    description: "The component reporting this event. Should be a short machine understandable string.",
    wide: true,
    cell: (event) => source(eventFields(event)),
  },
  {
    name: "Message",
    type: "string",
    description: "A human-readable description of the status of this operation.",
    cell: (event) => (eventFields(event).message ?? "").trim(),
  },
  {
    name: "First Seen",
    type: "string",
    description: "The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)",
    wide: true,
    cell: (event, nowMs) => ageOf(firstSeen(eventFields(event)), nowMs),
  },
  {
    name: "Count",
    type: "string",
    description: "The number of times this event has occurred.",
    wide: true,
    cell: (event) => eventFields(event).series?.count ?? eventFields(event).count ?? 1,
  },
  {
    name: "Name",
    type: "string",
    description:
      "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
    wide: true,
    cell: (event) => event.metadata.name,
  },
];
