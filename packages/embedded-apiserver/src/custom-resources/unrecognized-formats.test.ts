import { expect, test } from "vitest";
import type { CrdSpec, JsonSchema } from "./crd-fields.ts";
import { formatWarnings } from "./unrecognized-formats.ts";

function specOf(...properties: readonly JsonSchema[]): CrdSpec {
  const openAPIV3Schema: JsonSchema = { type: "object", properties: Object.fromEntries(Object.entries(properties)) };
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }];
  return { group: "example.com", scope: "Namespaced", names: { plural: "things", kind: "Thing" }, versions };
}

test("a definition is warned of each format that its type does not have, once", () => {
  const spec = specOf(
    { type: "integer", format: "uint32" },
    { type: "array", items: { type: "integer", format: "uint32" } },
    { type: "object", additionalProperties: { type: "boolean", format: "int32" } },
    { anyOf: [{ format: "colour" }], "x-kubernetes-int-or-string": true },
    { type: "string", format: "date-time" },
    { type: "number", format: "double" },
  );

  expect(formatWarnings(spec, undefined)).toEqual(["uint32", "int32", "colour"].map((format) => `unrecognized format "${format}"`));
});

test("an update is warned of formats that the definition did not have", () => {
  const old = specOf({ type: "string", format: "a" });

  expect(formatWarnings(specOf({ type: "string", format: "a" }, { type: "string", format: "b" }), old)).toEqual([
    'unrecognized format "b"',
  ]);
});
