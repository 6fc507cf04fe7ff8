/**
 * Writes packages/embedded-apiserver/data/openapi-schemas.json: what the embedded API server needs to know of the API's
 * types. The schemas come from the OpenAPI v3 documents in Kubernetes' source tree, the enumerated values from its generated
 * definitions, the wire facts that OpenAPI leaves out (pointers, `omitempty`) from the Go types. Both are Apache-2.0, by The Kubernetes Authors.
 *
 *   node --conditions=@virtual-kubelet/source tools/openapi-schemas.ts "$(go env GOMODCACHE)/k8s.io" 1.36.3
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiKinds } from "./api-kinds.ts";
import { readEnums } from "./openapi-enums.ts";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Schema = { [key: string]: Json; properties?: Record<string, Json> };

/** Groups and versions whose documents are read. */
const groupVersions = [...new Map(apiKinds.map(({ group, version }) => [`${group}/${version}`, { group, version }])).values()];

/** The kinds that cross the wire; all they refer to comes along. */
const roots = apiKinds.map(({ schema }) => schema);

const gvkKey = "x-kubernetes-group-version-kind";

function readSchemas(kubernetesDirectory: string): Record<string, Schema> {
  const all: Record<string, Schema> = {};
  for (const { group, version } of groupVersions) {
    const file = group === "" ? `api__${version}_openapi.json` : `apis__${group}__${version}_openapi.json`;
    const text = readFileSync(join(kubernetesDirectory, "api/openapi-spec/v3", file), "utf8");
    Object.assign(all, (JSON.parse(text) as { components: { schemas: Record<string, Schema> } }).components.schemas);
  }
  return all;
}

function* references(value: Json): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, child] of Object.entries(value)) {
    if (key === "$ref" && typeof child === "string") yield child.slice(child.lastIndexOf("/") + 1);
    else yield* references(child);
  }
}

/** Adds the enumerated values of fields, and the descriptions that explain them. */
function addEnums(schemas: readonly [name: string, schema: Schema][], enums: ReturnType<typeof readEnums>): void {
  for (const [name, { properties = {} }] of schemas)
    for (const [field, { values, ofMembers, description }] of enums.get(name) ?? []) {
      const property = properties[field] as Schema;
      property["description"] = description;
      const enumerated = ofMembers ? (property["items"] ?? property["additionalProperties"]) : property;
      (enumerated as Schema)["enum"] = [...values];
    }
}

function closure(all: Record<string, Schema>): [name: string, schema: Schema][] {
  const found = new Map<string, Schema>();
  const open = [...roots];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (found.has(name)) continue;
    const schema = all[name];
    if (schema === undefined) throw new Error(`schema ${name} is in none of the OpenAPI documents`);
    found.set(name, onlyOurGroups(schema));
    open.push(...references(schema));
  }
  return [...found].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** Drops the groups and versions that the server does not have: some schemas, such as DeleteOptions, list all of Kubernetes. */
function onlyOurGroups(schema: Schema): Schema {
  const kinds = schema[gvkKey];
  if (!Array.isArray(kinds)) return schema;
  return {
    ...schema,
    [gvkKey]: kinds.filter((kind) => groupVersions.some(({ group, version }) => isOf(kind, group, version))),
  };
}

function isOf(kind: Json, group: string, version: string): boolean {
  const { group: ofGroup, version: ofVersion } = kind as { group: string; version: string };
  return ofGroup === group && ofVersion === version;
}

interface GoField {
  readonly type: string;
  readonly options: readonly string[];
}
type GoStructs = Map<string, { fields: Map<string, GoField>; embedded: string[] }>;

