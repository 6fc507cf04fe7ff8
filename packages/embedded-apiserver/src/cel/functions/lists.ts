import { declare, type FunctionPart } from "../signatures.ts";
import {
  ArrayList,
  CelDuration,
  CelList,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelUint,
  EntryMap,
  equalValues,
  EvaluationError,
  keyText,
  type Value,
} from "../values.ts";
import { add, compareValues } from "./operators.ts";

/**
 * Source of this file: github.com/google/cel-go v0.26.0 ext/lists.go (version 3), ext/sets.go, ext/comprehensions.go and cel/library.go, and
 * k8s.io/apiserver v0.36.3 pkg/cel/library/lists.go.
 */

const itemsOf = (list: Value | undefined): Value[] => [...(list as CelList)];

const summable = ["int", "uint", "double", "duration"];
const comparable = ["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"];

function isSorted(list: Value): boolean {
  const items = itemsOf(list);
  return items.every((item, index) => index === 0 || compareValues(items[index - 1] ?? null, item) <= 0);
}

function sum(list: Value): Value {
  const items = itemsOf(list);
  return items.length === 0 ? 0n : items.reduce((total, item) => add(total, item));
}

/** Zero of the type of a list's elements, which an empty list does not tell. */
function sumOf(zero: Value): (list: Value) => Value {
  return (list) => ((list as CelList).size === 0 ? zero : sum(list));
}

function extreme(name: string, sign: 1 | -1): (list: Value) => Value {
  return (list) => {
    const items = itemsOf(list);
    if (items.length === 0) throw new EvaluationError(`${name} called on empty list`);
    return items.reduce((best, item) => (compareValues(best, item) * sign < 0 ? item : best));
  };
}

function slice(list: Value, from: Value, to: Value): ArrayList {
  const { size } = list as CelList;
  const [start, end] = [Number(from), Number(to)];
  if (start < 0 || end < 0) throw new EvaluationError(`cannot slice(${start}, ${end}), negative indexes not supported`);
  if (start > end) throw new EvaluationError(`cannot slice(${start}, ${end}), start index must be less than or equal to end index`);
  if (size < end) throw new EvaluationError(`cannot slice(${start}, ${end}), list is length ${size}`);
  return new ArrayList(itemsOf(list).slice(start, end));
}

function flatten(list: Value, depth: Value = 1n): ArrayList {
  if (Number(depth) < 0) throw new EvaluationError("level must be non-negative");
  const flat = (items: Value[], level: number): Value[] =>
    items.flatMap((item) => (item instanceof CelList && level > 0 ? flat(itemsOf(item), level - 1) : [item]));
  return new ArrayList(flat(itemsOf(list), Number(depth)));
}

function distinct(list: Value): ArrayList {
  const unique: Value[] = [];
  for (const item of itemsOf(list)) if (!unique.some((other) => equalValues(other, item))) unique.push(item);
  return new ArrayList(unique);
}

const containsAll = (list: Value, sublist: Value): boolean => {
  const items = itemsOf(list);
  return itemsOf(sublist).every((wanted) => items.some((item) => equalValues(item, wanted)));
};

function insert(target: Value, ...rest: readonly Value[]): Value {
  const map = target as CelMap;
  const [first = null, second] = rest;
  const added: [Value, Value][] =
    second === undefined
      ? Array.from((first as CelMap).keys(), (key): [Value, Value] => [key, (first as CelMap).get(key) ?? null])
      : [[first, second]];
  const entries = new Map(Array.from(map.keys(), (key) => [keyText(key), [key, map.get(key) ?? null] as [Value, Value]]));
  for (const entry of added) {
    if (entries.has(keyText(entry[0]))) throw new EvaluationError(`insert failed: key ${String(entry[0])} already exists`);
    entries.set(keyText(entry[0]), entry);
  }
  return new EntryMap(entries.values());
}

function range(count: Value): ArrayList {
  return new ArrayList(Array.from({ length: Number(count) }, (_, index) => BigInt(index)));
}

function sortByKeys(list: Value, keys: Value): ArrayList {
  const keyed = itemsOf(keys).map((key, index) => ({ key, item: (list as CelList).at(index) }));
  return new ArrayList(keyed.toSorted((a, b) => compareValues(a.key, b.key)).map(({ item }) => item));
}

function isZero(value: Value): boolean {
  if (value instanceof CelUint) return value.value === 0n;
  if (value instanceof CelDuration) return value.nanoseconds === 0n;
  if (value instanceof CelTimestamp) return value.nanoseconds === yearOne;
  if (value instanceof CelList || value instanceof CelMap) return value.size === 0;
  if (value instanceof Uint8Array) return value.length === 0;
  return value === null || value === false || value === "" || value === 0n || value === 0;
}

function optionalValue(optional: Value): Value {
  const { value } = optional as CelOptional;
  if (value === undefined) throw new EvaluationError("optional.none() dereference");
  return value;
}

