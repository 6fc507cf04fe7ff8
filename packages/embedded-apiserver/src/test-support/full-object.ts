import { structSchema, type StructSchema, type TypeSchema } from "../kinds/schema/schema.ts";

/** Maximum number of structs of one definition inside each other: schemas contain schemas. */
const maxNested = 2;

/**
 * An object with a value in every field of its schema, always the same.
 *
 * @param definition - such as `io.k8s.api.core.v1.Pod`
 */
export function fullObject(apiVersion: string, kind: string, definition: string): Record<string, unknown> {
  const { apiVersion: _version, kind: _kind, ...fields } = fullStruct(structSchema(definition), []);
  return { apiVersion, kind, ...fields };
}

function fullStruct(schema: StructSchema, outer: readonly string[]): Record<string, unknown> {
  const inside = [...outer, schema.definition];
  return Object.fromEntries(
    [...schema.fields].flatMap(([name, field]) => {
      const value = fullValue(field.schema, name, inside);
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

function fullValue(schema: TypeSchema, name: string, outer: readonly string[]): unknown {
  switch (schema.type) {
    case "struct":
      return outer.filter((one) => one === schema.definition).length >= maxNested ? undefined : fullStruct(schema, outer);
    case "array": {
      const item = fullValue(schema.items, name, outer);
      return item === undefined ? undefined : [item, item];
    }
    case "map": {
      const value = fullValue(schema.values, name, outer);
      return value === undefined ? undefined : { [`${name}-é`]: value, [name]: value };
    }
    case "integer":
      return schema.bits === 64 ? -(2 ** 40) - name.length : 300 + name.length;
    case "number":
      return name.length + 0.25;
    case "boolean":
      return true;
    case "string":
      return `the ${name} – "ü"`;
    case "bytes":
      return Buffer.from(name).toString("base64");
    case "time":
      return "2024-02-29T23:59:58Z";
    case "microTime":
      return "2024-02-29T23:59:58.012345Z";
    case "quantity":
      return "1500m";
    case "intOrString":
      return name.length % 2 === 0 ? "25%" : -1;
    case "any":
    case "schemaOrOther":
      return { type: "string" };
  }
}
