import { jsonText } from "../json/exact-json.ts";
import type { JsonValue } from "../json/json-value.ts";
import type { ApiObject, Column } from "../kinds/kind.ts";
import { nameColumn } from "../kinds/columns/columns.ts";
import { ageOf } from "../kinds/columns/human-duration.ts";
import type { PrinterColumn } from "./crd-fields.ts";
import { compileJsonPath } from "../json/json-path.ts";

/** Column of custom resources that define none. */
export const ageDefinition: PrinterColumn = {
  name: "Age",
  type: "date",
  description:
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
  jsonPath: ".metadata.creationTimestamp",
};

/**
 * Columns of a custom resource.
 *
 * Source: k8s.io/apiextensions-apiserver v0.36.3 pkg/registry/customresource/tableconvertor/tableconvertor.go.
 */
export function customColumns(definitions: readonly PrinterColumn[] = [ageDefinition]): readonly Column[] {
  return [nameColumn, ...definitions.map(column)];
}

function column({ name, type, format = "", description = "", priority = 0, jsonPath }: PrinterColumn): Column {
  const find = compileJsonPath(jsonPath);
  return {
    name,
    type: type as Column["type"],
    format,
    description: description === "" ? `Custom resource definition column (in JSONPath format): ${jsonPath}` : description,
    priority,
    cell: (object: ApiObject, nowMs) => cellOf(type, find(object), nowMs),
  };
}

function cellOf(type: string, value: JsonValue | undefined, nowMs: number): string | number | bigint | boolean | null {
  if (value === undefined || value === null) return null;
  switch (type) {
    case "integer":
      if (typeof value === "bigint") return value;
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" || typeof value === "bigint" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      if (typeof value !== "string") return null;
      return Number.isNaN(Date.parse(value)) ? "<invalid>" : ageOf(value, nowMs);
    default:
      return typeof value === "object" ? jsonText(value) : String(value);
  }
}
