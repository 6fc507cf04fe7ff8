import { CelList, CelMap, CelOptional, CelUint, EvaluationError, MessageValue, type Value } from "./values.ts";

/** Selections and indexes of an expression. Source: github.com/google/cel-go v0.26.0 interpreter/attributes.go. */

/** Value of a field. @throws EvaluationError if there is none */
export function select(value: Value, field: string): Value {
  if (value instanceof CelOptional) return value.value === undefined ? value : optionalIndex(value.value, field);
  return indexInto(value, field);
}

/** Whether a field is set. */
export function hasField(value: Value, field: string): boolean {
  if (value instanceof CelOptional) return value.value !== undefined && hasField(value.value, field);
  if (value instanceof CelMap) return value.get(field) !== undefined;
  return false;
}

/** Member of a map or list. @throws EvaluationError if there is none */
export function indexInto(value: Value, key: Value): Value {
  if (value instanceof CelMap) {
    const found = value.get(key);
    // A field of a message that is not set is null.
    if (found === undefined && value instanceof MessageValue) return null;
    if (found === undefined) throw new EvaluationError(`no such key: ${textOf(key)}`);
    return found;
  }
  if (value instanceof CelList) {
    const index = listIndex(key);
    if (index === undefined) throw new EvaluationError(`unsupported index type '${typeof key === "string" ? "string" : "double"}' in list`);
    if (index < 0 || index >= value.size) throw new EvaluationError(`index out of bounds: ${index}`);
    return value.at(index);
  }
  if (value instanceof CelOptional) return value.value === undefined ? value : optionalIndex(value.value, key);
  if (value === null || typeof key === "string") throw new EvaluationError(`no such key: ${textOf(key)}`);
  throw new EvaluationError("no such overload");
}

function listIndex(key: Value): number | undefined {
  if (typeof key === "bigint") return Number(key);
  if (key instanceof CelUint) return Number(key.value);
  return typeof key === "number" && Number.isInteger(key) ? key : undefined;
}

/** Member of a map or list, or `optional.none()`. */
export function optionalIndex(value: Value, key: Value): CelOptional {
  if (value instanceof CelOptional) return value.value === undefined ? value : optionalIndex(value.value, key);
  if (value instanceof CelMap) return new CelOptional(value.get(key));
  if (!(value instanceof CelList)) return new CelOptional();
  const index = listIndex(key);
  return index === undefined || index < 0 || index >= value.size ? new CelOptional() : new CelOptional(value.at(index));
}

/** Text of a value in messages. */
export function textOf(value: Value): string {
  return value instanceof CelUint ? String(value.value) : String(value);
}
