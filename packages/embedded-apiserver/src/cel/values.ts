/**
 * A value of a CEL expression: `int` is a bigint, `double` a number, `bytes` a Uint8Array.
 *
 * Source of the behaviour: github.com/google/cel-go v0.26.0 common/types.
 */
export type Value =
  | string
  | bigint
  | number
  | boolean
  | null
  | Uint8Array
  | CelUint
  | CelList
  | CelMap
  | CelTimestamp
  | CelDuration
  | CelTypeValue
  | CelOptional
  | Opaque;

/** An error of the evaluation, such as `no such key: x`. */
export class EvaluationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "EvaluationError";
  }
}

export class CelUint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

/** A moment. */
export class CelTimestamp {
  /** Since the epoch. */
  readonly nanoseconds: bigint;
  /** Offset of the time zone in which the moment is shown. */
  readonly offsetMinutes: number;

  constructor(nanoseconds: bigint, offsetMinutes: number = 0) {
    this.nanoseconds = nanoseconds;
    this.offsetMinutes = offsetMinutes;
  }
}

export class CelDuration {
  readonly nanoseconds: bigint;

  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

/** A type as a value, such as the result of `type(1)`. */
export class CelTypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** An optional value; `undefined` for `optional.none()`. */
export class CelOptional {
  readonly value: Value | undefined;

  constructor(value?: Value) {
    this.value = value;
  }
}

/** A value of a type that extension libraries define. */
export abstract class Opaque {
  abstract readonly typeName: string;
  abstract equals(other: Value): boolean;
  /** Size that costs depend on. */
  get size(): number {
    return 1;
  }
}

/** A list. */
export abstract class CelList {
  abstract readonly size: number;
  /** Element at an index that is in range. */
  abstract at(index: number): Value;

  *[Symbol.iterator](): Iterator<Value> {
    for (let index = 0; index < this.size; index++) yield this.at(index);
  }

  equals(other: CelList): boolean {
    if (this.size !== other.size) return false;
    for (let index = 0; index < this.size; index++) if (!equalValues(this.at(index), other.at(index))) return false;
    return true;
  }

  add(other: CelList): CelList {
    return new ArrayList([...this, ...other]);
  }
}

/** A list of values. */
export class ArrayList extends CelList {
  readonly #values: readonly Value[];

  constructor(values: readonly Value[]) {
    super();
    this.#values = values;
  }

  get size(): number {
    return this.#values.length;
  }

  at(index: number): Value {
    return this.#values[index] ?? null;
  }
}

/** A map, or an object with fields. */
export abstract class CelMap {
  abstract readonly size: number;
  /** Name of the type as `type()` shows it. */
  readonly typeName: string = "map";
  /** Value of a key; `undefined` if there is none. */
  abstract get(key: Value): Value | undefined;
  abstract keys(): Iterable<Value>;

  equals(other: CelMap): boolean {
    if (this.size !== other.size) return false;
    for (const key of this.keys()) {
      const mine = this.get(key);
      const theirs = other.get(key);
      if (mine === undefined || theirs === undefined ? mine !== theirs : !equalValues(mine, theirs)) return false;
    }
    return true;
  }
}

/** A map of any keys. */
export class EntryMap extends CelMap {
  readonly #entries = new Map<string, readonly [Value, Value]>();
  override readonly typeName: string;

  constructor(entries: Iterable<readonly [Value, Value]>, typeName: string = "map") {
    super();
    this.typeName = typeName;
    for (const entry of entries) this.#entries.set(keyText(entry[0]), entry);
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Value): Value | undefined {
    return this.#entries.get(keyText(key))?.[1];
  }

  *keys(): Iterable<Value> {
    for (const [key] of this.#entries.values()) yield key;
  }
}

/** A message that an expression has created, such as `Object.spec{replicas: 3}`. */
export class MessageValue extends EntryMap {
  override equals(other: CelMap): boolean {
    return other instanceof MessageValue && other.typeName === this.typeName && super.equals(other);
  }
}

/** Text that is equal for equal keys: numbers of all types compare by value. */
export function keyText(key: Value): string {
  if (typeof key === "string") return `s${key}`;
  if (key instanceof CelUint) return `n${key.value}`;
  if (typeof key === "bigint" || typeof key === "number") return `n${String(key)}`;
  return `${typeof key}${String(key)}`;
}

/** Name of a value's type. */
export function typeName(value: Value): string {
  switch (typeof value) {
    case "string":
      return "string";
    case "bigint":
      return "int";
    case "number":
      return "double";
    case "boolean":
      return "bool";
    default:
      return objectTypeName(value);
  }
}

function objectTypeName(value: Exclude<Value, string | bigint | number | boolean>): string {
  if (value === null) return "null_type";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof CelList) return "list";
  if (value instanceof CelMap) return value.typeName;
  if (value instanceof CelUint) return "uint";
  if (value instanceof CelTimestamp) return "google.protobuf.Timestamp";
  if (value instanceof CelDuration) return "google.protobuf.Duration";
  if (value instanceof CelTypeValue) return "type";
  return value instanceof CelOptional ? "optional_type" : value.typeName;
}

/** Whether two values are equal. Numbers of different types are compared; values of other different types are unequal. */
export function equalValues(a: Value, b: Value): boolean {
  if (a === b) return true;
  const left = numberOf(a);
  if (left !== undefined) {
    const right = numberOf(b);
    if (right === undefined) return false;
    // As in cel-go, an integer that is compared with a double becomes one.
    return typeof left === typeof right ? left === right : Number(left) === Number(right);
  }
  return typeof a === "object" && typeof b === "object" && a !== null && b !== null && equalObjects(a, b);
}

function equalObjects(a: Value & object, b: Value & object): boolean {
  if (a instanceof CelList) return b instanceof CelList && a.equals(b);
  if (a instanceof CelMap) return b instanceof CelMap && a.equals(b);
  if (a instanceof Opaque) return a.equals(b);
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  if (a instanceof CelTimestamp) return b instanceof CelTimestamp && a.nanoseconds === b.nanoseconds;
  if (a instanceof CelDuration) return b instanceof CelDuration && a.nanoseconds === b.nanoseconds;
  if (a instanceof CelTypeValue) return b instanceof CelTypeValue && a.name === b.name;
  return a instanceof CelOptional && b instanceof CelOptional && equalOptionals(a, b);
}

function equalOptionals({ value: a }: CelOptional, { value: b }: CelOptional): boolean {
  return a === undefined || b === undefined ? a === b : equalValues(a, b);
}

/** Number of an `int`, `uint` or `double`. */
export function numberOf(value: Value): bigint | number | undefined {
  if (typeof value === "bigint" || typeof value === "number") return value;
  return value instanceof CelUint ? value.value : undefined;
}

/** Characters of a string, elements of a collection; `undefined` for values without a size. */
export function sizeOf(value: Value): number | undefined {
  if (typeof value === "string") return characterCount(value);
  if (value instanceof Uint8Array) return value.length;
  return value instanceof CelList || value instanceof CelMap ? value.size : undefined;
}

function characterCount(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xd8_00 && unit <= 0xdb_ff) index++;
    count++;
  }
  return count;
}
