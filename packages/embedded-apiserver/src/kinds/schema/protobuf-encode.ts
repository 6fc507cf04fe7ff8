import { jsonText } from "../../json/exact-json.ts";
import { goJson } from "../../json/go-json.ts";
import { protobufMagic } from "./protobuf-wire.ts";
import { isItemsMessage, messageFields, messageOfKind, type MessageField } from "./protobuf-messages.ts";
import { ProtobufWriter } from "./protobuf-writer.ts";

/** An object as JSON. */
export type JsonFields = Readonly<Record<string, unknown>>;

/** A list without its items. */
export interface ListHead {
  readonly apiVersion: string;
  /** Such as `PodList`. */
  readonly kind: string;
  readonly metadata: object;
}

/** Whether objects of a kind, or lists of them, have a protobuf form. Custom resources and tables have none. */
export function hasProtobuf(apiVersion: string, kind: string): boolean {
  return messageOfKind(apiVersion, kind) !== undefined || itemMessage(apiVersion, kind) !== undefined;
}

/**
 * Encodes an object or a list as Kubernetes protobuf, byte for byte as kube-apiserver does.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/runtime/serializer/protobuf/protobuf.go and the types' generated.pb.go.
 *
 * @param object - in the form in which it is stored; decoded with its schema
 * @throws RangeError if the kind has no protobuf form
 */
export function encodeProtobuf(object: JsonFields): Buffer {
  const apiVersion = String(object["apiVersion"] ?? "");
  const kind = String(object["kind"]);
  const message = messageOfKind(apiVersion, kind);
  if (message === undefined) {
    const items = (object["items"] ?? []) as readonly JsonFields[];
    return encodeProtobufList({ apiVersion, kind, metadata: object["metadata"] ?? {} }, items);
  }
  return envelope(apiVersion, kind, (writer) => writeMessage(writer, message, object));
}

/** Encodes a list. @throws RangeError if its items have no protobuf form */
export function encodeProtobufList({ apiVersion, kind, metadata }: ListHead, items: readonly JsonFields[]): Buffer {
  const message = itemMessage(apiVersion, kind);
  if (message === undefined) throw new RangeError(`encode ${kind} of ${apiVersion} as protobuf: the kind has no message`);
  return envelope(apiVersion, kind, (writer) => {
    for (let index = items.length - 1; index >= 0; index--) {
      const end = writer.length;
      writeMessage(writer, message, items[index] ?? {});
      writer.header(2, end);
    }
    const end = writer.length;
    writeMessage(writer, "meta.v1.ListMeta", metadata as JsonFields);
    writer.header(1, end);
  });
}

/**
 * Encodes one frame of a watch: a length of four bytes and a `WatchEvent`.
 *
 * Source: k8s.io/apimachinery v0.36.3 pkg/util/framer and pkg/runtime/serializer/protobuf, `RawSerializer`.
 *
 * @param object - encoded object of the event
 */
export function encodeWatchFrame(type: string, object: Uint8Array): Buffer {
  const writer = new ProtobufWriter();
  writer.bytesField(1, object);
  writer.header(2, 0);
  writer.textField(1, type);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(writer.length);
  writer.bytes(length);
  return writer.toBuffer();
}

/** Message of a list's items; all lists have their metadata in field 1 and their items in field 2. */
function itemMessage(apiVersion: string, kind: string): string | undefined {
  return kind.endsWith("List") ? messageOfKind(apiVersion, kind.slice(0, -"List".length)) : undefined;
}

/** Magic bytes and a `runtime.Unknown`. */
function envelope(apiVersion: string, kind: string, writeObject: (writer: ProtobufWriter) => void): Buffer {
  const writer = new ProtobufWriter();
  writer.textField(4, "");
  writer.textField(3, "");
  let end = writer.length;
  writeObject(writer);
  writer.header(2, end);
  end = writer.length;
  writer.textField(2, kind);
  writer.textField(1, apiVersion);
  writer.header(1, end);
  writer.bytes(protobufMagic);
  return writer.toBuffer();
}

function writeMessage(writer: ProtobufWriter, message: string, object: JsonFields): void {
  const fields = messageFields(message);
  for (let index = fields.length - 1; index >= 0; index--) {
    const field = fields[index];
    if (field !== undefined) writeField(writer, field, object);
  }
}

