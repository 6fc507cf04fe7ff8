import { isJsonObject, type JsonValue } from "../json/json-value.ts";
import { GoValue } from "./go-value.ts";
import { elementOfItem, ItemError } from "./list-items.ts";
import { type ListType, type MapType, type MergeType, typeOfField, typeOfValue } from "./merge-type.ts";
import { elementText, fieldElement, indexElement, type PathElement } from "./path-element.ts";

/**
 * Problems of an object of a type, such as `.spec.replica: field not declared in schema`.
 *
 * Source: sigs.k8s.io/structured-merge-diff/v6 v6.3.3 typed/validate.go.
 *
 * @param object - may contain values of {@link GoValue}, which no type allows
 * @param allowDuplicates - whether items of a list may have the same keys
 */
export function objectProblems(type: MergeType, object: JsonValue, allowDuplicates: boolean): string[] {
  const walk = new CheckWalk(allowDuplicates);
  walk.value(type, object);
  return walk.problems;
}

/** The problems as one text. Source: typed/helpers.go, `ValidationErrors.Error`. */
export function problemText(problems: readonly string[]): string {
  return problems.length === 1 ? (problems[0] ?? "") : ["errors:", ...problems.map((problem) => `  ${problem}`)].join("\n");
}

class CheckWalk {
  readonly problems: string[] = [];
  readonly #path: PathElement[] = [];
  readonly #allowDuplicates: boolean;

  constructor(allowDuplicates: boolean) {
    this.#allowDuplicates = allowDuplicates;
  }

  value(type: MergeType, value: JsonValue): void {
    const { map, scalar, list } = typeOfValue(type, value);
    if (map !== undefined) this.#map(map, value);
    else if (scalar !== undefined) this.#scalar(scalar, value);
    else if (list !== undefined) this.#list(list, value);
  }

  #report(problem: string): void {
    const path = this.#path.map(elementText).join("");
    this.problems.push(path === "" ? problem : `${path}: ${problem}`);
  }

  #scalar(scalar: NonNullable<MergeType["scalar"]>, value: JsonValue): void {
    if (value === null) return;
    if (scalar === "numeric" && typeof value !== "number" && typeof value !== "bigint")
      this.#report(`expected numeric (int or float), got ${goTypeOf(value)}`);
    if (scalar === "string" && typeof value !== "string")
      this.#report(`expected string, got &value.valueUnstructured{Value:${goValue(value)}}`);
    if (scalar === "boolean" && typeof value !== "boolean") this.#report(`expected boolean, got &{${plain(value)}}`);
    if (scalar === "untyped" && typeof value === "object") this.#report(`expected any scalar, got &{${plain(value)}}`);
  }

  #map(type: MapType, value: JsonValue): void {
    if (value === null) return;
    if (!isJsonObject<JsonValue>(value) || isGoValue(value)) return this.#report(`expected map, got &{${plain(value)}}`);
    for (const [name, child] of Object.entries(value)) {
      const fieldType = typeOfField(type, name);
      this.#path.push(fieldElement(name));
      if (fieldType === undefined) this.#report("field not declared in schema");
      else this.value(fieldType, child);
      this.#path.pop();
      if (fieldType === undefined) return;
    }
  }

  #list(type: ListType, value: JsonValue): void {
    if (value === null) return;
    if (!Array.isArray(value)) return this.#report(`expected list, got &{${plain(value)}}`);
    const seen = new Set<PathElement>();
    for (const [index, item] of value.entries()) {
      const element = this.#elementOf(type, item, index);
      if (element === undefined) return;
      if (!type.isAtomic && seen.has(element) && !this.#allowDuplicates) this.#report(`duplicate entries for key ${elementText(element)}`);
      seen.add(element);
      this.#path.push(element);
      this.value(type.items(), item);
      this.#path.pop();
    }
  }

  #elementOf(type: ListType, item: JsonValue, index: number): PathElement | undefined {
    if (type.isAtomic) return indexElement(index);
    try {
      return elementOfItem(type, item);
    } catch (error) {
      if (!(error instanceof ItemError)) throw error;
      this.#report(`element ${index}: ${error.message}`);
      return undefined;
    }
  }
}

function isGoValue(value: unknown): value is GoValue {
  return value instanceof GoValue;
}

function goTypeOf(value: JsonValue | GoValue): string {
  if (isGoValue(value)) return value.type;
  if (typeof value === "boolean") return "bool";
  if (Array.isArray(value)) return "[]interface {}";
  return isJsonObject(value) ? "map[string]interface {}" : typeof value;
}

function goValue(value: JsonValue | GoValue): string {
  if (isGoValue(value)) return value.literal;
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return `[]interface {}{${value.map(goValue).join(", ")}}`;
  if (!isJsonObject<JsonValue>(value)) return String(value);
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${goValue(member)}`);
  return `map[string]interface {}{${members.join(", ")}}`;
}

/** Go's `%v`. */
function plain(value: JsonValue | GoValue): string {
  if (isGoValue(value)) return value.plain;
  if (Array.isArray(value)) return `[${value.map(plain).join(" ")}]`;
  if (!isJsonObject<JsonValue>(value)) return String(value);
  return `map[${Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${name}:${plain(member)}`)
    .join(" ")}]`;
}
