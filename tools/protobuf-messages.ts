/**
 * Writes packages/embedded-apiserver/data/protobuf-messages.json: the numbers and types of the fields of the messages
 * that clients exchange with an API server, kubectl's typed clients among them. They come from the generated.proto files
 * beside Kubernetes' Go types (Apache-2.0, The Kubernetes Authors); pointers, whose zero values are left out, from the Go types.
 *
 *   node --conditions=@virtual-kubelet/source tools/protobuf-messages.ts "$(go env GOMODCACHE)/k8s.io" 1.36.3
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiKinds } from "./api-kinds.ts";

/** Messages without an OpenAPI definition of their own: parts of objects, and the documents of discovery. */
const otherKinds: Readonly<Record<string, string>> = {
  "v1 APIGroup": "meta.v1.APIGroup",
  "v1 APIGroupList": "meta.v1.APIGroupList",
  "v1 APIResourceList": "meta.v1.APIResourceList",
  " APIVersions": "meta.v1.APIVersions",
  "apidiscovery.k8s.io/v2 APIGroupDiscoveryList": "apidiscovery.v2.APIGroupDiscoveryList",
  "apidiscovery.k8s.io/v2beta1 APIGroupDiscoveryList": "apidiscovery.v2beta1.APIGroupDiscoveryList",
  "meta.k8s.io/v1 PartialObjectMetadata": "meta.v1.PartialObjectMetadata",
  "meta.k8s.io/v1beta1 PartialObjectMetadata": "meta.v1.PartialObjectMetadata",
  "meta.k8s.io/v1beta1 PartialObjectMetadataList": "meta.v1beta1.PartialObjectMetadataList",
};
const otherRoots = ["meta.v1.DeleteOptions", "meta.v1.ListMeta", ...Object.values(otherKinds)];

/** Messages the reader knows by itself. */
const wellKnown: ReadonlySet<string> = new Set([
  "apiextensions.v1.JSON",
  "runtime.RawExtension",
  "meta.v1.Time",
  "meta.v1.MicroTime",
  "meta.v1.FieldsV1",
  "resource.Quantity",
  "intstr.IntOrString",
]);

type Fields = Record<string, string>;

const fieldLine = /^ {2}(?:(optional|repeated) ([\w.]+)|map<string, ([\w.]+)>) (\w+) = (\d+);$/gm;

const goFieldLine = /^\t(\w+)(?:[ \t]+(\*)?\S+|\.\w+)?[ \t]+`(?:json:"([^",]*)[^"]*" )?[^`]*protobuf:"([^"]*)"/gm;

/** Facts of a package's Go structs, by `Struct.field` with the field's name in its message. */
interface GoFields {
  /**
   * JSON names that differ from the names in the message; empty for embedded structs, which are fields of a message but not of the JSON,
   * such as `Volume.volumeSource`.
   */
  readonly jsonNames: ReadonlyMap<string, string>;
  readonly pointers: ReadonlySet<string>;
}

class ProtoFiles {
  readonly #modules: string;
  readonly #version: string;
  readonly #packages = new Map<string, Map<string, Fields>>();
  readonly #goFields = new Map<string, GoFields>();

  constructor(modules: string, version: string) {
    this.#modules = modules;
    this.#version = version;
  }

  /** @param name - such as `core.v1.Pod` */
  fieldsOf(name: string): Fields {
    const dot = name.lastIndexOf(".");
    const fields = this.#package(name.slice(0, dot)).get(name.slice(dot + 1));
    if (fields === undefined) throw new Error(`message ${name} is in no generated.proto`);
    return fields;
  }

  #package(name: string): Map<string, Fields> {
    const known = this.#packages.get(name);
    if (known !== undefined) return known;
    const messages = new Map<string, Fields>();
    this.#packages.set(name, messages);
    for (const [, message = "", body = ""] of this.#read(name, "generated.proto").matchAll(/^message (\w+) \{\n([\s\S]*?)^\}/gm))
      messages.set(message, this.#fields(name, message, body));
    return messages;
  }

  #fields(packageName: string, message: string, body: string): Fields {
    const fields: Fields = {};
    const { jsonNames, pointers } = this.#goFieldsOf(packageName);
    for (const [, label, plain, mapped, field = "", number = ""] of body.matchAll(fieldLine)) {
      const type = shortType(plain ?? mapped ?? "", packageName);
      const mark = mapped !== undefined ? "map " : label === "repeated" ? "[]" : pointers.has(`${message}.${field}`) ? "*" : "";
      const jsonName = jsonNames.get(`${message}.${field}`) ?? field;
      fields[jsonName === "" ? `...${field}` : jsonName] = `${number} ${mark}${type}`;
    }
    return fields;
  }