function writeField(writer: ProtobufWriter, field: MessageField, object: JsonFields): void {
  const { number, name, shape, type } = field;
  if (name === "") return writeValue(writer, number, type, object);
  const value = object[name];
  switch (shape) {
    case "list":
      return writeList(writer, field, value);
    case "map":
      return writeMap(writer, field, value);
    case "pointer":
      if (value === undefined || value === null) return;
      return writeValue(writer, number, type, value);
    case "one":
      return writeValue(writer, number, type, value ?? undefined);
  }
}

function writeList(writer: ProtobufWriter, { number, type }: MessageField, value: unknown): void {
  if (!Array.isArray(value)) return;
  for (let index = value.length - 1; index >= 0; index--) writeValue(writer, number, type, value[index] ?? undefined);
}

/** Keys are sorted, as Go sorts them for stable bytes. */
function writeMap(writer: ProtobufWriter, { number, type }: MessageField, value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const key of Object.keys(value).toSorted(byBytes).toReversed()) {
    const end = writer.length;
    writeValue(writer, 2, type, (value as JsonFields)[key] ?? undefined);
    writer.textField(1, key);
    writer.header(number, end);
  }
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Writes a field; an absent value is the zero of its Go type. */
function writeValue(writer: ProtobufWriter, number: number, type: string, value: unknown): void {
  switch (type) {
    case "string":
      return writer.textField(number, String(value ?? ""));
    case "bool":
      return writer.integerField(number, value === true ? 1 : 0);
    case "int32":
    case "int64":
      return writer.integerField(number, Number(value ?? 0));
    case "double":
      return writer.doubleField(number, Number(value ?? 0));
    case "bytes":
      if (value !== undefined) writer.bytesField(number, Buffer.from(String(value), "base64"));
      return;
    default: {
      const end = writer.length;
      writeContent(writer, type, value);
      writer.header(number, end);
    }
  }
}

function writeContent(writer: ProtobufWriter, type: string, value: unknown): void {
  switch (type) {
    case "meta.v1.Time":
      return writeTime(writer, value, false);
    case "meta.v1.MicroTime":
      return writeTime(writer, value, true);
    case "resource.Quantity":
      return writer.textField(1, String(value ?? "0"));
    case "intstr.IntOrString":
      return writeIntOrString(writer, value);
    case "meta.v1.FieldsV1":
    case "runtime.RawExtension":
      if (value !== undefined) writer.textField(1, jsonText(value));
      return;
    case "apiextensions.v1.JSON":
      // Null is a field without bytes; source: `Convert_apiextensions_JSON_To_v1_JSON`.
      if (value !== undefined) writer.textField(1, goJson(value));
      return;
    case "apiextensions.v1.JSONSchemaPropsOrBool":
      return writeMessage(writer, type, typeof value === "object" ? { allows: true, schema: value } : { allows: value });
    case "apiextensions.v1.JSONSchemaPropsOrArray":
      return writeMessage(writer, type, Array.isArray(value) ? { jSONSchemas: value } : { schema: value });
    case "apiextensions.v1.JSONSchemaPropsOrStringArray":
      return writeMessage(writer, type, Array.isArray(value) ? { property: value } : { schema: value });
    default:
      writeMessage(writer, type, isItemsMessage(type) ? { items: value } : ((value ?? {}) as JsonFields));
  }
}

/** An absent or zero time is an empty message. */
function writeTime(writer: ProtobufWriter, value: unknown, isMicro: boolean): void {
  if (typeof value !== "string" || value.startsWith("0001-01-01T00:00:00")) return;
  const micros = isMicro ? Number((/\.(\d{1,6})/.exec(value)?.[1] ?? "").padEnd(6, "0")) : 0;
  writer.integerField(2, micros * 1000);
  writer.integerField(1, Math.floor(Date.parse(value) / 1000));
}

function writeIntOrString(writer: ProtobufWriter, value: unknown): void {
  const isText = typeof value === "string";
  writer.textField(3, isText ? value : "");
  writer.integerField(2, typeof value === "number" ? value : 0);
  writer.integerField(1, isText ? 1 : 0);
}
