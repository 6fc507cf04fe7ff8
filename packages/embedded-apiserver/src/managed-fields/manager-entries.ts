import { byCodeUnits } from "../json/key-order.ts";
import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { isJsonObject, type JsonValue } from "../json/json-value.ts";
import { emptySet, type FieldSet, parseFieldSet, union } from "./field-set.ts";
import type { ManagerFields } from "./updater.ts";

/** An entry of `metadata.managedFields`. */
export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  /** RFC 3339, in whole seconds. */
  readonly time?: string;
  readonly fieldsType: "FieldsV1";
  readonly fieldsV1?: FieldSet;
  readonly subresource?: string;
}

/** Fields of a manager with the time of its last change. */
export interface TimedFields extends ManagerFields {
  readonly time: string | undefined;
}

/** Managers of an object by identity, see {@link managerId}. */
export type TimedManagers = ReadonlyMap<string, TimedFields>;

/** Who writes, and how. */
export interface Writer {
  /** Name of the field manager; at most 128 bytes. */
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  /** Such as `apps/v1`. */
  readonly apiVersion: string;
  /** Such as `status`; `""` for the object itself. */
  readonly subresource: string;
}

/**
 * Identity of a manager, as text. Who applies in several versions is one manager.
 *
 * Source of this file: k8s.io/apimachinery v0.36.3 pkg/util/managedfields/internal/managedfields.go and capmanagers.go.
 */
export function managerId({ manager, operation, apiVersion, subresource }: Writer): string {
  return JSON.stringify([manager === "" ? "unknown" : manager, operation, operation === "Apply" ? "" : apiVersion, subresource]);
}

function writerOf(id: string, apiVersion: string): Writer {
  const [manager, operation, , subresource] = JSON.parse(id) as [string, Writer["operation"], string, string];
  return { manager, operation, apiVersion, subresource };
}

/** A manager for people, such as `"kubectl" with subresource "status" using v1`. Source: conflict.go of the same package. */
export function managerText(id: string): string {
  const [manager, operation, apiVersion, subresource] = JSON.parse(id) as [string, Writer["operation"], string, string];
  const name = `${JSON.stringify(manager)}${subresource === "" ? "" : ` with subresource ${JSON.stringify(subresource)}`}`;
  return operation === "Update" ? `${name} using ${apiVersion}` : name;
}

/** Text by which the real server sorts managers in messages. */
export function managerOrderKey(id: string): string {
  const [manager, operation, apiVersion, subresource] = JSON.parse(id) as [string, Writer["operation"], string, string];
  return JSON.stringify({ manager, operation, apiVersion: apiVersion || undefined, subresource: subresource || undefined });
}

/** Entries that this server wrote, whose sets are in order. */
const ownEntries = new WeakSet<object>();

/**
 * Managers in `metadata.managedFields`.
 *
 * @returns `undefined` if an entry is invalid
 */
export function managersIn(entries: unknown): TimedManagers | undefined {
  if (!Array.isArray(entries)) return undefined;
  const isOwn = ownEntries.has(entries);
  const managers = new Map<string, TimedFields>();
  for (const entry of entries as unknown[]) {
    const parsed = isOwn ? (entry as ManagedFieldsEntry) : parseEntry(entry);
    if (parsed === undefined) return undefined;
    const { manager = "", operation, apiVersion, subresource = "", time, fieldsV1 } = parsed;
    const fields = { apiVersion, isApplied: operation === "Apply", time, fields: fieldsV1 ?? emptySet };
    managers.set(managerId({ manager, operation, apiVersion, subresource }), fields);
  }
  return managers;
}

function parseEntry(entry: unknown): ManagedFieldsEntry | undefined {
  if (!isJsonObject<JsonValue>(entry)) return undefined;
  const { manager = "", operation, apiVersion, subresource = "", time, fieldsType, fieldsV1 = {} } = entry;
  if (operation !== "Apply" && operation !== "Update") return undefined;
  if (typeof apiVersion !== "string" || apiVersion === "" || fieldsType !== "FieldsV1") return undefined;
  if (typeof manager !== "string" || typeof subresource !== "string") return undefined;
  const at = typeof time === "string" ? Date.parse(time) : undefined;
  if (at !== undefined && Number.isNaN(at)) return undefined;
  const fields = parseFieldSet(fieldsV1);
  if (fields === undefined) return undefined;
  return {
    manager,
    operation,
    apiVersion,
    subresource,
    ...(at === undefined ? {} : { time: rfc3339(at) }),
    fieldsType,
    fieldsV1: fields,
  };
}

/** `metadata.managedFields` of the managers, in the order of the real server; `undefined` if there are none. */
export function entriesOf(managers: TimedManagers): readonly ManagedFieldsEntry[] | undefined {
  if (managers.size === 0) return undefined;
  const entries = [...managers].map(([id, fields]) => entryOf(id, fields)).toSorted(compareEntries);
  ownEntries.add(entries);
  return entries;
}

function entryOf(id: string, { apiVersion, isApplied, time, fields }: TimedFields): ManagedFieldsEntry {
  const { manager, operation, subresource } = writerOf(id, apiVersion);
  return {
    manager,
    operation: isApplied ? "Apply" : operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: "FieldsV1",
    fieldsV1: fields,
    ...(subresource === "" ? {} : { subresource }),
  };
}

function compareEntries(a: ManagedFieldsEntry, b: ManagedFieldsEntry): number {
  return (
    byCodeUnits(a.operation, b.operation) ||
    byCodeUnits(a.time ?? "", b.time ?? "") ||
    byCodeUnits(a.manager ?? "", b.manager ?? "") ||
    byCodeUnits(a.apiVersion, b.apiVersion) ||
    byCodeUnits(a.subresource ?? "", b.subresource ?? "")
  );
}

const mostUpdaters = 10;

/** Joins the oldest managers that did not apply, so that at most ten remain. */
export function capped(managers: TimedManagers): TimedManagers {
  const updaters = [...managers].filter(([, { isApplied }]) => !isApplied);
  if (updaters.length <= mostUpdaters) return managers;
  const byAge = updaters.toSorted(([a, { time: atA = "" }], [b, { time: atB = "" }]) => byCodeUnits(atA, atB) || byCodeUnits(a, b));
  const result = new Map(managers);
  const firstOf = new Map<string, string>();
  let count = updaters.length;
  for (const [id, { apiVersion, fields, time }] of byAge) {
    if (count <= mostUpdaters) break;
    const first = firstOf.get(apiVersion);
    if (first === undefined) {
      firstOf.set(apiVersion, id);
      continue;
    }
    const bucket = managerId({ manager: "ancient-changes", operation: "Update", apiVersion, subresource: "" });
    const others = result.get(bucket) ?? result.get(first);
    result.delete(first);
    result.delete(id);
    result.set(bucket, { apiVersion, isApplied: false, time, fields: union(fields, others?.fields ?? emptySet) });
    count--;
  }
  return result;
}
