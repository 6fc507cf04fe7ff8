import { withExactNumbers } from "../json/exact-json.ts";
import { unsupportedNumber } from "../json/go-json.ts";
import { cloneJson, setMember, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { GoValue } from "../managed-fields/go-value.ts";
import { durationText, timestampText } from "./functions/time.ts";
import { JsonList, JsonMap } from "./json-values.ts";
import {
  ArrayList,
  CelDuration,
  CelList,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelUint,
  EntryMap,
  MessageValue,
  typeName,
  type Value,
} from "./values.ts";

/** Source of this file: k8s.io/apiserver v0.36.3 pkg/cel/mutation/dynamic/objects.go and pkg/admission/plugin/policy/mutating/patch/json_patch.go. */

/** A value cannot be written as JSON. The message has the real server's words. */
export class ConversionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ConversionError";
  }
}

/** Messages whose type names are not the path of their fields, such as `Object.spec{selector: Object.metadata{}}`. */
export function typeNameProblems(value: Value, path: string = typeName(value)): string[] {
  if (value instanceof MessageValue) {
    const own =
      value.typeName === path
        ? []
        : [
            `unexpected type name ${JSON.stringify(value.typeName)}, expected ${JSON.stringify(path)}, which matches field name path from root Object type`,
          ];
    return [...own, ...entriesOf(value).flatMap(([name, field]) => typeNameProblems(field, `${path}.${String(name)}`))];
  }
  if (value instanceof EntryMap) return entriesOf(value).flatMap(([, member]) => typeNameProblems(member, path));
  return value instanceof ArrayList ? Array.from(value).flatMap((item) => typeNameProblems(item, path)) : [];
}

/**
 * An apply configuration: the fields of a message. What the real server cannot write is a {@link GoValue}, which no schema accepts: maps and
 * lists that are written inside others, times, durations, bytes, unsigned numbers and null.
 *
 * @returns `undefined` if a map of the message has other keys than strings
 */
export function configurationOf(message: MessageValue): JsonObject | undefined {
  const value = messageFields(message);
  return value instanceof GoValue ? undefined : value;
}

function messageFields(message: MessageValue): JsonObject | GoValue {
  const fields: JsonObject = {};
  for (const [name, value] of entriesOf(message)) {
    const [badKey] = value instanceof EntryMap && !(value instanceof MessageValue) ? [...value.keys()].filter(isNoString) : [];
    if (badKey !== undefined) return badKeyError(String(name), badKey);
    setMember(fields, String(name), fieldValue(value));
  }
  return fields;
}

function isNoString(key: Value): boolean {
  return typeof key !== "string";
}

function badKeyError(field: string, key: Value): GoValue {
  const goType = { int: "types.Int", uint: "types.Uint", bool: "types.Bool" }[typeName(key)] ?? typeName(key);
  const shown = typeof key === "bigint" && key > 0n && key < 32n ? `'\\x${key.toString(16).padStart(2, "0")}'` : String(key);
  const problem = `fail to convert field ${JSON.stringify(field)}: map key ${shown} is of type ${goType}, not string`;
  return new GoValue("*types.Err", problem, problem);
}

/** Value of a field: the members of a list or map that an expression has written are converted, those inside them are not. */
function fieldValue(value: Value): JsonValue {
  if (value instanceof MessageValue || !isWritten(value)) return nativeValue(value);
  if (value instanceof ArrayList) return Array.from(value, nativeValue);
  const members: JsonObject = {};
  for (const [key, member] of entriesOf(value)) setMember(members, String(key), nativeValue(member));
  return members;
}

/** Whether the value is a list or map of an expression, not a part of an object. */
function isWritten(value: Value): value is ArrayList | EntryMap {
  return (value instanceof ArrayList && !(value instanceof JsonList)) || value instanceof EntryMap;
}

function nativeValue(value: Value): JsonValue {
  if (typeof value === "string" || typeof value === "boolean" || typeof value === "number") return value;
  if (typeof value === "bigint") return withExactNumbers(value);
  if (value instanceof MessageValue) return messageFields(value) as JsonObject;
  if (value instanceof JsonMap) return cloneJson(value.json) as JsonObject;
  if (value instanceof JsonList) return Array.from(value, nativeValue);
  return goValueOf(value) as unknown as JsonValue;
}

function goValueOf(value: Value): GoValue {
  if (value === null) return new GoValue("structpb.NullValue", "NULL_VALUE", "0");
  if (value instanceof CelUint) return new GoValue("uint64", String(value.value), `0x${value.value.toString(16)}`);
  if (value instanceof CelDuration) return new GoValue("time.Duration", durationText(value), String(value.nanoseconds));
  if (value instanceof CelTimestamp) return timeValue(value);
  if (value instanceof Uint8Array) {
    const bytes = Array.from(value, (byte) => `0x${byte.toString(16)}`);
    return new GoValue("[]uint8", `[${value.join(" ")}]`, `[]uint8{${bytes.join(", ")}}`);
  }
  if (value instanceof CelList) {
    const items = Array.from(value, shownMember);
    return new GoValue("[]ref.Val", `[${items.map(([plain]) => plain).join(" ")}]`, `[]ref.Val{${items.map(([, go]) => go).join(", ")}}`);
  }
  if (value instanceof CelMap) {
    const members = entriesOf(value).map(([key, member]) => [shownMember(key), shownMember(member)] as const);
    const plain = members.map(([key, member]) => `${key[0]}:${member[0]}`);
    const literal = members.map(([key, member]) => `${key[1]}:${member[1]}`);
    return new GoValue("map[ref.Val]ref.Val", `map[${plain.join(" ")}]`, `map[ref.Val]ref.Val{${literal.join(", ")}}`);
  }
  return new GoValue(typeName(value), typeName(value), typeName(value));
}

