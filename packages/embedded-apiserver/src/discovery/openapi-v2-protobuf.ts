/** A message's fields by their name in JSON: number and type. */
type Message = Readonly<Record<string, readonly [number: number, type: FieldType]>>;

/**
 * Type of a field: a scalar, `any` (YAML in a message), a message, `strings` and other lists, maps whose entries are messages with a name and a
 * value, and messages that wrap one field.
 */
type FieldType =
  | "string"
  | "bool"
  | "int"
  | "double"
  | "any"
  | { readonly message: () => Message }
  | { readonly list: FieldType }
  | { readonly map: FieldType; readonly number?: number }
  | { readonly wrap: FieldType; readonly number: number }
  | { readonly choose: (value: unknown) => FieldType };

const strings: FieldType = { list: "string" };
const schemaType: FieldType = { message: () => schemaMessage };

/**
 * Messages of the OpenAPI v2 document that occur in Kubernetes' document.
 *
 * Source: github.com/google/gnostic-models v0.7.0 openapiv2/OpenAPIv2.proto.
 */
const schemaMessage: Message = {
  $ref: [1, "string"],
  format: [2, "string"],
  title: [3, "string"],
  description: [4, "string"],
  default: [5, "any"],
  multipleOf: [6, "double"],
  maximum: [7, "double"],
  exclusiveMaximum: [8, "bool"],
  minimum: [9, "double"],
  exclusiveMinimum: [10, "bool"],
  maxLength: [11, "int"],
  minLength: [12, "int"],
  pattern: [13, "string"],
  maxItems: [14, "int"],
  minItems: [15, "int"],
  uniqueItems: [16, "bool"],
  maxProperties: [17, "int"],
  minProperties: [18, "int"],
  required: [19, strings],
  enum: [20, { list: "any" }],
  additionalProperties: [
    21,
    { choose: (value) => (typeof value === "boolean" ? { wrap: "bool", number: 2 } : { wrap: schemaType, number: 1 }) },
  ],
  type: [22, { wrap: "string", number: 1 }],
  items: [23, { wrap: schemaType, number: 1 }],
  properties: [25, { map: schemaType }],
  externalDocs: [29, { message: () => ({ description: [1, "string"], url: [2, "string"] }) }],
  example: [30, "any"],
};

/** Number of the field with the extensions. */
const extensionField = new Map<Message, number>();

const queryParameter: Message = {
  required: [1, "bool"],
  in: [2, "string"],
  description: [3, "string"],
  name: [4, "string"],
  type: [6, "string"],
  uniqueItems: [20, "bool"],
};
const pathParameter: Message = {
  required: [1, "bool"],
  in: [2, "string"],
  description: [3, "string"],
  name: [4, "string"],
  type: [5, "string"],
  uniqueItems: [19, "bool"],
};
const bodyParameter: Message = {
  description: [1, "string"],
  name: [2, "string"],
  in: [3, "string"],
  required: [4, "bool"],
  schema: [5, schemaType],
};

/** A parameter is wrapped by its place: `ParametersItem`, `Parameter`, and `NonBodyParameter` if it is not the body. */
const parameterItem: FieldType = {
  choose: (value) => {
    const place = (value as { readonly in: string }).in;
    const wrapped: FieldType =
      place === "body"
        ? { wrap: { message: () => bodyParameter }, number: 1 }
        : {
            wrap:
              place === "path"
                ? { wrap: { message: () => pathParameter }, number: 4 }
                : { wrap: { message: () => queryParameter }, number: 3 },
            number: 2,
          };
    return { wrap: wrapped, number: 1 };
  },
};

const response: Message = { description: [1, "string"], schema: [2, { wrap: schemaType, number: 1 }] };
const operation: Message = {
  tags: [1, strings],
  description: [3, "string"],
  operationId: [5, "string"],
  produces: [6, strings],
  consumes: [7, strings],
  parameters: [8, { list: parameterItem }],
  responses: [9, { map: { wrap: { message: () => response }, number: 1 } }],
  schemes: [10, strings],
};
const operationType: FieldType = { message: () => operation };
const pathItem: Message = {
  get: [2, operationType],
  put: [3, operationType],
  post: [4, operationType],
  delete: [5, operationType],
  options: [6, operationType],
  head: [7, operationType],
  patch: [8, operationType],
  parameters: [9, { list: parameterItem }],
};
const info: Message = { title: [1, "string"], version: [2, "string"] };
const apiKeySecurity: Message = { type: [1, "string"], name: [2, "string"], in: [3, "string"], description: [4, "string"] };
const documentMessage: Message = {
  swagger: [1, "string"],
  info: [2, { message: () => info }],
  paths: [8, { map: { message: () => pathItem }, number: 2 }],
  definitions: [9, { map: schemaType }],
  security: [12, { list: { map: { wrap: "string", number: 1 } } }],
  securityDefinitions: [13, { map: { wrap: { message: () => apiKeySecurity }, number: 2 } }],
};
extensionField.set(schemaMessage, 31);
extensionField.set(operation, 13);

/**
 * Encodes an OpenAPI v2 document as the message that kubectl reads.
 *
 * @param document - as JSON
 * @throws RangeError for a field that has no place in the message
 */
export function encodeOpenApiV2(document: Readonly<Record<string, unknown>>): Buffer {
  return messageBytes(documentMessage, document);
}

function messageBytes(message: Message, value: object): Buffer {
  return Buffer.concat(
    Object.entries(value).flatMap(([name, child]) => {
      if (child === undefined) return [];
      const field = message[name];
      if (field !== undefined) return fieldBytes(field[0], field[1], child);
      const extensions = extensionField.get(message);
      if (!name.startsWith("x-") || extensions === undefined)
        throw new RangeError(`encode an OpenAPI document: the field ${name} has no number`);
      return delimited(extensions, namedBytes(name, "any", child));
    }),
  );
}

function fieldBytes(number: number, type: FieldType, value: unknown): Buffer[] {
  if (typeof type === "string") return scalarBytes(number, type, value);
  if ("choose" in type) return fieldBytes(number, type.choose(value), value);
  if ("message" in type) return delimited(number, messageBytes(type.message(), value as object));
  if ("list" in type) return (value as readonly unknown[]).flatMap((item) => fieldBytes(number, type.list, item));
  if ("wrap" in type) {
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    return delimited(number, Buffer.concat(items.flatMap((item) => fieldBytes(type.number, type.wrap, item))));
  }
  const entries = Object.entries(value as object).flatMap(([name, item]) => delimited(type.number ?? 1, namedBytes(name, type.map, item)));
  return delimited(number, Buffer.concat(entries));
}

function namedBytes(name: string, type: FieldType, value: unknown): Buffer {
  return Buffer.concat([...delimited(1, Buffer.from(name)), ...fieldBytes(2, type, value)]);
}

function scalarBytes(number: number, type: string, value: unknown): Buffer[] {
  switch (type) {
    case "string":
      return delimited(number, Buffer.from(String(value)));
    // JSON is YAML.
    case "any":
      return delimited(number, Buffer.concat(delimited(2, Buffer.from(`${JSON.stringify(value)}\n`))));
    case "double": {
      const bytes = Buffer.alloc(8);
      bytes.writeDoubleLE(Number(value));
      return [varint(number * 8 + 1), bytes];
    }
    default:
      return [varint(number * 8), varint(Number(value))];
  }
}

function delimited(number: number, bytes: Buffer): Buffer[] {
  return [varint(number * 8 + 2), varint(bytes.length), bytes];
}

/** @param value - 0 to 2^53 */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  bytes.push(rest);
  return Buffer.from(bytes);
}
