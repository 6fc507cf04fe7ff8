import type { CrdSpec, JsonSchema } from "./crd-fields.ts";
import { schemaFormat } from "./formats.ts";

/**
 * Warnings of a definition about formats that are ignored; of an update, those that the old definition does not have.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/registry/customresourcedefinition/strategy.go, `WarningsOnCreate` and `WarningsOnUpdate`.
 */
export function formatWarnings(spec: CrdSpec, old: CrdSpec | undefined): string[] {
  const known = new Set(old === undefined ? [] : formatsOf(old));
  return [...new Set(formatsOf(spec))]
    .filter((format) => !known.has(format))
    .map((format) => `unrecognized format ${JSON.stringify(format)}`);
}

function formatsOf({ versions }: CrdSpec): string[] {
  return (versions ?? []).flatMap(({ schema }) =>
    schema?.openAPIV3Schema === undefined ? [] : unrecognizedFormats(schema.openAPIV3Schema),
  );
}

function unrecognizedFormats(schema: JsonSchema): string[] {
  const { format = "", items, allOf = [], anyOf = [], oneOf = [], not, properties = {}, additionalProperties } = schema;
  const own = format !== "" && schemaFormat(schema) === "" ? [format] : [];
  const parts = [
    ...(items === undefined ? [] : [items]),
    ...allOf,
    ...anyOf,
    ...oneOf,
    ...(not === undefined ? [] : [not]),
    ...Object.values(properties),
    ...(typeof additionalProperties === "object" ? [additionalProperties] : []),
  ];
  return [...own, ...parts.flatMap(unrecognizedFormats)];
}