/** Go's zero time, in nanoseconds since the epoch. */
const yearOne = -62_135_596_800_000_000_000n;

const zeros: Readonly<Record<string, Value>> = { int: 0n, uint: new CelUint(0n), double: 0, duration: new CelDuration(0n) };

export const listFunctions: readonly FunctionPart[] = [
  declare(
    "isSorted",
    comparable.map((type) => `list_${type}_is_sorted_bool list(${type}).() -> bool`),
    isSorted,
  ),
  ...summable.map((type) => declare("sum", [`list_${type}_sum_${type} list(${type}).() -> ${type}`], sumOf(zeros[type] ?? 0n))),
  declare(
    "max",
    comparable.map((type) => `list_${type}_max_${type} list(${type}).() -> ${type}`),
    extreme("max", 1),
  ),
  declare(
    "min",
    comparable.map((type) => `list_${type}_min_${type} list(${type}).() -> ${type}`),
    extreme("min", -1),
  ),
  declare("indexOf", ["list_a_index_of_int list(A).(A) -> int"], (list, item) =>
    BigInt(itemsOf(list).findIndex((other) => equalValues(other, item ?? null))),
  ),
  declare("lastIndexOf", ["list_a_last_index_of_int list(A).(A) -> int"], (list, item) =>
    BigInt(itemsOf(list).findLastIndex((other) => equalValues(other, item ?? null))),
  ),
  declare("slice", ["list_slice list(T).(int, int) -> list(T)"], slice),
  declare("flatten", ["list_flatten list(list(T)).() -> list(T)", "list_flatten_int list(dyn).(int) -> list(dyn)"], flatten),
  declare(
    "sort",
    comparable.map((type) => `list_${type}_sort list(${type}).() -> list(${type})`),
    (list) => new ArrayList(itemsOf(list).toSorted((a, b) => compareValues(a, b))),
  ),
  declare(
    "@sortByAssociatedKeys",
    comparable.map((type) => `list_${type}_sortByAssociatedKeys list(T).(list(${type})) -> list(T)`),
    sortByKeys,
  ),
  declare("lists.range", ["lists_range (int) -> list(int)"], range),
  declare("reverse", ["list_reverse list(T).() -> list(T)"], (list) => new ArrayList(itemsOf(list).toReversed())),
  declare("distinct", ["list_distinct list(T).() -> list(T)"], distinct),
  declare("sets.contains", ["list_sets_contains_list (list(T), list(T)) -> bool"], containsAll),
  declare(
    "sets.equivalent",
    ["list_sets_equivalent_list (list(T), list(T)) -> bool"],
    (a, b) => containsAll(a ?? null, b ?? null) && containsAll(b ?? null, a ?? null),
  ),
  declare("sets.intersects", ["list_sets_intersects_list (list(T), list(T)) -> bool"], (a, b) => {
    const items = itemsOf(b);
    return itemsOf(a).some((item) => items.some((other) => equalValues(item, other)));
  }),
  declare(
    "cel.@mapInsert",
    ["@mapInsert_map_key_value (map(K, V), K, V) -> map(K, V)", "@mapInsert_map_map (map(K, V), map(K, V)) -> map(K, V)"],
    insert,
  ),
];

export const optionalFunctions: readonly FunctionPart[] = [
  declare("optional.of", ["optional_of (V) -> optional(V)"], (value) => new CelOptional(value)),
  declare("optional.ofNonZeroValue", ["optional_ofNonZeroValue (V) -> optional(V)"], (value) =>
    isZero(value ?? null) ? new CelOptional() : new CelOptional(value),
  ),
  declare("optional.none", ["optional_none () -> optional(V)"], () => new CelOptional()),
  declare("value", ["optional_value optional(V).() -> V"], optionalValue),
  declare("hasValue", ["optional_hasValue optional(V).() -> bool"], (optional) => (optional as CelOptional).value !== undefined),
  declare("or", ["optional_or_optional optional(V).(optional(V)) -> optional(V)"], () => null),
  declare("orValue", ["optional_orValue_value optional(V).(V) -> V"], () => null),
  declare("optional.unwrap", ["optional_unwrap (list(optional(V))) -> list(V)"], unwrapAll),
  declare("unwrapOpt", ["optional_unwrapOpt list(optional(V)).() -> list(V)"], unwrapAll),
  declare("first", ["list_first list(V).() -> optional(V)"], (list) => new CelOptional(itemsOf(list).at(0))),
  declare("last", ["list_last list(V).() -> optional(V)"], (list) => new CelOptional(itemsOf(list).at(-1))),
];

function unwrapAll(list: Value): ArrayList {
  return new ArrayList(
    itemsOf(list).flatMap((item) => {
      if (!(item instanceof CelOptional)) throw new EvaluationError(`value ${String(item)} is not optional`);
      return item.value === undefined ? [] : [item.value];
    }),
  );
}