  #goFieldsOf(packageName: string): GoFields {
    const known = this.#goFields.get(packageName);
    if (known !== undefined) return known;
    const jsonNames = new Map<string, string>();
    const pointers = new Set<string>();
    this.#goFields.set(packageName, { jsonNames, pointers });
    for (const [, struct = "", body = ""] of this.#read(packageName, "types*.go").matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)) {
      for (const [, go = "", pointer, json, tag = ""] of body.matchAll(goFieldLine)) {
        const name = /name=(\w+)/.exec(tag)?.[1] ?? go.charAt(0).toLowerCase() + go.slice(1);
        if (json !== undefined && name !== json) jsonNames.set(`${struct}.${name}`, json);
        if (pointer !== undefined) pointers.add(`${struct}.${name}`);
      }
    }
    return { jsonNames, pointers };
  }

  /** Text of a file, or of the Go files that declare the types. */
  #read(packageName: string, file: string): string {
    const folder = join(this.#modules, folderOf(packageName, this.#version.slice(2)));
    if (file !== "types*.go") return readFileSync(join(folder, file), "utf8");
    const paths = ["types.go", "types_jsonschema.go"].map((name) => join(folder, name));
    return paths
      .filter((path) => existsSync(path))
      .map((path) => readFileSync(path, "utf8"))
      .join("\n");
  }
}

function folderOf(packageName: string, version: string): string {
  switch (packageName) {
    case "meta.v1":
      return `apimachinery@v0.${version}/pkg/apis/meta/v1`;
    case "meta.v1beta1":
      return `apimachinery@v0.${version}/pkg/apis/meta/v1beta1`;
    case "apiextensions.v1":
      return `apiextensions-apiserver@v0.${version}/pkg/apis/apiextensions/v1`;
    case "apiregistration.v1":
      return `kube-aggregator@v0.${version}/pkg/apis/apiregistration/v1`;
    default:
      return `api@v0.${version}/${packageName.replaceAll(".", "/")}`;
  }
}

function shortType(type: string, packageName: string): string {
  if (/^(string|bytes|bool|int32|int64|double)$/.test(type)) return type;
  const name = type
    .replace(/^\.?k8s\.io\.apimachinery\.pkg\.apis\./, "")
    .replace(/^\.?k8s\.io\.apimachinery\.pkg\.((api|util)\.)?/, "")
    .replace(/^\.?k8s\.io\.api\./, "");
  return name.includes(".") ? name : `${packageName}.${name}`;
}

function elementType(field: string): string {
  return field.replace(/^\d+ (\[\]|map |\*)?/, "");
}

/** The encoder writes lists of all kinds alike. @throws Error if a list has other fields than that */
function checkList(files: ProtoFiles, message: string, kind: string): void {
  const { metadata, items, ...more } = files.fieldsOf(`${message}List`);
  if (metadata !== "1 meta.v1.ListMeta" || items !== `2 []${message}` || Object.keys(more).length > 0)
    throw new Error(`the message of lists of ${kind} differs from that of other lists`);
}

const [modules, version] = process.argv.slice(2);
if (modules === undefined || version === undefined)
  throw new Error(
    "usage: node --conditions=@virtual-kubelet/source tools/protobuf-messages.ts <Go module cache>/k8s.io <Kubernetes version, such as 1.36.3>",
  );
const files = new ProtoFiles(modules, version);
const roots = apiKinds.map(({ group, version: apiVersion, kind, schema }): [type: string, message: string] => [
  `${group === "" ? apiVersion : `${group}/${apiVersion}`} ${kind}`,
  schema.split(".").slice(-3).join("."),
]);
const messages = new Map<string, Fields>();
const open = [...otherRoots, ...roots.map(([, name]) => name)];
for (let name = open.pop(); name !== undefined; name = open.pop()) {
  if (messages.has(name) || !name.includes(".") || wellKnown.has(name)) continue;
  const fields = files.fieldsOf(name);
  messages.set(name, fields);
  open.push(...Object.values(fields).map(elementType));
}
for (const { kind, schema, hasLists } of apiKinds) if (hasLists) checkList(files, schema.split(".").slice(-3).join("."), kind);
const lines = (entries: Iterable<[string, unknown]>): string =>
  [...entries].map(([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)}`).join(",\n");
const source = `Kubernetes v${version}, generated.proto (Apache-2.0, The Kubernetes Authors); cut down by tools/protobuf-messages.ts`;
const sorted = [...messages].toSorted(([a], [b]) => (a < b ? -1 : 1));
const text = `{\n  "source": ${JSON.stringify(source)},\n  "kinds": {\n${lines([...roots, ...Object.entries(otherKinds)])}\n  },\n  "messages": {\n${lines(sorted)}\n  }\n}\n`;
writeFileSync(new URL("../packages/embedded-apiserver/data/protobuf-messages.json", import.meta.url), text);
console.log(`${messages.size} messages, ${text.length} bytes`);
