import { ownValue } from "@virtual-kubelet/kubernetes";
import { badRequest, plainFailure } from "../errors/api-status-error.ts";
import { goText } from "../json/go-json.ts";
import { isJsonObject, type JsonObject, type JsonValue, setMember } from "../json/json-value.ts";
import type { FieldSchema, StructSchema, TypeSchema } from "../kinds/schema/schema.ts";
import { orderElements } from "./element-order.ts";

const directive = "$patch";
const retainKeys = "$retainKeys";
const deleteFromPrimitiveList = "$deleteFromPrimitiveList/";
const setElementOrder = "$setElementOrder/";

/**
 * Applies a strategic merge patch. Neither argument is modified; the result shares unchanged parts.
 *
 * Lists whose type has a merge key are merged by item, lists of scalars with the strategy `merge` are united, and other lists are replaced.
 * The directives `$patch`, `$retainKeys`, `$deleteFromPrimitiveList/x` and `$setElementOrder/x` are supported.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/util/strategicpatch/patch.go, `mergeMap` with `MergeParallelList` and `IgnoreUnmatchedNulls`.
 *
 * @param schema - type of the object; `undefined` for free-form fields
 * @throws ApiStatusError 400 or 500, as the API server, for an invalid patch
 */
export function applyStrategicMergePatch(original: JsonObject, patch: JsonObject, schema: TypeSchema | undefined): JsonObject {
  if (Object.hasOwn(patch, directive)) return applyDirective(patch);
  const result = retainOnly(original, patch);
  const done = applyElementOrders(result, patch, schema);
  for (const [key, value] of Object.entries(patch)) {
    if (key === retainKeys || key.startsWith(setElementOrder) || done.has(key)) continue;
    if (key.startsWith(deleteFromPrimitiveList)) deleteScalars(result, key.slice(deleteFromPrimitiveList.length), value);
    else mergeField(result, key, value, fieldOf(schema, key));
  }
  return result;
}

function applyDirective(patch: JsonObject): JsonObject {
  const { [directive]: action, ...rest } = patch;
  if (action === "replace") return rest;
  if (action === "delete") return {};
  throw plainFailure(`unknown patch type: ${String(action)} in map: ${goText(patch)}`);
}

/** Copies the fields that `$retainKeys` lists, or all fields without it. */
function retainOnly(original: JsonObject, patch: JsonObject): JsonObject {
  const kept = patch[retainKeys];
  if (kept === undefined) return { ...original };
  if (!Array.isArray(kept)) throw badRequest("invalid patch format of retainKeys");
  const stray = Object.entries(patch).some(
    ([key, value]) => value !== null && key !== retainKeys && !isListDirective(key) && !kept.includes(key),
  );
  if (stray) throw badRequest("invalid patch format of retainKeys");
  return Object.fromEntries(Object.entries(original).filter(([key]) => kept.includes(key)));
}

function isListDirective(key: string): boolean {
  return key.startsWith(deleteFromPrimitiveList) || key.startsWith(setElementOrder);
}

function mergeField(result: JsonObject, key: string, value: JsonValue, field: FieldSchema | undefined): void {
  const current = ownValue(result, key);
  if (value === null) {
    delete result[key];
  } else if (isJsonObject(value) && isJsonObject(current)) {
    const merges = !field?.patchStrategies.includes("replace");
    setMember(result, key, merges ? applyStrategicMergePatch(current, value, field?.schema) : value);
  } else if (Array.isArray(value) && Array.isArray(current)) {
    setMember(result, key, field?.patchStrategies.includes("merge") ? mergeLists(current, value, field) : value);
  } else {
    const clean = withoutDirectives(value);
    if (clean === undefined) delete result[key];
    else setMember(result, key, clean);
  }
}

function mergeLists(current: readonly JsonValue[], patch: readonly JsonValue[], field: FieldSchema): JsonValue[] {
  if (current.length === 0 && patch.length === 0) return [];
  if (!isJsonObject(current[0] ?? patch[0])) {
    const united = [...new Set([...current, ...patch])];
    return orderElements(united, { order: patch, previous: current, mergeKey: undefined });
  }
  const mergeKey = field.patchMergeKey;
  if (mergeKey === undefined) throw plainFailure("cannot merge lists without merge key");
  const items = patch.map((item) => withMergeKey(item, mergeKey));
  const { kept, changes } = applyListDirectives(current, items, mergeKey);
  const merged = mergeItems(kept, changes, mergeKey, itemSchema(field));
  return orderElements(merged, { order: changes, previous: kept, mergeKey });
}

/** Removes items with `$patch: delete` and `$patch: replace` from the patch and applies them. */
function applyListDirectives(
  current: readonly JsonValue[],
  patch: readonly JsonObject[],
  mergeKey: string,
): { kept: JsonValue[]; changes: JsonObject[] } {
  const changes = patch.filter((item) => !Object.hasOwn(item, directive));
  let kept = [...current];
  let replaces = false;
  for (const item of patch) {
    const action = item[directive];
    if (action === undefined) continue;
    if (action === "replace") replaces = true;
    else if (action === "delete") kept = kept.filter((other) => keyOf(other, mergeKey) !== requiredKey(item, mergeKey));
    else if (action === "merge") throw plainFailure("merging lists cannot yet be specified in the patch");
    else throw plainFailure(`unknown patch type: ${String(action)} in map: ${goText(item)}`);
  }
  return replaces ? { kept: changes, changes: [] } : { kept, changes };
}

