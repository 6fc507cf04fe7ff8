import { InexactIntegerError, parseExactJson } from "../../json/exact-json.ts";
import { isItemsMessage, messageFields, messageOfKind, type MessageField } from "./protobuf-messages.ts";
import { packedNumbers, ProtobufError, protobufMagic, wireFields, type ExpectedField, type WireField } from "./protobuf-wire.ts";

/** Media type of {@link decodeProtobuf}'s input. */
export const protobufMediaType = "application/vnd.kubernetes.protobuf";

const decoder = new TextDecoder();

/** Whether a body is Kubernetes protobuf; its first bytes cannot begin a JSON text. */
export function isProtobuf(body: Uint8Array): boolean {
  return protobufMagic.equals(body.subarray(0, protobufMagic.length));
}

/**
 * Decodes a protobuf object into the equivalent JSON.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/runtime/serializer/protobuf and pkg/runtime/generated.proto, `Unknown`.
 *
 * @throws ProtobufError if the body is malformed or of an unknown kind
 */
export function decodeProtobuf(body: Uint8Array): Record<string, unknown> {
  if (!isProtobuf(body)) throw new ProtobufError("the body does not begin with the four bytes of Kubernetes protobuf");
  let typeMeta: WireField["value"] = new Uint8Array();
  let raw: WireField["value"] = new Uint8Array();
  if (body.length === protobufMagic.length) throw new ProtobufError("empty body");
  for (const { number, value } of wireFields(body.subarray(protobufMagic.length), "Unknown", bytesFields(unknownFields))) {
    if (number === 1) typeMeta = value;
    else if (number === 2) raw = value;
  }
  let apiVersion = "";
  let kind = "";
  for (const { number, value } of wireFields(bytesOf(typeMeta), "TypeMeta", bytesFields(typeMetaFields))) {
    if (number === 1) apiVersion = textOf(value);
    else if (number === 2) kind = textOf(value);
  }
  const name = kind === "DeleteOptions" ? "meta.v1.DeleteOptions" : messageOfKind(apiVersion, kind);
  if (name === undefined) throw new ProtobufError(`the kind ${kind} of ${apiVersion} is only accepted as JSON`);
  try {
    return { kind, apiVersion, ...readMessage(name, bytesOf(raw)) };
  } catch (error) {
    throw error instanceof ProtobufError ? new ProtobufError(error.message, { cause: error, place: { kind, apiVersion } }) : error;
  }
}

const unknownFields = ["TypeMeta", "Raw", "ContentEncoding", "ContentType"];
const typeMetaFields = ["APIVersion", "Kind"];
const bytesTypes = [2];

/** Fields 1, 2 and so on, which contain bytes. */
function bytesFields(goNames: readonly string[]): (number: number) => ExpectedField | undefined {
  return (number) => {
    const goName = goNames[number - 1];
    return goName === undefined ? undefined : { goName, wireTypes: bytesTypes };
  };
}

/** A field with what its bytes must look like. */
type ReadField = MessageField & ExpectedField;

const byNumber = new Map<string, ReadonlyMap<number, ReadField>>();

function fieldsOf(message: string): ReadonlyMap<number, ReadField> {
  let fields = byNumber.get(message);
  if (fields === undefined) {
    fields = new Map(
      messageFields(message).map((field) => [field.number, { ...field, goName: goNameOf(field), wireTypes: wireTypesOf(field) }]),
    );
    byNumber.set(message, fields);
  }
  return fields;
}