/** Reads the structs of a Go file whose fields carry `json` tags; regular enough for the API's own files. */
function readGoStructs(file: string): GoStructs {
  const structs: GoStructs = new Map();
  for (const [, name = "", body = ""] of readFileSync(file, "utf8").matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)) {
    const fields = new Map<string, GoField>();
    const embedded: string[] = [];
    for (const [, type = "", tag = ""] of body.matchAll(/^\t(?:\w+[ \t]+)?([\w.*[\]]+)[ \t]+`json:"([^"]*)"/gm)) {
      const [json = "", ...options] = tag.split(",");
      if (options.includes("inline") || json === "") embedded.push(type.slice(type.lastIndexOf(".") + 1));
      else fields.set(json, { type, options });
    }
    structs.set(name, { fields, embedded });
  }
  return structs;
}

/** `io.k8s.api.core.v1.Pod` is found in `api@v0.36.3/core/v1/types.go`. */
function goFileOf(definition: string, modules: string, minorPatch: string): string | undefined {
  const [, group, version] = /^io\.k8s\.api\.(\w+)\.(v\d)\.\w+$/.exec(definition) ?? [];
  if (group !== undefined && version !== undefined) return join(modules, `api@v0.${minorPatch}`, group, version, "types.go");
  if (definition.startsWith("io.k8s.apimachinery.pkg.apis.meta.v1."))
    return join(modules, `apimachinery@v0.${minorPatch}/pkg/apis/meta/v1/types.go`);
  const schema = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.";
  if (definition.startsWith(schema)) {
    const file = /^(JSON|ExternalDocumentation|ValidationRule)/.test(definition.slice(schema.length)) ? "types_jsonschema.go" : "types.go";
    return join(modules, `apiextensions-apiserver@v0.${minorPatch}/pkg/apis/apiextensions/v1`, file);
  }
  if (definition.startsWith("io.k8s.kube-aggregator."))
    return join(modules, `kube-aggregator@v0.${minorPatch}/pkg/apis/apiregistration/v1/types.go`);
  return undefined;
}

function allFields(structs: GoStructs, name: string): Map<string, GoField> {
  const struct = structs.get(name);
  if (struct === undefined) return new Map();
  return new Map([...struct.embedded.flatMap((embedded) => [...allFields(structs, embedded)]), ...struct.fields]);
}

/** Fields that keep a zero value (pointers), and fields that are always written. */
function wireFacts(
  schemas: [string, Schema][],
  modules: string,
  minorPatch: string,
): Record<string, { pointer?: string[]; always?: string[] }> {
  const files = new Map<string, GoStructs>();
  const facts: Record<string, { pointer?: string[]; always?: string[] }> = {};
  for (const [definition, schema] of schemas) {
    const file = goFileOf(definition, modules, minorPatch);
    if (file === undefined || schema.properties === undefined) continue;
    const structs = files.get(file) ?? readGoStructs(file);
    files.set(file, structs);
    const fields = allFields(structs, definition.slice(definition.lastIndexOf(".") + 1));
    const pointer: string[] = [];
    const always: string[] = [];
    for (const [property, propertySchema] of Object.entries(schema.properties)) {
      if (property === "apiVersion" || (property === "kind" && !fields.has(property))) continue;
      const field = fields.get(property);
      if (field === undefined) throw new Error(`${definition}.${property} is not in ${file}`);
      if (field.type.startsWith("*")) pointer.push(property);
      if (isAlwaysWritten(field, propertySchema)) always.push(property);
    }
    if (pointer.length + always.length > 0)
      facts[definition] = { ...(pointer.length > 0 ? { pointer } : {}), ...(always.length > 0 ? { always } : {}) };
  }
  return facts;
}

function isAlwaysWritten({ type, options }: GoField, schema: Json): boolean {
  if (!options.includes("omitempty")) return true;
  const isStruct = isReference(schema) && !/^(\*|\[\])|FieldsV1$/.test(type);
  return isStruct && !options.includes("omitzero");
}

function isReference(schema: Json): boolean {
  return typeof schema === "object" && schema !== null && ("allOf" in schema || "$ref" in schema);
}

function lines(entries: [string, unknown][]): string {
  return entries.map(([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)}`).join(",\n");
}

const [modules, version] = process.argv.slice(2);
if (modules === undefined || version === undefined)
  throw new Error(
    "usage: node --conditions=@virtual-kubelet/source tools/openapi-schemas.ts <Go module cache>/k8s.io <Kubernetes version, such as 1.36.3>",
  );
const kubernetes = join(modules, `kubernetes@v${version}`);
const schemas = closure(readSchemas(kubernetes));
addEnums(schemas, readEnums(readFileSync(join(kubernetes, "pkg/generated/openapi/zz_generated.openapi.go"), "utf8")));
const wire = Object.entries(wireFacts(schemas, modules, version.slice(2)));
const source = `Kubernetes v${version}, api/openapi-spec/v3, pkg/generated/openapi and the Go types (Apache-2.0, The Kubernetes Authors); cut down by tools/openapi-schemas.ts`;
const text = `{\n  "source": ${JSON.stringify(source)},\n  "schemas": {\n${lines(schemas)}\n  },\n  "wire": {\n${lines(wire)}\n  }\n}\n`;
writeFileSync(new URL("../packages/embedded-apiserver/data/openapi-schemas.json", import.meta.url), text);
console.log(`${schemas.length} schemas, ${text.length} bytes`);
