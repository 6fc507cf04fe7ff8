import { ApiStatusError, forbidden, notFound } from "../../errors/api-status-error.ts";
import { equalJson, isJsonObject, type JsonValue } from "../../json/json-value.ts";
import type { ApiMetadata, ApiObject, Kind, ObjectReader } from "../../kinds/kind.ts";
import { nodeKind } from "../../kinds/node/node.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import type { ObjectAddress } from "../../rest/rest-context.ts";

const mirrorAnnotation = "kubernetes.io/config.mirror";
const restrictedNamespace = "node-restriction.kubernetes.io";

/**
 * Labels with the prefix `kubernetes.io` that a kubelet may set on its node. Source: k8s.io/kubelet v0.36.3 pkg/apis/well_known_labels.go.
 */
const kubeletLabels: ReadonlySet<string> = new Set([
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "topology.kubernetes.io/region",
  "topology.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "node.kubernetes.io/instance-type",
  "beta.kubernetes.io/instance-type",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
]);
const kubeletLabelNamespaces = ["kubelet.kubernetes.io", "node.kubernetes.io"] as const;

/** A node that sends a request. */
export interface WritingNode {
  readonly cluster: ObjectReader;
  /** Name of the node. */
  readonly node: string;
}

/**
 * Restricts a node's writes to its own node, lease and pods.
 *
 * Source: Kubernetes v1.36.3 plugin/pkg/admission/noderestriction/admission.go.
 *
 * @param subresource - `""` for the object itself
 * @throws ApiStatusError 403
 */
export function admitNodeWrite(
  writer: WritingNode,
  { kind, subresource }: { readonly kind: Kind; readonly subresource: string },
  object: Readonly<ApiObject>,
  old: Readonly<ApiObject> | undefined,
): void {
  const { node } = writer;
  const refuse = (problem: string): ApiStatusError => forbidden(kind, object.metadata.name ?? "", problem);
  switch (`${kind.plural}.${kind.group}`) {
    case "pods.":
      if (old === undefined) admitMirrorPod(writer, object, refuse);
      else if (subresource === "status") admitPodStatus(node, object, old, refuse);
      return;
    case "nodes.":
      admitNode(node, object, old, refuse);
      return;
    case "leases.coordination.k8s.io":
      if (object.metadata.name !== node) throw refuse("can only access node lease with the same name as the requesting node");
      return;
    case "csinodes.storage.k8s.io":
      if (object.metadata.name !== node) throw refuse("can only access CSINode with the same name as the requesting node");
      return;
    default:
  }
}

/** Restricts a node's deletions to its own pods. @throws ApiStatusError 403 or 404 */
export function admitNodeDeletion({ cluster, node }: WritingNode, { kind, namespace, name }: ObjectAddress): void {
  if (kind === nodeKind && name !== node) throw forbidden(kind, name, `node "${node}" is not allowed to modify node "${name}"`);
  if (kind !== podKind) return;
  const pod = cluster.get(podKind, namespace, name);
  if (pod === undefined) throw notFound(kind, name);
  if (pod["spec"].nodeName !== node) throw forbidden(kind, name, `node "${node}" can only delete pods with spec.nodeName set to itself`);
}

/** Restricts a node's evictions to its own pods. @throws ApiStatusError 403 or 404 */
export function admitNodeEviction({ cluster, node }: WritingNode, { kind, namespace, name }: ObjectAddress): void {
  const pod = cluster.get(podKind, namespace, name);
  if (pod === undefined) throw notFound(kind, name);
  if (pod["spec"].nodeName !== node) throw forbidden(kind, name, `node ${node} can only evict pods with spec.nodeName set to itself`);
}