/** Name of a field in Go; metadata is embedded there under the name of its type. */
function goNameOf({ name, type }: MessageField): string {
  if (name === "metadata" || name === "") return shortName(type);
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

function wireTypesOf({ shape, type }: MessageField): readonly number[] {
  if (shape === "map") return bytesTypes;
  if (type === "int32" || type === "int64") return shape === "list" ? [0, 2] : [0];
  if (type === "bool") return [0];
  return type === "double" ? [1] : bytesTypes;
}

function shortName(message: string): string {
  return message.slice(message.lastIndexOf(".") + 1);
}

function readMessage(message: string, bytes: Uint8Array): Record<string, unknown> {
  const result = new Map<string, unknown>();
  const fields = fieldsOf(message);
  for (const wire of wireFields(bytes, shortName(message), (number) => fields.get(number))) {
    const field = fields.get(wire.number);
    // A newer client may send fields that are unknown here.
    if (field !== undefined) readField(result, field, wire);
  }
  // Unlike an assignment, Object.fromEntries defines even `__proto__` as an own property.
  const plain = [...result].map(([key, value]) => [key, value instanceof Map ? Object.fromEntries(value) : value] as const);
  return Object.fromEntries(plain);
}

function readField(result: Map<string, unknown>, field: MessageField, wire: WireField): void {
  const { name, shape, type } = field;
  try {
    if (name === "") {
      for (const [key, value] of Object.entries(readMessage(type, bytesOf(wire.value)))) result.set(key, value);
    } else if (shape === "list") {
      const items = (result.get(name) ?? []) as unknown[];
      items.push(...readItems(type, wire));
      result.set(name, items);
    } else if (shape === "map") {
      const entries = (result.get(name) ?? new Map()) as Map<string, unknown>;
      result.set(name, entries.set(...readEntry(type, bytesOf(wire.value))));
    } else {
      const value = readValue(type, wire.value);
      if (value !== undefined) result.set(name, value);
    }
  } catch (error) {
    throw error instanceof InexactIntegerError && name !== "" ? error.within(name) : error;
  }
}

function readItems(type: string, wire: WireField): unknown[] {
  if (type === "int32" || type === "int64") return Array.from(packedNumbers(wire), toNumber);
  return [readValue(type, wire.value)];
}

function readEntry(type: string, bytes: Uint8Array): [string, unknown] {
  let key = "";
  let value: unknown = emptyValue(type);
  for (const field of wireFields(bytes)) {
    if (field.number === 1) key = textOf(field.value);
    else if (field.number === 2) value = readValue(type, field.value);
  }
  return [key, value];
}

function emptyValue(type: string): unknown {
  return type === "string" || type === "bytes" ? "" : readValue(type, new Uint8Array());
}

function readValue(type: string, value: WireField["value"]): unknown {
  switch (type) {
    case "string":
      return textOf(value);
    case "bytes":
      return Buffer.from(bytesOf(value)).toString("base64");
    case "bool":
      return numberOf(value) !== 0;
    case "int32":
    case "int64":
      return numberOf(value);
    case "double":
      return doubleOf(bytesOf(value));
    default:
      return readContent(type, bytesOf(value));
  }
}

function readContent(type: string, bytes: Uint8Array): unknown {
  switch (type) {
    case "meta.v1.Time":
      return readTime(bytes, 3);
    case "meta.v1.MicroTime":
      return readTime(bytes, 6);
    case "resource.Quantity":
      return partOf(bytes, 1, textOf) ?? "0";
    case "intstr.IntOrString":
      return readIntOrString(bytes);
    case "meta.v1.FieldsV1":
      return readJson(partOf(bytes, 1, textOf) ?? "{}");
    case "apiextensions.v1.JSON":
    case "runtime.RawExtension":
      return readJson(partOf(bytes, 1, textOf) ?? "null");
    case "apiextensions.v1.JSONSchemaPropsOrBool":
      return readEither(readMessage(type, bytes));
    case "apiextensions.v1.JSONSchemaPropsOrArray":
    case "apiextensions.v1.JSONSchemaPropsOrStringArray":
      return readEither(readMessage(type, bytes)) || undefined;
    default: {
      const message = readMessage(type, bytes);
      return isItemsMessage(type) ? (message["items"] ?? []) : message;
    }
  }
}

function readJson(json: string): unknown {
  try {
    return parseExactJson(json);
  } catch (cause) {
    throw new ProtobufError("a free-form field is not valid JSON", { cause });
  }
}

/** Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/apis/apiextensions/v1/marshal.go. */
function readEither({ jSONSchemas, property, schema, allows }: Record<string, unknown>): unknown {
  return jSONSchemas ?? property ?? schema ?? allows === true;
}

function doubleOf(bytes: Uint8Array): number {
  if (bytes.length !== 8) throw new ProtobufError("expected a number of eight bytes");
  return new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0, true);
}

/** @returns `undefined` for the zero time */
function readTime(bytes: Uint8Array, digits: 3 | 6): string | undefined {
  if (bytes.length === 0) return undefined;
  const seconds = partOf(bytes, 1, numberOf) ?? 0;
  const nanos = partOf(bytes, 2, numberOf) ?? 0;
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) throw new ProtobufError(`the time ${seconds} is out of range`);
  const whole = date.toISOString().slice(0, 19);
  return digits === 3 ? `${whole}Z` : `${whole}.${String(Math.floor(nanos / 1000)).padStart(6, "0")}Z`;
}

function readIntOrString(bytes: Uint8Array): number | string {
  return partOf(bytes, 1, numberOf) === 1 ? (partOf(bytes, 3, textOf) ?? "") : (partOf(bytes, 2, numberOf) ?? 0);
}

function partOf<Part>(bytes: Uint8Array, wanted: number, read: (value: WireField["value"]) => Part): Part | undefined {
  let part: Part | undefined;
  for (const { number, value } of wireFields(bytes)) if (number === wanted) part = read(value);
  return part;
}

function numberOf(value: WireField["value"]): number {
  if (typeof value !== "bigint") throw new ProtobufError("expected a number, found bytes");
  return toNumber(value);
}

function toNumber(value: bigint): number {
  const number = Number(BigInt.asIntN(64, value));
  if (!Number.isSafeInteger(number)) throw new InexactIntegerError("", String(BigInt.asIntN(64, value)));
  return number;
}

function bytesOf(value: WireField["value"]): Uint8Array {
  if (typeof value === "bigint") throw new ProtobufError("expected bytes, found a number");
  return value;
}

function textOf(value: WireField["value"]): string {
  return decoder.decode(bytesOf(value));
}
