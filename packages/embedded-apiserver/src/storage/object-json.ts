import { jsonText } from "../json/exact-json.ts";
import type { ApiObject } from "../kinds/kind.ts";

/** JSON of sets of fields, which many objects share. */
const known = new WeakMap<object, string>();

/** JSON of an object, with the managers of its fields at the end of the metadata. */
export function objectJson(object: Readonly<ApiObject>): string {
  const { managedFields } = object.metadata;
  if (managedFields === undefined || managedFields.length === 0) return jsonText(object);
  const { kind, apiVersion, metadata, ...fields } = object;
  const head = JSON.stringify({ kind, apiVersion, metadata: { ...metadata, managedFields: undefined } });
  const rest = jsonText(fields);
  return `${head.slice(0, -2)},"managedFields":[${managedFields.map(entryJson).join(",")}]}${rest === "{}" ? "}" : `,${rest.slice(1)}`}`;
}

function entryJson(entry: object): string {
  const { fieldsV1, subresource, ...rest } = entry as { readonly fieldsV1?: object; readonly subresource?: string };
  const fields = fieldsV1 === undefined ? "" : `,"fieldsV1":${setJson(fieldsV1)}`;
  const last = subresource === undefined ? "" : `,"subresource":${JSON.stringify(subresource)}`;
  return `${JSON.stringify(rest).slice(0, -1)}${fields}${last}}`;
}

function setJson(set: object): string {
  let json = known.get(set);
  if (json === undefined) known.set(set, (json = JSON.stringify(set)));
  return json;
}