function mergeItems(
  current: readonly JsonValue[],
  changes: readonly JsonObject[],
  mergeKey: string,
  schema: TypeSchema | undefined,
): JsonValue[] {
  const merged = [...current];
  for (const change of changes) {
    const key = requiredKey(change, mergeKey);
    const index = merged.findIndex((item) => keyOf(item, mergeKey) === key);
    const existing = merged[index];
    if (isJsonObject(existing)) merged[index] = applyStrategicMergePatch(existing, change, schema);
    else merged.push(change);
  }
  return merged;
}

/** Merges and sorts lists with a `$setElementOrder/x` directive. @returns names of the lists */
function applyElementOrders(result: JsonObject, patch: JsonObject, schema: TypeSchema | undefined): ReadonlySet<string> {
  const done = new Set<string>();
  for (const [directiveKey, order] of Object.entries(patch)) {
    if (!directiveKey.startsWith(setElementOrder)) continue;
    const key = directiveKey.slice(setElementOrder.length);
    const field = fieldOf(schema, key);
    const current = ownValue(result, key);
    const change = ownValue(patch, key);
    if (!Array.isArray(order) || !isListOrAbsent(current) || !isListOrAbsent(change))
      throw badRequest("invalid patch format of setElementOrder list");
    checkOrder(change ?? [], order, field?.patchMergeKey);
    if (change === undefined && current === undefined) continue;
    done.add(key);
    const merged = mergedList(current, change, field);
    result[key] = orderElements(merged, { order, previous: current ?? [], mergeKey: field?.patchMergeKey });
  }
  return done;
}

function mergedList(current: JsonValue[] | undefined, change: JsonValue[] | undefined, field: FieldSchema | undefined): JsonValue[] {
  if (change === undefined) return current ?? [];
  if (current === undefined) return (withoutDirectives(change) as JsonValue[] | undefined) ?? [];
  return field?.patchStrategies.includes("merge") ? mergeLists(current, change, field) : change;
}

function isListOrAbsent(value: JsonValue | undefined): value is JsonValue[] | undefined {
  return value === undefined || Array.isArray(value);
}

/** Checks that the patch's items are in the order of the directive. */
function checkOrder(patch: readonly JsonValue[], order: readonly JsonValue[], mergeKey: string | undefined): void {
  if (patch.length === 0 || order.length === 0) return;
  let next = 0;
  for (const item of patch) {
    if (isJsonObject(item) && Object.hasOwn(item, directive)) continue;
    const found = order.findIndex((other, index) => index >= next && keyOf(other, mergeKey) === keyOf(item, mergeKey));
    if (found < 0)
      throw plainFailure(`The order in patch list:\n${goText([...patch])}\n doesn't match $setElementOrder list:\n${goText([...order])}\n`);
    next = found + 1;
  }
}

function deleteScalars(result: JsonObject, key: string, values: JsonValue): void {
  const current = ownValue(result, key);
  if (!Array.isArray(current) || !Array.isArray(values)) return;
  result[key] = current.filter((item) => !values.includes(item));
}

/** Value that a patch adds to an absent field: without nulls and directives. `undefined` if nothing is left. */
function withoutDirectives(value: JsonValue): JsonValue | undefined {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isJsonObject(value)) return value;
  if (Object.hasOwn(value, directive)) return undefined;
  const clean: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    const kept = member === null ? undefined : withoutDirectives(member);
    if (kept !== undefined) setMember(clean, key, kept);
  }
  return clean;
}

function fieldOf(schema: TypeSchema | undefined, key: string): FieldSchema | undefined {
  if (schema?.type === "struct") return schema.fields.get(key);
  if (schema?.type === "map")
    return { schema: schema.values, isPointer: false, isAlwaysWritten: false, patchStrategies: [], patchMergeKey: undefined };
  return undefined;
}

function itemSchema(field: FieldSchema): StructSchema | TypeSchema | undefined {
  return field.schema.type === "array" ? field.schema.items : undefined;
}

function withMergeKey(item: JsonValue, mergeKey: string): JsonObject {
  if (!isJsonObject(item)) throw plainFailure(`expected a map[string]interface {}, but received a ${typeof item}`);
  if (item[directive] !== "replace") requiredKey(item, mergeKey);
  return item;
}

function requiredKey(item: JsonObject, mergeKey: string): JsonValue {
  const key = item[mergeKey];
  if (key === undefined) throw plainFailure(`map: ${goText(item)} does not contain declared merge key: ${mergeKey}`);
  return key;
}

function keyOf(item: JsonValue | undefined, mergeKey: string | undefined): JsonValue | undefined {
  return mergeKey !== undefined && isJsonObject(item) ? item[mergeKey] : item;
}
