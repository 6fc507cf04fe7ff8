import { equalJson } from "../../json/json-value.ts";
import type { ApiObject, FieldError, Kind } from "../kind.ts";
import { immutableErrors } from "../validation/immutable.ts";
import { invalidValue, required } from "../validation/field-errors.ts";
import { dnsSubdomainProblems } from "../validation/names.ts";
import { versionOf } from "../version-of.ts";
import { eventKind } from "./event.ts";
import { eventFields, type EventFields } from "./event-fields.ts";
import { eventErrors } from "./validate-event.ts";

/** Names of fields that differ between core/v1 and events.k8s.io/v1. Source: Kubernetes v1.36.3 pkg/apis/events/v1/conversion.go. */
const names: readonly (readonly [core: string, modern: string])[] = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["reportingComponent", "reportingController"],
];
const toCore: ReadonlyMap<string, string> = new Map(names.map(([core, modern]) => [modern, core]));
const toModern: ReadonlyMap<string, string> = new Map(names);

function renamed({ kind, apiVersion, metadata, ...fields }: Readonly<ApiObject>, to: ReadonlyMap<string, string>): ApiObject {
  return {
    kind,
    apiVersion,
    metadata,
    ...Object.fromEntries(Object.entries(fields).map(([name, value]: [string, unknown]) => [to.get(name) ?? name, value])),
  };
}

/** A core/v1 event with the fields that are always written there. */
function inCore(event: Readonly<ApiObject>): ApiObject {
  const core = renamed(event, toCore);
  return {
    ...core,
    involvedObject: core["involvedObject"] ?? {},
    source: core["source"] ?? {},
    reportingComponent: core["reportingComponent"] ?? "",
    reportingInstance: core["reportingInstance"] ?? "",
  };
}

/** Events of the group events.k8s.io, which are the events of the core group under other names. */
export const modernEventKind: Kind = versionOf(eventKind, {
  group: "events.k8s.io",
  version: "v1",
  schema: "io.k8s.api.events.v1.Event",
  nameProblems: dnsSubdomainProblems,
  conversion: { fromStorage: (event) => renamed(event, toModern), toStorage: inCore },
  fieldSelectors: Object.fromEntries(
    Object.entries(eventKind.fieldSelectors ?? {})
      .filter(([label]) => label !== "source")
      .map(([label, select]) => [
        label.replace(/^involvedObject\./, "regarding.").replace(/^reportingComponent$/, "reportingController"),
        (event: ApiObject): string => select(inCore(event)),
      ]),
  ),
  validate: (event, old) => modernEventErrors(inCore(event), old === undefined ? undefined : inCore(old)),
});

/** Source: Kubernetes v1.36.3 pkg/apis/core/validation/events.go, `ValidateEventCreate` and `ValidateEventUpdate`. */
function modernEventErrors(event: ApiObject, old: ApiObject | undefined): FieldError[] {
  const errors = eventErrors(event, "reportingController");
  return [...errors, ...(old === undefined ? createErrors(eventFields(event)) : updateErrors(event, old))];
}

function createErrors(event: EventFields): FieldError[] {
  const { type = "", firstTimestamp, lastTimestamp, count = 0, source } = event;
  const unset = (field: string, isSet: boolean): FieldError[] => (isSet ? [invalidValue(field, "", "needs to be unset")] : []);
  return [
    ...seriesErrors(event),
    ...(event.eventTime ? [] : [required("eventTime")]),
    ...(type === "Normal" || type === "Warning" ? [] : [invalidValue("type", "", `has invalid value: ${type}`)]),
    ...unset("firstTimestamp", Boolean(firstTimestamp)),
    ...unset("lastTimestamp", Boolean(lastTimestamp)),
    ...unset("count", count !== 0),
    ...unset("source", Boolean(source?.component) || Boolean(source?.host)),
  ];
}

function seriesErrors({ series }: EventFields): FieldError[] {
  if (series === undefined) return [];
  return [
    ...((series.count ?? 0) < 2 ? [invalidValue("series.count", "", "should be at least 2")] : []),
    ...(series.lastObservedTime ? [] : [required("series.lastObservedTime")]),
  ];
}

/** Fields in the order of the errors; `reason` is checked twice there too. */
const immutable = [
  "involvedObject",
  "reason",
  "message",
  "source",
  "firstTimestamp",
  "lastTimestamp",
  "count",
  "reason",
  "type",
  "eventTime",
  "action",
  "related",
  "reportingController",
  "reportingInstance",
] as const;

function updateErrors(event: ApiObject, old: ApiObject): FieldError[] {
  const valueOf = (object: ApiObject, field: string): unknown =>
    object[field === "reportingController" ? "reportingComponent" : field] ?? "";
  return [
    ...(equalJson(event["series"], old["series"]) ? [] : seriesErrors(eventFields(event))),
    ...immutable.flatMap((field) => immutableErrors(valueOf(event, field), valueOf(old, field), field)),
  ];
}
