import { equalJson, type JsonValue } from "../json/json-value.ts";
import { objectProblems, problemText } from "./check-object.ts";
import { type Comparison, compareObjects, withoutFields } from "./compare-objects.ts";
import { difference, emptySet, type FieldSet, intersection, isEmptySet, pathsOf, union } from "./field-set.ts";
import { mergeObjects } from "./merge-objects.ts";
import type { MergeType } from "./merge-type.ts";
import { withNamedFields } from "./named-fields.ts";
import { fieldsOfObject } from "./object-fields.ts";
import type { PathElement } from "./path-element.ts";
import { removeFields } from "./remove-fields.ts";
import { fieldsInSchema } from "./schema-changes.ts";

/** Fields of one manager. */
export interface ManagerFields {
  /** Version in which the fields are named, such as `apps/v1`. */
  readonly apiVersion: string;
  /** Whether the manager applied them, instead of writing them with another verb. */
  readonly isApplied: boolean;
  readonly fields: FieldSet;
}

/** Fields of all managers by their identity. */
export type Managers = ReadonlyMap<string, ManagerFields>;

/** The versions of a kind. */
export interface VersionedType {
  /** Type of the kind in a version, served or not; `undefined` if there is no such version. */
  typeIn(apiVersion: string): MergeType | undefined;
  /** The object in another version. @throws ConversionPending if a webhook has to convert it first */
  convert(object: JsonValue, apiVersion: string): JsonValue;
  /** Fields that a request of this kind cannot change, in each version. */
  resetFields(apiVersion: string): FieldSet;
  /** Whether the types change while the server runs, as those of custom resources do. */
  readonly mayChange: boolean;
}

/** A field that somebody else owns. */
export interface Conflict {
  /** Identity of the manager. */
  readonly manager: string;
  readonly path: readonly PathElement[];
}

/** An applied configuration changes fields of other managers. */
export class ApplyConflicts extends Error {
  readonly conflicts: readonly Conflict[];

  constructor(conflicts: readonly Conflict[]) {
    super(`${conflicts.length} conflicts`);
    this.name = "ApplyConflicts";
    this.conflicts = conflicts;
  }
}

/** An object cannot be converted to the version of its kind in which a manager names its fields: the version is gone, or lacks one of its fields. */
export class VersionMismatch extends Error {
  constructor(message: string) {
    super(message);
    this.name = "VersionMismatch";
  }
}

/** A change to an object, by one of its managers. */
export interface Change {
  readonly versions: VersionedType;
  /** Version of both objects. */
  readonly apiVersion: string;
  readonly managers: Managers;
  /** Identity of the manager that makes the change. */
  readonly manager: string;
}

/**
 * Managers after a write other than apply: what was changed belongs to the writer.
 *
 * Source of this file: sigs.k8s.io/structured-merge-diff/v6 v6.3.3 merge/update.go.
 *
 * @throws ItemError if an item of a list cannot be identified; VersionMismatch
 */
export function managersAfterUpdate(given: Change, live: JsonValue, changed: JsonValue): Managers {
  const change = inSchema(given, live);
  const { managers, comparison } = afterChange(change, live, changed, true);
  const { apiVersion, manager, versions } = change;
  const before = managers.get(manager)?.fields ?? emptySet;
  const owned = union(union(difference(before, comparison.removed), comparison.modified), comparison.added);
  const fields = difference(owned, versions.resetFields(apiVersion), "recursive");
  return withManager(managers, manager, { apiVersion, isApplied: false, fields });
}

/** Result of {@link applyChange}. */
export interface Applied {
  /** The merged object; `undefined` if nothing has changed. */
  readonly object: JsonValue | undefined;
  readonly managers: Managers;
}

/**
 * Merges an applied configuration into a live object, and removes what the manager applied before but not now.
 *
 * @param force - whether the manager takes fields of others
 * @throws ApplyConflicts without `force`; ItemError if an item of a list cannot be identified; VersionMismatch
 */
export function applyChange(given: Change, live: JsonValue, applied: JsonValue, force: boolean): Applied {
  const change = inSchema(given, live);
  const { versions, apiVersion, manager } = change;
  const type = typeOf(versions, apiVersion);
  const last = change.managers.get(manager);
  const fields = difference(fieldsOfObject(type, applied), versions.resetFields(apiVersion), "recursive");
  const managers = new Map(change.managers).set(manager, { apiVersion, isApplied: true, fields });
  const merged = mergeObjects(type, live, applied);
  const object = pruned({ ...change, managers }, merged, last);
  const after = afterChange({ ...change, managers }, live, object, force);
  return { object: equalJson(live, object) ? undefined : object, managers: after.managers };
}

/** The managers as the current schema names their fields. @throws VersionMismatch */
function inSchema(change: Change, live: JsonValue): Change {
  const { versions, managers, apiVersion } = change;
  if (!versions.mayChange) return change;
  for (const version of new Set([...managers.values()].map((manager) => manager.apiVersion)))
    if (version !== apiVersion) converted(versions, live, version, "");
  const current = [...managers].map(([id, manager]): [string, ManagerFields] => {
    const fields = fieldsInSchema(manager.fields, typeOf(versions, manager.apiVersion));
    return [id, { ...manager, fields }];
  });
  return { ...change, managers: new Map(current) };
}

/**
 * The object in another version, with whose schema it has to agree.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/util/managedfields/internal/versionconverter.go, and `ConvertToVersion` of k8s.io/apiextensions-apiserver
 * v0.36.3 pkg/apiserver/conversion/converter.go.
 *
 * @param attempt - what an error begins with
 * @throws VersionMismatch
 */
