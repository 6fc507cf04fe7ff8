import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { type ApiStatusError, badRequest, plainFailure } from "../errors/api-status-error.ts";
import { equalJson, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { goKind } from "../kinds/api-version.ts";
import type { ApiObject } from "../kinds/kind.ts";
import { applyConflict } from "./apply-conflict.ts";
import { objectProblems, problemText } from "./check-object.ts";
import { entryTimeProblem, isReadableEntryList } from "./entry-list.ts";
import { difference, isEmptySet, setOf, union } from "./field-set.ts";
import { lastAppliedConflicts, withLastApplied } from "./last-applied.ts";
import { ItemError } from "./list-items.ts";
import { capped, entriesOf, managerId, managersIn, type TimedFields, type TimedManagers, type Writer } from "./manager-entries.ts";
import type { MergeType } from "./merge-type.ts";
import { fieldElement } from "./path-element.ts";
import { sharedSets } from "./shared-sets.ts";
import { applyChange, ApplyConflicts, managersAfterUpdate, type Managers, type VersionedType, VersionMismatch } from "./updater.ts";

/**
 * Who owns which field of the objects of a kind, by one of its resources: the object itself or a subresource.
 *
 * Source of this file: k8s.io/apimachinery v0.36.3 pkg/util/managedfields/internal, all managers of `NewDefaultFieldManager`.
 */
export interface ManagedType extends VersionedType {
  readonly kind: string;
  /** Version of the request, such as `apps/v1`. */
  readonly apiVersion: string;
  /** `""` for the object itself. */
  readonly subresource: string;
  /** Object before it exists, in the version of the request. */
  readonly empty: () => JsonObject;
}

/** A write. */
export interface FieldWrite {
  readonly type: ManagedType;
  /** Name of the field manager. */
  readonly manager: string;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** Key of the write in progress among the managers. */
const current = "current-operation";

/** Fields that nobody owns. Source: stripmeta.go. */
const strippedFields = setOf(
  ...["apiVersion", "kind", "metadata"].map((name) => [fieldElement(name)]),
  ...["name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields", "resourceVersion"].map(
    (name) => [fieldElement("metadata"), fieldElement(name)],
  ),
);

/**
 * Sets `metadata.managedFields` of an object that is about to be stored: what has changed belongs to the writer. Modifies `object`.
 *
 * @param live - the stored object; `undefined` for a new one
 */
export function trackWrite(write: FieldWrite, live: Readonly<ApiObject> | undefined, object: ApiObject): void {
  const metadata = object.metadata as { managedFields?: unknown };
  const { managedFields: given } = metadata;
  const managers = managersBefore(write, live, given);
  delete metadata.managedFields;
  // Nobody tracks an object that was once stored without managers.
  if (live !== undefined && managers.size === 0) return;
  try {
    const entries = entriesAfterWrite(write, live, object, { managers, mayBeEdited: given !== undefined });
    if (entries !== undefined) metadata.managedFields = entries;
  } catch (error) {
    // The object may be tracked again, after a webhook has converted it.
    if (given !== undefined) metadata.managedFields = given;
    throw error;
  }
}

function entriesAfterWrite(
  write: FieldWrite,
  live: Readonly<ApiObject> | undefined,
  object: ApiObject,
  { managers, mayBeEdited }: { readonly managers: TimedManagers; readonly mayBeEdited: boolean },
): readonly object[] | undefined {
  try {
    const after = afterUpdate(write, live ?? write.type.empty(), object, managers);
    const before = (live?.metadata as { managedFields?: readonly object[] } | undefined)?.managedFields;
    if (before === undefined || !isSame(managers, after)) return entriesOf(after);
    if (!mayBeEdited) return before;
    // The write itself changes no managers.
    const entries = entriesOf(after);
    return equalJson(entries, before) ? before : entries;
  } catch (error) {
    // As on the real server, a write does not fail because its fields cannot be tracked.
    if (error instanceof ItemError || error instanceof VersionMismatch) return undefined;
    throw error;
  }
}

/** A client may change managers directly, and resets them with an empty list. One that does not know them does not lose them. */
function managersBefore({ type }: FieldWrite, live: Readonly<ApiObject> | undefined, given: unknown): TimedManagers {
  const before = (live?.metadata as { managedFields?: unknown } | undefined)?.managedFields;
  if (given === before || type.subresource !== "") return managersIn(before) ?? none;
  if (isReset(given)) return none;
  const managers = managersIn(given);
  return managers === undefined || managers.size === 0 ? (managersIn(before) ?? none) : managers;
}

const none: TimedManagers = new Map();

function isReset(given: unknown): boolean {
  return Array.isArray(given) && (given.length === 0 || (given.length === 1 && equalJson(given[0], {})));
}

function afterUpdate(write: FieldWrite, live: JsonValue, object: JsonValue, managers: TimedManagers): TimedManagers {
  const { type, manager, nowMs } = write;
  const change = { versions: type, apiVersion: type.apiVersion, managers, manager: current };
  const after = timed(managersAfterUpdate(change, live, object), managers);
  const own = after.get(current);
  after.delete(current);
  const changed = own === undefined ? undefined : difference(own.fields, strippedFields);
  if (own === undefined || changed === undefined || isEmptySet(changed)) return capped(after);
  const id = managerId(writerOf(write, "Update", manager));
  const fields = sharedSets.share(union(after.get(id)?.fields ?? {}, changed));
  return capped(after.set(id, { ...own, fields, time: rfc3339(nowMs) }));
}

function writerOf({ type }: FieldWrite, operation: Writer["operation"], manager: string): Writer {
  return { manager, operation, apiVersion: type.apiVersion, subresource: type.subresource };
}

/** Adds the times of before. */
function timed(managers: Managers, before: TimedManagers): Map<string, TimedFields> {
  return new Map(
    [...managers].map(([id, fields]) => [id, "time" in fields ? (fields as TimedFields) : { ...fields, time: before.get(id)?.time }]),
  );
}

function isSame(before: TimedManagers, after: TimedManagers): boolean {
  return before.size === after.size && [...before].every(([id, fields]) => after.get(id) === fields);
}

/**
 * Applies a configuration to an object.
 *
 * @param live - the stored object; `undefined` to create one
 * @param configuration - body of the request
 * @returns the merged object, before decoding and defaults, with `metadata.managedFields`
 * @throws ApiStatusError 400 if it is not a configuration of the kind, 409 if it changes fields of other managers without `force`, 500 if it
 *   does not match the schema
 */
export function applyConfiguration(
  write: FieldWrite,
  live: Readonly<ApiObject> | undefined,
  { configuration, force }: { readonly configuration: JsonObject; readonly force: boolean },
): JsonObject {
  const { type, manager } = write;
  checkConfiguration(type, configuration);
  const base: JsonObject = live === undefined ? type.empty() : withoutManagers(live);
  const before = managersOfLive(write, live, base);
  const applied = applyWith(write, { base, configuration, before, force });
  const object = applied.object ?? base;
  const result = manager === "kubectl" ? withLastApplied(object, configuration) : object;
  const { managedFields: given = null, ...metadata } = (result["metadata"] ?? {}) as JsonObject;
  // Custom resources are not converted, so that malformed managers are dropped.
  const problem = type.mayChange ? undefined : entryTimeProblem(given);
  if (problem !== undefined) throw conversionError(type, configuration, problem);
  const entries = entriesOf(applied.managers);
  if (entries === undefined) return { ...result, metadata };
  // Entries are JSON, although their type does not say so.
  return { ...result, metadata: { ...metadata, managedFields: entries as unknown as JsonValue } };
}

function checkConfiguration(type: ManagedType, configuration: JsonObject): void {
  const { apiVersion, kind, metadata } = configuration;
  if (apiVersion !== type.apiVersion || kind !== type.kind)
    throw badRequest(`invalid object type: ${goKind(String(apiVersion ?? ""), String(kind ?? ""))}`);
  // Other values do not have the type of managers, so that the schema refuses them.
  if (isJsonObject<JsonValue>(metadata) && isReadableEntryList(metadata["managedFields"] ?? null))
    throw badRequest("metadata.managedFields must be nil");
}

function withoutManagers({ metadata, ...rest }: Readonly<ApiObject>): JsonObject {
  const { managedFields: _managers, ...fields } = metadata as JsonObject & ApiObject["metadata"];
  return { ...rest, metadata: fields };
}

/** What an object without managers contains belongs to `before-first-apply`. Source: skipnonapplied.go. */
function managersOfLive(write: FieldWrite, live: Readonly<ApiObject> | undefined, base: JsonObject): TimedManagers {
  if (live === undefined) return none;
  const managers = managersIn((live.metadata as { managedFields?: unknown }).managedFields) ?? none;
  if (managers.size > 0) return managers;
  return afterUpdate({ ...write, manager: "before-first-apply" }, write.type.empty(), base, none);
}

/** An apply in progress. */
interface Apply {
  readonly base: JsonObject;
  readonly configuration: JsonObject;
  readonly before: TimedManagers;
  readonly force: boolean;
}

function applyWith(write: FieldWrite, apply: Apply): { object: JsonObject | undefined; managers: TimedManagers } {
  const { type, manager } = write;
  checkSchema(type, apply);
  const id = managerId(writerOf(write, "Apply", manager));
  const change = { versions: type, apiVersion: type.apiVersion, managers: apply.before, manager: id };
  try {
    const { object, managers } = applyChange(change, apply.base, apply.configuration, apply.force);
    const after = timed(managers, apply.before);
    const own = after.get(id);
    if (own !== undefined) {
      const fields = difference(own.fields, strippedFields);
      const time = object === undefined ? apply.before.get(id)?.time : rfc3339(write.nowMs);
      if (isEmptySet(fields)) after.delete(id);
      else after.set(id, { ...own, fields: sharedSets.share(fields), time });
    }
    return { object: object as JsonObject | undefined, managers: after };
  } catch (error) {
    if (error instanceof VersionMismatch) throw plainFailure(error.message);
    if (!(error instanceof ApplyConflicts)) throw error;
    // Who used client-side apply does not conflict with it.
    const conflicts = manager === "kubectl" ? lastAppliedConflicts(type, apply.base, error.conflicts) : error.conflicts;
    if (conflicts.length > 0) throw applyConflict(conflicts);
    return applyWith(write, { ...apply, force: true });
  }
}

function checkSchema(type: ManagedType, { base, configuration }: Apply): void {
  const mergeType = type.typeIn(type.apiVersion);
  if (mergeType === undefined) return;
  checkObject(mergeType, configuration, { what: "patch", allowDuplicates: false, of: type });
  checkObject(mergeType, base, { what: "live", allowDuplicates: true, of: type });
}

function checkObject(
  mergeType: MergeType,
  object: JsonObject,
  { what, allowDuplicates, of }: { what: string; allowDuplicates: boolean; of: ManagedType },
): void {
  const problems = objectProblems(mergeType, object, allowDuplicates);
  if (problems.length === 0) return;
  throw plainFailure(`failed to create typed ${what} object (${identity(of, object)}): ${problemText(problems)}`);
}

/** Error for an applied object that the schema allows, but not the types of the server. @param problem - of the converter */
export function conversionError(type: ManagedType, configuration: JsonObject, problem: string): ApiStatusError {
  const conversion = `unable to convert unstructured object to ${goKind(type.apiVersion, type.kind)}: ${problem}`;
  return plainFailure(`failed to convert new object (${identity(type, configuration)}) to proper version: ${conversion}`);
}

/** Namespace, name and kind as the real server prints them. */
function identity({ apiVersion, kind }: ManagedType, { metadata }: JsonObject): string {
  const { name, namespace } = isJsonObject<JsonValue>(metadata) ? metadata : {};
  return `${textOf(namespace)}/${textOf(name)}; ${goKind(apiVersion, kind)}`;
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
