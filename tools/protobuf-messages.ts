/**
 * Writes packages/embedded-apiserver/data/protobuf-messages.json: the numbers and types of the fields of the messages
 * that clients send to an API server, kubectl's typed clients among them. They come from the generated.proto files
 * beside Kubernetes' Go types (Apache-2.0, The Kubernetes Authors).
 *
 *   node tools/protobuf-messages.ts "$(go env GOMODCACHE)/k8s.io" 1.36.3
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** By apiVersion, the kinds that are sent; all they hold comes along. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  v1: [
    "Namespace",
    "Node",
    "Pod",
    "ConfigMap",
    "Secret",
    "ServiceAccount",
    "Service",
    "Event",
    "Binding",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PodTemplate",
    "ReplicationController",
    "Endpoints",
    "LimitRange",
    "ResourceQuota",
  ],
  "apps/v1": ["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
  "authentication.k8s.io/v1": ["TokenRequest", "TokenReview", "SelfSubjectReview"],
  "authorization.k8s.io/v1": ["SubjectAccessReview", "LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview"],
  "autoscaling/v1": ["Scale"],
  "batch/v1": ["CronJob", "Job"],
  "coordination.k8s.io/v1": ["Lease"],
  "policy/v1": ["Eviction", "PodDisruptionBudget"],
  "storage.k8s.io/v1": ["StorageClass"],
  "admissionregistration.k8s.io/v1": ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
  "autoscaling/v2": ["HorizontalPodAutoscaler"],
  "certificates.k8s.io/v1": ["CertificateSigningRequest"],
  "discovery.k8s.io/v1": ["EndpointSlice"],
  "networking.k8s.io/v1": ["Ingress", "IngressClass", "NetworkPolicy"],
  "node.k8s.io/v1": ["RuntimeClass"],
  "rbac.authorization.k8s.io/v1": ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
  "scheduling.k8s.io/v1": ["PriorityClass"],
};

/** Messages the reader knows by itself. */
const wellKnown: ReadonlySet<string> = new Set([
  "meta.v1.Time",
  "meta.v1.MicroTime",
  "meta.v1.FieldsV1",
  "resource.Quantity",
  "intstr.IntOrString",
]);

type Fields = Record<string, string>;

const fieldLine = /^ {2}(?:(optional|repeated) ([\w.]+)|map<string, ([\w.]+)>) (\w+) = (\d+);$/gm;

class ProtoFiles {
  readonly #modules: string;
  readonly #version: string;
  readonly #packages = new Map<string, Map<string, Fields>>();
  readonly #jsonNames = new Map<string, ReadonlyMap<string, string>>();

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
    for (const [, label, plain, mapped, field = "", number = ""] of body.matchAll(fieldLine)) {
      const type = shortType(plain ?? mapped ?? "", packageName);
      const shape = mapped === undefined ? (label === "repeated" ? `[]${type}` : type) : `map ${type}`;
      const jsonName = this.#jsonNamesOf(packageName).get(`${message}.${field}`) ?? field;
      fields[jsonName === "" ? `...${field}` : jsonName] = `${number} ${shape}`;
    }
    return fields;
  }

  /**
   * The JSON names of fields that have another one than their message, by `Struct.field`; empty for embedded structs,
   * which are fields of a message but not of the JSON, such as `Volume.volumeSource`.
   */
  #jsonNamesOf(packageName: string): ReadonlyMap<string, string> {
    const known = this.#jsonNames.get(packageName);
    if (known !== undefined) return known;
    const found = new Map<string, string>();
    this.#jsonNames.set(packageName, found);
    for (const [, struct = "", body = ""] of this.#read(packageName, "types.go").matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)) {
      for (const [, go = "", json = "", tag = ""] of body.matchAll(/^\t(\w+).*`json:"([^",]*)[^"]*" protobuf:"([^"]*)"/gm)) {
        const name = /name=(\w+)/.exec(tag)?.[1] ?? go.charAt(0).toLowerCase() + go.slice(1);
        if (name !== json) found.set(`${struct}.${name}`, json);
      }
    }
    return found;
  }

  #read(packageName: string, file: string): string {
    return readFileSync(join(this.#modules, folderOf(packageName, this.#version.slice(2)), file), "utf8");
  }
}

function folderOf(packageName: string, version: string): string {
  if (packageName === "meta.v1") return `apimachinery@v0.${version}/pkg/apis/meta/v1`;
  return `api@v0.${version}/${packageName.replaceAll(".", "/")}`;
}

function shortType(type: string, packageName: string): string {
  if (/^(string|bytes|bool|int32|int64|double)$/.test(type)) return type;
  const name = type
    .replace(/^\.?k8s\.io\.apimachinery\.pkg\.apis\./, "")
    .replace(/^\.?k8s\.io\.apimachinery\.pkg\.(api|util)\./, "")
    .replace(/^\.?k8s\.io\.api\./, "");
  return name.includes(".") ? name : `${packageName}.${name}`;
}

function elementType(field: string): string {
  return field.replace(/^\d+ (\[\]|map )?/, "");
}

const [modules, version] = process.argv.slice(2);
if (modules === undefined || version === undefined)
  throw new Error("usage: node tools/protobuf-messages.ts <Go module cache>/k8s.io <Kubernetes version, such as 1.36.3>");
const files = new ProtoFiles(modules, version);
const roots = Object.entries(kinds).flatMap(([apiVersion, names]) => {
  const packageName = apiVersion === "v1" ? "core.v1" : apiVersion.replace(/^([^./]+)[^/]*\//, "$1.");
  return names.map((kind): [string, string] => [`${apiVersion} ${kind}`, `${packageName}.${kind}`]);
});
const messages = new Map<string, Fields>();
const open = ["meta.v1.DeleteOptions", ...roots.map(([, name]) => name)];
for (let name = open.pop(); name !== undefined; name = open.pop()) {
  if (messages.has(name) || !name.includes(".") || wellKnown.has(name)) continue;
  const fields = files.fieldsOf(name);
  messages.set(name, fields);
  open.push(...Object.values(fields).map(elementType));
}
const lines = (entries: Iterable<[string, unknown]>): string =>
  [...entries].map(([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)}`).join(",\n");
const source = `Kubernetes v${version}, generated.proto (Apache-2.0, The Kubernetes Authors); cut down by tools/protobuf-messages.ts`;
const sorted = [...messages].toSorted(([a], [b]) => (a < b ? -1 : 1));
const text = `{\n  "source": ${JSON.stringify(source)},\n  "kinds": {\n${lines(roots)}\n  },\n  "messages": {\n${lines(sorted)}\n  }\n}\n`;
writeFileSync(new URL("../packages/embedded-apiserver/data/protobuf-messages.json", import.meta.url), text);
console.log(`${messages.size} messages, ${text.length} bytes`);
