import { isJsonObject } from "@virtual-kubelet/kubernetes";
import { LruMap } from "../events/lru-map.ts";
import type { DeepReadonly, KubernetesObject } from "../rest/objects.ts";

/** Number of controllers, such as ReplicaSets, whose last object is remembered. */
const maxControllers = 1_000;
/** Parts at greater depth are not shared. */
const maxDepth = 64;

/**
 * Lets similar objects share their equal parts, so that another version of an object, and another object of the same controller, take
 * little more memory than their differences. Memory is bounded.
 */
export class SharedParts {
  /** The last object of each controller; by an empty key, that of all objects without one. */
  readonly #siblings = new LruMap<string, DeepReadonly<KubernetesObject>>(maxControllers);
  readonly #strings = new RecentStrings();

  /**
   * Replaces parts of a freshly parsed object, in place, by equal parts of objects that are kept anyway.
   *
   * @param previous - the previous version of the object; `undefined` if there is none
   */
  share(object: KubernetesObject, previous: DeepReadonly<KubernetesObject> | undefined): void {
    const { metadata } = object;
    const controller = controllerOf(metadata);
    const sibling = this.#siblings.get(controller);
    this.#siblings.set(controller, object);
    if (!sibling) return;
    // Whoever follows a single object has nothing to share strings with.
    const strings = sibling.metadata?.uid === metadata?.uid ? undefined : this.#strings;
    new PartSharing(strings).value(object, previous ?? sibling, sibling);
  }
}

/** Replaces parts of a freshly made JSON value, in place, by equal parts of one or two others, which then take memory only once. */
export function shareParts(value: object, first: unknown, second?: unknown): void {
  new PartSharing(undefined).value(value, first, second);
}

function controllerOf(metadata: DeepReadonly<KubernetesObject>["metadata"]): string {
  return metadata?.ownerReferences?.find(({ controller }) => controller)?.uid ?? "";
}

type Objects = Record<string, unknown>;

/** Replaces parts of one JSON value by equal parts of others, in place. */
class PartSharing {
  readonly #strings: RecentStrings | undefined;

  /** @param strings - where single strings are looked up; `undefined`: nowhere */
  constructor(strings: RecentStrings | undefined) {
    this.#strings = strings;
  }

  /** @returns the first or the second of the others if it is equal to the value, otherwise the value */
  value(value: unknown, first: unknown, second: unknown, depth = 0): unknown {
    // The strings of a list or an object are replaced together.
    if (typeof value !== "object" || value === null || depth > maxDepth) return value;
    return Array.isArray(value)
      ? this.#list(value, listOf(first), listOf(second), depth + 1)
      : this.#object(value as Objects, objectOf(first), objectOf(second), depth + 1);
  }

  #list(list: unknown[], first: readonly unknown[] | undefined, second: readonly unknown[] | undefined, depth: number): unknown {
    let isFirst = first?.length === list.length;
    for (let index = 0; index < list.length; index++) {
      const item = list[index];
      const other = first?.[index];
      if (item === other) continue;
      const shared = this.value(item, other, second?.[index], depth);
      if (shared !== item) list[index] = shared;
      isFirst &&= shared === other;
    }
    if (isFirst) return first;
    if (second && second.length === list.length && list.every((item, index) => item === second[index])) return second;
    for (let index = 0; index < list.length; index++) {
      const item = list[index];
      if (typeof item === "string") list[index] = this.#string(item, first?.[index], second?.[index]);
    }
    return list;
  }

  #object(object: Objects, first: Objects | undefined, second: Objects | undefined, depth: number): unknown {
    let isFirst = first !== undefined;
    for (const key in object) {
      // Read from an object without that key, it is the prototype.
      if (key === "__proto__") return object;
      const part = object[key];
      const other = first?.[key];
      if (part === other) continue;
      const shared = this.value(part, other, second?.[key], depth);
      if (shared !== part) object[key] = shared;
      isFirst &&= shared === other;
    }
    if (isFirst && first && hasSameKeys(object, first)) return first;
    if (second && second !== first && hasSameParts(object, second)) return second;
    for (const key in object) {
      const part = object[key];
      if (typeof part === "string") object[key] = this.#string(part, first?.[key], second?.[key]);
    }
    return object;
  }

  /** Equal strings can be several copies in memory. */
  #string(text: string, first: unknown, second: unknown): string {
    if (text === first) return first;
    return text === second ? second : (this.#strings?.same(text) ?? text);
  }
}

function listOf(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

function objectOf(value: unknown): Objects | undefined {
  return isJsonObject(value) ? value : undefined;
}

function hasSameKeys(object: Objects, other: Objects): boolean {
  let keys = 0;
  for (const key in object) {
    if (object[key] === undefined && !Object.hasOwn(other, key)) return false;
    keys++;
  }
  for (const _key in other) keys--;
  return keys === 0;
}

function hasSameParts(object: Objects, other: Objects): boolean {
  for (const key in object) if (object[key] !== other[key]) return false;
  return hasSameKeys(object, other);
}

/** Number of remembered strings; a power of two. */
const slots = 4_096;
/** The parser itself shares strings of up to ten characters. */
const [minLength, maxLength] = [11, 128];

/** Remembers strings for a while, each in one of a fixed number of slots, so that a string that comes again is not stored twice. */
class RecentStrings {
  readonly #slots: string[] = [];

  /** Returns the remembered copy of a string; remembers the string if there is none. */
  same(text: string): string {
    const { length } = text;
    if (length < minLength || length > maxLength) return text;
    // Names, UIDs, addresses and times differ near their ends.
    let hash = length;
    for (let index = length - 6; index < length; index++) hash = (hash * 31 + text.charCodeAt(index)) & 0xfffffff;
    const slot = (hash ^ text.charCodeAt(length >> 1)) & (slots - 1);
    const known = this.#slots[slot];
    if (known === text) return known;
    this.#slots[slot] = text;
    return text;
  }
}
