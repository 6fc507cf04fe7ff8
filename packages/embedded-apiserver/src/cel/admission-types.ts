import { dynType, listType, mapType, stringType, type CelType } from "./types.ts";

type Fields = Readonly<Record<string, CelType>>;

const object = (name: string): CelType => ({ kind: "object", name: `kubernetes.${name}` });
const bool: CelType = { kind: "bool" };
const int: CelType = { kind: "int" };
const timestamp: CelType = { kind: "timestamp" };
const strings = (...names: readonly string[]): Fields => Object.fromEntries(names.map((name) => [name, stringType]));

/**
 * Fields of the types of `request` and `namespaceObject`.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/admission/plugin/cel/compile.go.
 */
export const admissionTypes: Readonly<Record<string, Fields>> = {
  "kubernetes.GroupVersionKind": strings("group", "version", "kind"),
  "kubernetes.GroupVersionResource": strings("group", "version", "resource"),
  "kubernetes.UserInfo": { ...strings("username", "uid"), groups: listType(stringType), extra: mapType(stringType, listType(stringType)) },
  "kubernetes.AdmissionRequest": {
    kind: object("GroupVersionKind"),
    resource: object("GroupVersionResource"),
    requestKind: object("GroupVersionKind"),
    requestResource: object("GroupVersionResource"),
    ...strings("subResource", "requestSubResource", "name", "namespace", "operation"),
    userInfo: object("UserInfo"),
    dryRun: bool,
    options: { kind: "dyn" },
  },
  "kubernetes.NamespaceSpec": { finalizers: listType(stringType) },
  "kubernetes.NamespaceCondition": { ...strings("status", "type", "message", "reason"), lastTransitionTime: timestamp },
  "kubernetes.NamespaceStatus": { conditions: listType(object("NamespaceCondition")), phase: stringType },
  "kubernetes.NamespaceMetadata": {
    ...strings("name", "generateName", "namespace", "UID", "resourceVersion"),
    labels: mapType(stringType, stringType),
    annotations: mapType(stringType, stringType),
    creationTimestamp: timestamp,
    deletionTimestamp: timestamp,
    deletionGracePeriodSeconds: int,
    generation: int,
    finalizers: listType(stringType),
  },
  "kubernetes.Namespace": { metadata: object("NamespaceMetadata"), spec: object("NamespaceSpec"), status: object("NamespaceStatus") },
};

/** Source: k8s.io/apiserver v0.36.3 pkg/cel/mutation/jsonpatch.go. */
const jsonPatchFields: Fields = { ...strings("op", "path", "from"), value: dynType };

/**
 * Whether a mutation can create messages of a type: `JSONPatch`, `Object`, and a type such as `Object.spec` for each path.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/cel/mutation/typeresolver.go.
 */
export function isPatchType(type: string): boolean {
  return type === "JSONPatch" || type === "Object" || type.startsWith("Object.");
}

/** Type of a field of a patch; objects may have all fields. `undefined` if the type is no patch. */
export function patchFieldType(type: string, field: string): CelType | undefined {
  // The real server has a type without a name for unknown fields.
  if (type === "JSONPatch") return jsonPatchFields[field] ?? { kind: "object", name: "" };
  return isPatchType(type) ? dynType : undefined;
}
