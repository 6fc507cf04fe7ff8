import { ObjectIndex } from "../controllers/shared/object-index.ts";
import type { ApiObject } from "../kinds/kind.ts";
import { namesInPod, type ReferencedKind } from "../kinds/pod/pod-references.ts";
import { podKind } from "../kinds/pod/pod.ts";
import type { PolicyRule } from "../kinds/rbac/rbac-fields.ts";
import { collectionOf, findKind, type RestContext } from "../rest/rest-context.ts";
import { type Access, isResourceAccess, type ResourceAccess } from "./access-request.ts";
import { ruleAllows } from "./policy-rules.ts";

/**
 * Decision of the node authorizer: `undefined` if it allows the request, otherwise the reason for having no opinion, which may be empty.
 */
type NodeOpinion = string | undefined;

/** Allows nodes the access they need for the pods bound to them. */
export interface NodeAuthorizer extends Disposable {
  /** @param node - name of the requesting node; `""` if the user has none */
  decide(node: string, username: string, access: Access): NodeOpinion;
}

const leaseNamespace = "kube-node-lease";
const leaseVerbs: ReadonlySet<string> = new Set(["get", "create", "update", "patch", "delete"]);
const readVerbs: ReadonlySet<string> = new Set(["get", "list", "watch"]);

const mirrorAnnotation = "kubernetes.io/config.mirror";

/** Whether a pod references an object. References of mirror pods do not count. */
function podRefersTo(pod: Readonly<ApiObject>, kind: ReferencedKind, name: string): boolean {
  return pod.metadata.annotations?.[mirrorAnnotation] === undefined && namesInPod(pod, kind).includes(name);
}

/**
 * Creates a node authorizer. It looks up the pods of the node; the real server keeps a graph instead.
 *
 * Source: Kubernetes v1.36.3 plugin/pkg/auth/authorizer/node/node_authorizer.go.
 *
 * @param rules - rules for kinds that are not authorized per object
 */
