/**
 * Writes packages/embedded-apiserver/data/declarative-rules.json: the declarative validation rules (`+k8s:required`, `+k8s:maxItems` and the
 * like) of the API's Go types, for the definitions that data/openapi-schemas.json has. Fields are in the order of the Go types, which is the
 * order of the errors. The types are Apache-2.0, by The Kubernetes Authors.
 *
 *   node tools/declarative-rules.ts "$(go env GOMODCACHE)/k8s.io" 1.36.3
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Rules of a field, and the definition of its value or of the items of its list or map. */
interface FieldRules {
  required?: true;
  /** The Go field is a pointer, so a zero value counts as present. */
  pointer?: true;
  immutable?: true;
  /** May be set and cleared, but not changed. */
  noModify?: true;
  minimum?: number;
  maxItems?: number;
  maxLength?: number;
  format?: string;
  keyFormat?: string;
  enum?: string[];
  /** The items of a list are unique, as values or by these fields. */
  unique?: string[];
  definition?: string;
  /** The definition is that of a map's values. */
  isMap?: true;
}

interface TypeRules {
  fields: Record<string, FieldRules>;
  /** Fields of which exactly one must be set. */
  union?: string[];
}

const schemaFile = new URL("../packages/embedded-apiserver/data/openapi-schemas.json", import.meta.url);
const rulesFile = new URL("../packages/embedded-apiserver/data/declarative-rules.json", import.meta.url);

const [modules, version] = process.argv.slice(2);
if (modules === undefined || version === undefined)
  throw new Error("usage: node tools/declarative-rules.ts <Go module cache>/k8s.io <Kubernetes version, such as 1.36.3>");
const { schemas } = JSON.parse(readFileSync(schemaFile, "utf8")) as { schemas: Record<string, unknown> };

/** `io.k8s.api.core.v1` is in `api@v0.36.3/core/v1/types.go`. */
function goFileOf(packageName: string): string | undefined {
  const [, group, apiVersion] = /^io\.k8s\.api\.(\w+)\.(v\d)$/.exec(packageName) ?? [];
  if (group === undefined || apiVersion === undefined) return undefined;
  return join(modules ?? "", `api@v0.${version?.slice(2)}`, group, apiVersion, "types.go");
}

/** Values of the string types that are marked `+k8s:enum`, sorted as the server prints them. */
function readEnums(source: string): Map<string, string[]> {
  const enums = new Map<string, string[]>();
  for (const [, comment = "", name = ""] of source.matchAll(/((?:^\/\/.*\n)+)type (\w+) string$/gm)) {
    if (!/\+k8s:enum$/m.test(comment)) continue;
    const constants = new RegExp(`^\\t\\w+(?:\\s+${name}\\s+= |\\s+= ${name}\\()("[^"]*"|v1\\.\\w+)`, "gm");
    const values = [...source.matchAll(constants)].map(([, value = ""]) => valueOf(value));
    enums.set(name, values.toSorted());
  }
  return enums;
}

/** Value of a string literal, or of a constant of core/v1 such as `v1.IPv4Protocol`. */
function valueOf(text: string): string {
  if (text.startsWith('"')) return text.slice(1, -1);
  const source = readFileSync(goFileOf("io.k8s.api.core.v1") ?? "", "utf8");
  const [, value] = new RegExp(`^\\t${text.slice("v1.".length)}\\s.*= "([^"]*)"`, "m").exec(source) ?? [];
  if (value === undefined) throw new Error(`the constant ${text} is not in core/v1`);
  return value;
}

