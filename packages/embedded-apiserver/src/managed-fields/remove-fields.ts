import { isJsonObject, type JsonObject, type JsonValue, setMember } from "../json/json-value.ts";
import { below, type FieldSet, hasElement, isEmptySet } from "./field-set.ts";
import { elementOfItem } from "./list-items.ts";
import { type ListType, type MapType, type MergeType, typeOfField, typeOfValue } from "./merge-type.ts";
import { fieldElement } from "./path-element.ts";

/**
 * The object without the fields. The argument is not modified; the result shares unchanged parts. Objects and lists that become empty are
 * null.
 *
 * Source: sigs.k8s.io/structured-merge-diff/v6 v6.3.3 typed/remove.go.
 */
export function removeFields(type: MergeType, value: JsonValue, fields: FieldSet): JsonValue {
  if (isEmptySet(fields)) return value;
  const { map, scalar, list } = typeOfValue(type, value);
  if (map !== undefined) return removeFromMap(map, value, fields);
  if (scalar === undefined && list !== undefined) return removeFromList(list, value, fields);
  return value;
}

function removeFromMap(type: MapType, value: JsonValue, fields: FieldSet): JsonValue {
  if (!isJsonObject<JsonValue>(value) || type.isAtomic) return null;
  const result: JsonObject = {};
  for (const [name, child] of Object.entries(value)) {
    const element = fieldElement(name);
    if (hasElement(fields, element)) continue;
    const fieldType = typeOfField(type, name);
    setMember(result, name, fieldType === undefined ? child : removeFields(fieldType, child, below(fields, element)));
  }
  return Object.keys(result).length === 0 ? null : result;
}

function removeFromList(type: ListType, value: JsonValue, fields: FieldSet): JsonValue {
  if (!Array.isArray(value) || type.isAtomic) return null;
  const result: JsonValue[] = [];
  for (const item of value) {
    const element = elementOfItem(type, item);
    if (!hasElement(fields, element)) result.push(removeFields(type.items(), item, below(fields, element)));
  }
  return result.length === 0 ? null : result;
}