export function createNodeAuthorizer(context: RestContext, rules: readonly PolicyRule[]): NodeAuthorizer {
  /** Created by the first request of a node. */
  let podsByNode: ObjectIndex | undefined;

  function podsOf(node: string): Readonly<ApiObject>[] {
    podsByNode ??= new ObjectIndex(context.cluster, podKind, (pod) => (pod["spec"].nodeName === undefined ? [] : [pod["spec"].nodeName]));
    return podsByNode.get(node);
  }

  function refersTo(node: string, kind: ReferencedKind, { namespace, name }: ResourceAccess): boolean {
    return podsOf(node).some((pod) => pod.metadata.namespace === namespace && podRefersTo(pod, kind, name));
  }

  function readReferenced(node: string, access: ResourceAccess, kind: "secrets" | "configmaps" | "serviceaccounts"): NodeOpinion {
    if (!readVerbs.has(access.verb)) return "can only read resources of this type";
    if (access.subresource !== "") return "cannot read subresource";
    if (access.namespace === "") return "can only read namespaced object of this type";
    return related(node, access, () => refersTo(node, kind, access));
  }

  function serviceAccount(node: string, access: ResourceAccess): NodeOpinion {
    if (access.verb === "get" && access.subresource === "") return readReferenced(node, access, "serviceaccounts");
    if (access.verb !== "create" || access.name === "") return "can only create tokens for individual service accounts";
    if (access.subresource !== "token") return "can only create token subresource of serviceaccount";
    return related(node, access, () => refersTo(node, "serviceaccounts", access));
  }

  function claim(node: string, access: ResourceAccess): NodeOpinion {
    const isRelated = (): boolean => refersTo(node, "persistentvolumeclaims", access);
    if (access.subresource !== "status") return get(node, access, isRelated);
    if (access.verb !== "update" && access.verb !== "patch") return "can only get/update/patch this type";
    return related(node, access, isRelated);
  }

  /** Whether a claim of the node's pods is bound to the volume. */
  function holdsVolume(node: string, name: string): boolean {
    const reference: unknown = find("", "persistentvolumes", "", name)?.["spec"]?.claimRef;
    const { namespace = "", name: claimName = "" } = (reference ?? {}) as { namespace?: string; name?: string };
    return podsOf(node).some((pod) => pod.metadata.namespace === namespace && podRefersTo(pod, "persistentvolumeclaims", claimName));
  }

  function find(group: string, plural: string, namespace: string, name: string): Readonly<ApiObject> | undefined {
    const kind = findKind(context, group, plural);
    return kind === undefined ? undefined : collectionOf(context, kind).get(namespace, name)?.object;
  }

  function pod(node: string, access: ResourceAccess): NodeOpinion {
    const { verb, subresource, name, fieldValues } = access;
    const isOnNode = (): boolean => find("", "pods", access.namespace, name)?.["spec"]?.nodeName === node;
    switch (subresource) {
      case "":
        if (verb === "create" || verb === "delete") return undefined;
        if (verb === "get") return get(node, access, isOnNode);
        if (verb !== "list" && verb !== "watch") return "";
        if (fieldValues.get("spec.nodeName") === node) return undefined;
        return name === "" ? "can only list/watch pods with spec.nodeName field selector" : related(node, access, isOnNode);
      case "status":
        return verb === "update" || verb === "patch" ? undefined : "";
      case "eviction":
        return verb === "create" ? undefined : "";
      default:
        return "";
    }
  }

  const decisions: Readonly<Record<string, (node: string, access: ResourceAccess) => NodeOpinion>> = {
    "secrets.": (node, access) => readReferenced(node, access, "secrets"),
    "configmaps.": (node, access) => readReferenced(node, access, "configmaps"),
    "serviceaccounts.": serviceAccount,
    "persistentvolumeclaims.": claim,
    "persistentvolumes.": (node, access) => get(node, access, () => holdsVolume(node, access.name)),
    "volumeattachments.storage.k8s.io": (node, access) =>
      get(node, access, () => find("storage.k8s.io", "volumeattachments", "", access.name)?.["spec"]?.nodeName === node),
    "nodes.": ownNode,
    "pods.": pod,
    "leases.coordination.k8s.io": lease,
    "csinodes.storage.k8s.io": csiNode,
  };

  return {
    decide(node, username, access) {
      if (node === "") return `unknown node for user ${JSON.stringify(username)}`;
      if (isResourceAccess(access)) {
        const decide = decisions[`${access.resource}.${access.group}`];
        if (decide !== undefined) return decide(node, access);
      }
      return rules.some((rule) => ruleAllows(rule, access)) ? undefined : "";
    },
    [Symbol.dispose]: () => podsByNode?.[Symbol.dispose](),
  };
}

function get(node: string, access: ResourceAccess, isRelated: () => boolean): NodeOpinion {
  if (access.verb !== "get") return "can only get individual resources of this type";
  if (access.subresource !== "") return "cannot get subresource";
  return related(node, access, isRelated);
}

function related(node: string, { name }: ResourceAccess, isRelated: () => boolean): NodeOpinion {
  if (name === "") return "No Object name found";
  return isRelated() ? undefined : `no relationship found between node '${node}' and this object`;
}

function ownNode(node: string, { verb, subresource, name }: ResourceAccess): NodeOpinion {
  // Admission checks which node it is, because the path of a create request has no name.
  if (verb === "update" || verb === "patch") return subresource === "" || subresource === "status" ? undefined : "";
  if (subresource !== "") return "";
  if (verb === "create") return undefined;
  if (!readVerbs.has(verb)) return "";
  if (name === "") return `node '${node}' cannot read all nodes, only its own Node object`;
  return name === node ? undefined : `node '${node}' cannot read '${name}', only its own Node object`;
}

function lease(node: string, { verb, namespace, name }: ResourceAccess): NodeOpinion {
  if (!leaseVerbs.has(verb)) return "can only get, create, update, patch, or delete a node lease";
  if (namespace !== leaseNamespace) return `can only access leases in the ${JSON.stringify(leaseNamespace)} system namespace`;
  return verb === "create" || name === node ? undefined : "can only access node lease with the same name as the requesting node";
}

function csiNode(node: string, { verb, subresource, name }: ResourceAccess): NodeOpinion {
  if (!leaseVerbs.has(verb)) return "can only get, create, update, patch, or delete a CSINode";
  if (subresource !== "") return "cannot authorize CSINode subresources";
  return verb === "create" || name === node ? undefined : "can only access CSINode with the same name as the requesting node";
}