function readTypes(packageName: string, source: string): Map<string, TypeRules> {
  const enums = readEnums(source);
  const types = new Map<string, TypeRules>();
  const embedded: [name: string, type: string][] = [];
  for (const [, name = "", body = ""] of source.matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)) {
    const fields: Record<string, FieldRules> = {};
    const union: string[] = [];
    for (const [, comment = "", type = "", tag = ""] of body.matchAll(
      /((?:^\t\/\/.*\n)*)^\t(?:\w+[ \t]+)?([\w.*[\]]+)[ \t]+`json:"([^"]*)"/gm,
    )) {
      const [json = ""] = tag.split(",");
      if (/ObjectMeta$|TypeMeta$/.test(type)) continue;
      if (json === "") embedded.push([name, type]);
      const { isUnionMember, ...rules } = rulesOf(comment);
      if (isUnionMember === true) union.push(json);
      applyType(rules, type, packageName, enums);
      if (json !== "") fields[json] = rules;
    }
    types.set(`${packageName}.${name}`, { fields, ...(union.length > 0 ? { union } : {}) });
  }
  for (const [name, type] of embedded)
    Object.assign(types.get(`${packageName}.${name}`)?.fields ?? {}, types.get(`${packageName}.${type}`)?.fields);
  return types;
}

/** Adds what the Go type of a field says: `*T` is a pointer, `[]T` and `map[string]T` have values of `T`. */
function applyType(rules: FieldRules, type: string, packageName: string, enums: ReadonlyMap<string, string[]>): void {
  const element = type.replace(/^(\*|\[\]|map\[[\w.]+\])+/, "");
  const values = enums.get(element);
  if (values !== undefined) rules.enum = values;
  if (type.startsWith("*")) rules.pointer = true;
  const definition = element.includes(".") ? `io.k8s.api.${element.replace(/^(core)?v1\./, "core.v1.")}` : `${packageName}.${element}`;
  if (definition in schemas) rules.definition = definition;
  if (type.startsWith("map[")) rules.isMap = true;
}

function rulesOf(comment: string): FieldRules & { isUnionMember?: true } {
  const rules: FieldRules & { isUnionMember?: true } = {};
  const keys = [...comment.matchAll(/\+k8s:listMapKey=(\w+)/g)].map(([, key = ""]) => key);
  for (const [, text = ""] of comment.matchAll(/^\t\/\/ (?:\+k8s:alpha\(since: "[\d.]+"\)=)?\+k8s:(.*)$/gm)) {
    const [, tag = "", argument = "", value = ""] = /^(\w+)(?:\(([^)]*)\))?(?:=(.*))?$/.exec(text) ?? [];
    applyTag(rules, tag, argument, value, keys);
  }
  return rules;
}

/** Writes one tag. Tags without effect on this release's server, such as those of features that are off, are left out. */
function applyTag(rules: FieldRules & { isUnionMember?: true }, tag: string, argument: string, value: string, keys: string[]): void {
  switch (tag) {
    case "required":
    case "immutable":
      rules[tag] = true;
      return;
    case "minimum":
    case "maxItems":
    case "maxLength":
      rules[tag] = Number(value);
      return;
    case "maxBytes":
      rules.maxLength = Number(value);
      return;
    case "format":
      rules.format = value.replaceAll('"', "");
      return;
    case "eachKey":
      rules.keyFormat = value.replace(/^\+k8s:format=/, "");
      return;
    case "unique":
      rules.unique = keys;
      return;
    case "listType":
      if (value === "map") rules.unique = keys;
      return;
    case "update":
      if (value === "NoModify") rules.noModify = true;
      return;
    case "unionMember":
      rules.isUnionMember = true;
      return;
    case "ifDisabled":
      // The only feature that a tag names, HPAScaleToZero, is off by default.
      applyTag(rules, ...splitTag(value), keys);
      return;
    default:
  }
}

function splitTag(text: string): [tag: string, argument: string, value: string] {
  const [, tag = "", value = ""] = /^\+k8s:(\w+)=(.*)$/.exec(text) ?? [];
  return [tag, "", value];
}

/** Whether a property of a field's rules demands nothing by itself. */
function isContext(key: string): boolean {
  return ["pointer", "definition", "isMap"].includes(key);
}

/** Drops fields and types below which there is no rule. */
function prune(types: Map<string, TypeRules>): Map<string, TypeRules> {
  const hasOwnRules = ({ fields, union }: TypeRules): boolean =>
    union !== undefined || Object.values(fields).some((rules) => Object.keys(rules).some((key) => !isContext(key)));
  const kept = new Set([...types].filter(([, rules]) => hasOwnRules(rules)).map(([name]) => name));
  for (let size = -1; size !== kept.size;) {
    size = kept.size;
    for (const [name, { fields }] of types)
      if (Object.values(fields).some(({ definition }) => definition !== undefined && kept.has(definition))) kept.add(name);
  }
  const pruned = new Map<string, TypeRules>();
  for (const [name, { fields, union }] of [...types].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (!kept.has(name) || !(name in schemas)) continue;
    const useful: Record<string, FieldRules> = {};
    for (const [field, { definition, ...rules }] of Object.entries(fields)) {
      const withDefinition = { ...rules, ...(definition !== undefined && kept.has(definition) ? { definition } : {}) };
      if (Object.keys(withDefinition).some((key) => key !== "pointer" && key !== "isMap")) useful[field] = withDefinition;
    }
    pruned.set(name, { fields: useful, ...(union === undefined ? {} : { union }) });
  }
  return pruned;
}

const packages = new Set(Object.keys(schemas).map((definition) => definition.slice(0, definition.lastIndexOf("."))));
const types = new Map<string, TypeRules>();
for (const packageName of packages) {
  const file = goFileOf(packageName);
  if (file === undefined || !existsSync(file)) continue;
  for (const [name, rules] of readTypes(packageName, readFileSync(file, "utf8"))) types.set(name, rules);
}
const pruned = prune(types);
const lines = [...pruned].map(([name, rules]) => `    ${JSON.stringify(name)}: ${JSON.stringify(rules)}`).join(",\n");
const source = `Kubernetes v${version}, the Go types (Apache-2.0, The Kubernetes Authors); cut down by tools/declarative-rules.ts`;
writeFileSync(rulesFile, `{\n  "source": ${JSON.stringify(source)},\n  "types": {\n${lines}\n  }\n}\n`);
console.log(`${pruned.size} types with rules`);