function shownMember(value: Value): readonly [plain: string, literal: string] {
  if (typeof value === "string") return [value, JSON.stringify(value)];
  if (typeof value !== "object") return [String(value), String(value)];
  const { plain, literal } = goValueOf(value);
  return [plain, literal];
}

const months = "January February March April May June July August September October November December".split(" ");

function timeValue({ nanoseconds }: CelTimestamp): GoValue {
  const date = new Date(Number(nanoseconds / 1_000_000n));
  const [day, time] = date.toISOString().slice(0, 19).split("T");
  const parts = [date.getUTCDate(), date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds(), Number(nanoseconds % 1_000_000_000n)];
  const literal = `time.Date(${date.getUTCFullYear()}, time.${months[date.getUTCMonth()] ?? ""}, ${parts.join(", ")}, time.UTC)`;
  return new GoValue("time.Time", `${day ?? ""} ${time ?? ""} +0000 UTC`, literal);
}

function entriesOf(map: CelMap): [Value, Value][] {
  return Array.from(map.keys(), (key) => [key, map.get(key) ?? null]);
}

/** Operation of a JSON patch. @throws ConversionError */
export function patchOperation(patch: MessageValue): JsonObject {
  const text = (name: string): string => String(patch.get(name) ?? "");
  const operation: JsonObject = { op: text("op"), path: text("path") };
  if (text("from") !== "") operation["from"] = text("from");
  const value = patch.get("value");
  if (value === undefined) return operation;
  if (value instanceof MessageValue) {
    const problems = typeNameProblems(value);
    if (problems.length > 0) throw new ConversionError(`type mismatch: ${problems.join("\n")}`);
  }
  operation["value"] = protobufValue(value);
  return operation;
}

type EncodedType = "*structpb.Value" | "*structpb.Struct";

const noJson = "JSONPath valueExpression evaluated to a type that could not marshal to JSON";

/** Value as a `google.protobuf.Value`. Source: github.com/google/cel-go v0.26.0 common/types, `ConvertToNative`. @throws ConversionError */
function protobufValue(value: Value): JsonValue {
  if (typeof value === "number") return finiteNumber(value);
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "bigint") return safeInteger(value);
  if (value instanceof CelUint) return safeInteger(value.value);
  if (value instanceof CelTimestamp) return timestampText(value);
  if (value instanceof CelDuration) return durationText(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof CelOptional && value.value !== undefined) return protobufValue(value.value);
  if (value instanceof MessageValue) return protobufStruct(messageFields(value), "*structpb.Struct");
  if (value instanceof CelList) return Array.from(value, protobufValue);
  if (value instanceof CelMap) return protobufMap(value);
  if (typeName(value) === "type") throw new ConversionError(`${noJson}: type conversion not supported for 'type'`);
  const shown = typeName(value).replace(/^kubernetes\./, "");
  throw new ConversionError(`${noJson}: type conversion error from '${shown}' to '*structpb.Value'`);
}

function protobufMap(map: CelMap): JsonObject {
  const members: JsonObject = {};
  for (const [key, member] of entriesOf(map)) {
    if (typeof key !== "string") throw new ConversionError(`${noJson}: unsupported type conversion from '${typeName(key)}' to string`);
    setMember(members, key, protobufValue(member));
  }
  return members;
}

/** @param encoded - Go's type of what is written as JSON @throws ConversionError for a value that JSON does not have */
function protobufStruct(value: JsonValue | GoValue, encoded: EncodedType): JsonValue {
  if (value instanceof GoValue) {
    if (value.type === "*types.Err") throw new ConversionError(`${noJson}: ${value.plain}`);
    throw new ConversionError(`${noJson}: proto: invalid type: ${value.type}`);
  }
  if (typeof value === "number") return finiteNumber(value, encoded);
  if (Array.isArray(value)) return value.map((item) => protobufStruct(item, encoded));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, protobufStruct(member, encoded)]));
}

/**
 * Source: google.golang.org/protobuf encoding/protojson/well_known_types.go, `marshalKnownValue`.
 *
 * @throws ConversionError for an infinity or NaN, which JSON does not have
 */
function finiteNumber(value: number, encoded: EncodedType = "*structpb.Value"): number {
  const unsupported = unsupportedNumber(value);
  if (unsupported === undefined) return value;
  const problem = `proto: google.protobuf.Value.number_value: invalid ${unsupported} value`;
  throw new ConversionError(`${noJson}: json: error calling MarshalJSON for type ${encoded}: ${problem}`);
}

function safeInteger(value: bigint): JsonValue {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}