/** Restricts a node's token requests to its own pods. @throws ApiStatusError 403 or 404 */
export function admitNodeToken({ cluster, node }: WritingNode, { kind, namespace, name }: ObjectAddress, request: JsonValue): void {
  const refuse = (problem: string): ApiStatusError => forbidden(kind, name, problem);
  const spec = isJsonObject(request) && isJsonObject(request["spec"]) ? request["spec"] : {};
  const reference = isJsonObject(spec["boundObjectRef"]) ? spec["boundObjectRef"] : {};
  const { apiVersion, kind: boundKind, name: podName, uid } = reference;
  if (apiVersion !== "v1" || boundKind !== "Pod" || typeof podName !== "string" || podName === "")
    throw refuse("node requested token not bound to a pod");
  if (typeof uid !== "string" || uid === "") throw refuse("node requested token with a pod binding without a uid");
  const pod = cluster.get(podKind, namespace, podName);
  if (pod === undefined) throw notFound(podKind, podName);
  if (pod.metadata.uid !== uid)
    throw refuse(
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  if (pod["spec"].nodeName !== node) throw refuse("node requested token bound to a pod scheduled on a different node");
  admitAudience({ pod, node, refuse }, Array.isArray(spec["audiences"]) ? spec["audiences"].map(String) : []);
}

/** Allows only the audiences that a volume of the pod uses. Other audiences need a permission that no role here grants. */
function admitAudience(
  { pod, node, refuse }: { readonly pod: Readonly<ApiObject>; readonly node: string; readonly refuse: (problem: string) => ApiStatusError },
  audiences: readonly string[],
): void {
  if (audiences.length > 1) throw refuse("node may only request 0 or 1 audiences");
  const [audience = ""] = audiences;
  const volumes: { projected?: { sources?: { serviceAccountToken?: { audience?: string } }[] } }[] = pod["spec"].volumes ?? [];
  const wanted = volumes.some((volume) =>
    volume.projected?.sources?.some(
      ({ serviceAccountToken }) => serviceAccountToken !== undefined && (serviceAccountToken.audience ?? "") === audience,
    ),
  );
  if (!wanted)
    throw refuse(
      `audience ${JSON.stringify(audience)} not found in pod spec volume, system:node:${node} is not authorized to request tokens for this audience`,
    );
}

function admitMirrorPod({ cluster, node }: WritingNode, pod: Readonly<ApiObject>, refuse: (problem: string) => ApiStatusError): void {
  const self = `node "${node}" can only create`;
  if (pod.metadata.annotations?.[mirrorAnnotation] === undefined)
    throw refuse(`pod does not have "${mirrorAnnotation}" annotation, ${self} mirror pods`);
  if (pod["spec"].nodeName !== node) throw refuse(`${self} pods with spec.nodeName set to itself`);
  const owners = pod.metadata.ownerReferences ?? [];
  const [owner] = owners;
  if (owners.length > 1) throw refuse(`${self} pods with a single owner reference set to itself`);
  if (owner === undefined || owner.apiVersion !== "v1" || owner.kind !== "Node" || owner.name !== node)
    throw refuse(`${self} pods with an owner reference set to itself`);
  if (owner.controller !== true) throw refuse(`${self} pods with a controller owner reference set to itself`);
  if (owner.blockOwnerDeletion === true) throw refuse(`node "${node}" must not set blockOwnerDeletion on an owner reference`);
  const own = cluster.get(nodeKind, undefined, node);
  if (own === undefined) throw notFound(nodeKind, node);
  if (own.metadata.uid !== owner.uid) throw refuse(`node ${node} UID mismatch: expected ${owner.uid} got ${own.metadata.uid}`);
  const account: unknown = pod["spec"].serviceAccountName;
  if (account !== undefined) throw refuse(`node "${node}" can not create pods that reference serviceaccounts`);
}

function admitPodStatus(
  node: string,
  pod: Readonly<ApiObject>,
  old: Readonly<ApiObject>,
  refuse: (problem: string) => ApiStatusError,
): void {
  if (old["spec"].nodeName !== node) throw refuse(`node "${node}" can only update pod status for pods with spec.nodeName set to itself`);
  if (!equalJson(pod.metadata.labels ?? {}, old.metadata.labels ?? {}))
    throw refuse(`node "${node}" cannot update labels through pod status`);
}

function admitNode(
  self: string,
  node: Readonly<ApiObject>,
  old: Readonly<ApiObject> | undefined,
  refuse: (problem: string) => ApiStatusError,
): void {
  const { metadata } = node;
  if (metadata.name !== self) throw refuse(`node "${self}" is not allowed to modify node "${metadata.name}"`);
  const labels = forbiddenLabels(metadata, old?.metadata);
  if (old === undefined) {
    if (labels.length > 0) throw refuse(`node "${self}" is not allowed to set the following labels: ${labels.join(", ")}`);
    return;
  }
  if (!equalJson(node["spec"].taints ?? [], old["spec"].taints ?? [])) throw refuse(`node "${self}" is not allowed to modify taints`);
  if (!equalJson(metadata.ownerReferences ?? [], old.metadata.ownerReferences ?? []))
    throw refuse(`node "${self}" is not allowed to modify ownerReferences`);
  if (labels.length > 0) throw refuse(`is not allowed to modify labels: ${labels.join(", ")}`);
}

function forbiddenLabels({ labels = {} }: Readonly<ApiMetadata>, old: Readonly<ApiMetadata> | undefined): string[] {
  const before = old?.labels ?? {};
  const changed = [...new Set([...Object.keys(labels), ...Object.keys(before)])].filter((key) => labels[key] !== before[key]);
  return changed.filter(isForbiddenLabel).toSorted();
}

function isForbiddenLabel(key: string): boolean {
  const slash = key.indexOf("/");
  const namespace = slash < 0 ? "" : key.slice(0, slash);
  const isWithin = (domain: string): boolean => namespace === domain || namespace.endsWith(`.${domain}`);
  if (isWithin(restrictedNamespace)) return true;
  if (!isWithin("kubernetes.io") && !isWithin("k8s.io")) return false;
  return !kubeletLabels.has(key) && !kubeletLabelNamespaces.some(isWithin);
}