function converted(versions: VersionedType, object: JsonValue, apiVersion: string, attempt: string): JsonValue {
  if (!versions.mayChange) return versions.convert(object, apiVersion);
  const type = versions.typeIn(apiVersion);
  if (type === undefined) throw new VersionMismatch(`${attempt}request to convert CR to an invalid group/version: ${apiVersion}`);
  const result = versions.convert(object, apiVersion);
  const problems = objectProblems(type, result, false);
  if (problems.length > 0) throw new VersionMismatch(`${attempt}${problemText(problems)}`);
  return result;
}

function typeOf(versions: VersionedType, apiVersion: string): MergeType {
  const type = versions.typeIn(apiVersion);
  if (type === undefined) throw new RangeError(`look up the merge type in ${apiVersion}: this version is not served`);
  return type;
}

/** Takes what has changed from the other managers. @throws ApplyConflicts without `force` */
function afterChange(
  { versions, apiVersion, managers, manager }: Change,
  old: JsonValue,
  changed: JsonValue,
  force: boolean,
): { managers: Managers; comparison: Comparison } {
  const comparisons = new Map<string, Comparison>();
  const compareIn = (version: string): Comparison | undefined => {
    const known = comparisons.get(version);
    const type = versions.typeIn(version);
    if (known !== undefined || type === undefined) return known;
    const [left, right] =
      version === apiVersion
        ? [old, changed]
        : [versions.convert(old, version), converted(versions, changed, version, "failed to convert new object: ")];
    const made = withoutFields(compareObjects(type, left, right), versions.resetFields(version));
    comparisons.set(version, made);
    return made;
  };
  const comparison = compareIn(apiVersion) ?? { removed: emptySet, modified: emptySet, added: emptySet };
  const conflicts: Conflict[] = [];
  const result = new Map<string, ManagerFields>();
  for (const [name, owned] of managers) {
    if (name === manager) {
      result.set(name, owned);
      continue;
    }
    const differences = compareIn(owned.apiVersion);
    // A manager of a version that is gone owns nothing.
    if (differences === undefined) continue;
    const taken = intersection(owned.fields, union(differences.modified, differences.added));
    conflicts.push(...pathsOf(taken).map((path) => ({ manager: name, path })));
    const fields = difference(difference(owned.fields, taken), differences.removed);
    result.set(name, fields === owned.fields ? owned : { ...owned, fields });
  }
  if (!force && conflicts.length > 0) throw new ApplyConflicts(conflicts);
  for (const [name, { fields }] of result) if (isEmptySet(fields)) result.delete(name);
  return { managers: result, comparison };
}

function withManager(managers: Managers, manager: string, fields: ManagerFields): Managers {
  const result = new Map(managers);
  if (isEmptySet(fields.fields)) result.delete(manager);
  else result.set(manager, fields);
  return result;
}

const pruning = "failed to prune fields: ";

/** Removes what the manager applied last, did not apply now, and nobody else owns. */
function pruned({ versions, apiVersion, managers, manager }: Change, merged: JsonValue, last: ManagerFields | undefined): JsonValue {
  if (last === undefined || isEmptySet(last.fields)) return merged;
  const type = versions.typeIn(last.apiVersion);
  if (type === undefined) return merged;
  const inLastVersion =
    last.apiVersion === apiVersion
      ? merged
      : converted(versions, merged, last.apiVersion, `${pruning}failed to convert merged object to last applied version: `);
  const lastFields = withNamedFields(last.fields, type);
  const without = removeFields(type, inLastVersion, lastFields);
  const owned = addBackOwned({ versions, apiVersion: last.apiVersion, managers, manager }, inLastVersion, without);
  const mergedFields = withNamedFields(fieldsOfObject(type, inLastVersion), type);
  const ownedFields = withNamedFields(fieldsOfObject(type, owned), type);
  // What is gone but was not applied by this manager comes back.
  const result = removeFields(type, inLastVersion, intersection(difference(mergedFields, ownedFields), lastFields));
  return last.apiVersion === apiVersion ? result : converted(versions, result, apiVersion, pruning);
}

/** Adds back what other managers, or the new configuration, own. */
function addBackOwned({ versions, apiVersion, managers }: Change, merged: JsonValue, without: JsonValue): JsonValue {
  const ownedIn = new Map<string, FieldSet>();
  for (const { apiVersion: version, fields } of managers.values()) ownedIn.set(version, union(ownedIn.get(version) ?? emptySet, fields));
  // The version of the objects comes first, because a conversion may need fields that are missing.
  const versionsInOrder = [apiVersion, ...[...ownedIn.keys()].filter((version) => version !== apiVersion)];
  let [all, rest, current] = [merged, without, apiVersion];
  for (const version of versionsInOrder) {
    const owned = ownedIn.get(version);
    const type = versions.typeIn(version);
    if (owned === undefined || type === undefined) continue;
    if (version !== current) {
      all = converted(
        versions,
        all,
        version,
        `${pruning}failed add back owned items: failed to convert merged object at version ${version}: `,
      );
      rest = converted(
        versions,
        rest,
        version,
        `${pruning}failed add back owned items: failed to convert pruned object at version ${version}: `,
      );
      current = version;
    }
    const allFields = withNamedFields(fieldsOfObject(type, all), type);
    const kept = union(withNamedFields(fieldsOfObject(type, rest), type), withNamedFields(owned, type));
    rest = removeFields(type, all, difference(allFields, kept));
  }
  return current === apiVersion ? rest : versions.convert(rest, apiVersion);
}
