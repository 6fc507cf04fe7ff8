import type { KubernetesObject } from "@virtual-kubelet/kube-client";
import { createHash } from "node:crypto";

/** Determines the access rights that a program needs. */
export interface AccessNeeds {
  readonly nodes: readonly { readonly name: string; readonly onShutdown: "keep" | "cordon" | "drain" | "delete" }[];
  /** Whether the cluster's ID must be read from the namespace kube-system. */
  readonly readsClusterId: boolean;
  /** Whether it provisions volumes for claims. Default: false. */
  readonly provisionsVolumes?: boolean | undefined;
  /** What the nodes' HTTPS server needs from the API server; `undefined` if there is no server. */
  readonly kubeletApi?: KubeletApiNeeds | undefined;
}

/** What the nodes' HTTPS server needs from the API server. */
export interface KubeletApiNeeds {
  /** Authenticate bearer tokens. */
  readonly tokenReviews: boolean;
  /** Authorize callers. */
  readonly subjectAccessReviews: boolean;
  /** Read the CA of client certificates that the cluster publishes. */
  readonly publishedClientCa: boolean;
  /** Request a serving certificate. */
  readonly servingCertificate: boolean;
}

/** An object with a comment about its purpose. */
export interface ExplainedObject {
  readonly why: string;
  readonly object: KubernetesObject & Readonly<Record<string, unknown>>;
}

interface Subject {
  readonly kind: string;
  readonly name: string;
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** Rules in one namespace, or in the whole cluster. */
interface ScopedRules {
  /** `undefined` for the whole cluster. */
  readonly namespace: string | undefined;
  /** Suffix of the name of the role. */
  readonly suffix: string;
  readonly why: string;
  readonly rules: readonly Rule[];
}

/** One access that the program needs, as a SelfSubjectAccessReview names it. */
export interface NeededAccess {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
  /** `undefined` for all namespaces, and for objects without a namespace. */
  readonly namespace?: string | undefined;
  /** `undefined` for all objects. */
  readonly name?: string | undefined;
}

/** Identity that a program runs as. */
export type RunAs = "node" | "service-account";

const group = "rbac.authorization.k8s.io";
/** Namespace of the service account, and of a Deployment that uses it. */
export const accountNamespace = "kube-system";

/** Namespace for Events of objects without a namespace, such as Nodes. */
const eventNamespace = "default";

/** Maximum length of a ServiceAccount's name: a DNS subdomain. */
const maxAccountNameLength = 253;

/**
 * Rights of a program that runs as `system:node:NAME` of the group `system:nodes`, in addition to those that the Node authorizer grants.
 * Every object's name contains the node's, so that the rights of several nodes do not replace one another. `:` cannot occur in a node's
 * name.
 */
export function nodeRights(node: AccessNeeds["nodes"][number], needs: Omit<AccessNeeds, "nodes">): ExplainedObject[] {
  const name = `virtual-kubelet:node:${node.name}`;
  const user = { kind: "User", apiGroup: group, name: `system:node:${node.name}` };
  const rules = rulesBesideNodeAuthorizer({ ...needs, nodes: [node] });
  return [
    ...authenticationReader(name, user, needs.kubeletApi),
    ...(rules.length === 0
      ? []
      : [
          { why: "what the Node authorizer does not grant", object: clusterRole(name, rules) },
          { why: "grants that to the node's user", object: clusterRoleBinding(name, user) },
        ]),
  ];
}

/**
 * Rights of a program that runs as a service account. They exceed what the program needs, because RBAC cannot express "the pods of this
 * node" or "the secrets of these pods"; {@link nodeRights} do not.
 *
 * @param namespaces - restricts the program to pods and secrets in these namespaces; default: all
 */
export function serviceAccountRights(needs: AccessNeeds, namespaces?: readonly string[]): ExplainedObject[] {
  const first = needs.nodes[0]?.name ?? "";
  const name = `virtual-kubelet:serviceaccount:${first}`;
  const account = serviceAccountName(first);
  const subject = { kind: "ServiceAccount", name: account, namespace: accountNamespace };
  const [inCluster, ...inNamespaces] = scopedRules(needs, namespaces);
  return [
    {
      why: "the program's service account",
      object: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: account, namespace: accountNamespace } },
    },
    { why: inCluster.why, object: clusterRole(name, inCluster.rules) },
    { why: "grants that to the service account", object: clusterRoleBinding(name, subject) },
    ...inNamespaces.flatMap(({ namespace, suffix, why, rules }) => [
      { why, object: role(namespace, `${name}${suffix}`, rules) },
      { why: "grants that to the service account", object: roleBinding(namespace, `${name}${suffix}`, `${name}${suffix}`, subject) },
    ]),
    ...authenticationReader(name, subject, needs.kubeletApi),
  ];
}

/**
 * Every single access that the program needs: what {@link serviceAccountRights} grants, one by one.
 *
 * @param namespaces - namespaces of the program's pods; default: all
 */
export function neededAccess(needs: AccessNeeds, namespaces?: readonly string[]): NeededAccess[] {
  const readers = needs.kubeletApi?.publishedClientCa ? [{ namespace: "kube-system", rules: [authenticationReaderRule] }] : [];
  return [...scopedRules(needs, namespaces), ...readers].flatMap(({ namespace, rules }) =>
    rules.flatMap((rule) => accessesOf(rule, namespace)),
  );
}

function accessesOf({ apiGroups, resources, verbs, resourceNames }: Rule, namespace: string | undefined): NeededAccess[] {
  const names = resourceNames ?? [undefined];
  return apiGroups.flatMap((apiGroup) =>
    resources.flatMap((path) => {
      const [resource = "", subresource] = path.split("/");
      return verbs.flatMap((verb) => names.map((name) => ({ verb, group: apiGroup, resource, subresource, namespace, name })));
    }),
  );
}

/** The rules of a service account: first those in the whole cluster, then those in single namespaces. */
function scopedRules(
  needs: AccessNeeds,
  namespaces: readonly string[] | undefined,
): [ScopedRules, ...(ScopedRules & { readonly namespace: string })[]] {
  const event: Rule = { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] };
  const ofPods = [...podRules(needs), event];
  return [
    {
      namespace: undefined,
      suffix: "",
      why: "rights in the whole cluster",
      rules: [...clusterRules(needs), ...(namespaces === undefined ? ofPods : [])],
    },
    ...(namespaces ?? []).map((namespace) => ({ namespace, suffix: "", why: "rights for its pods there", rules: ofPods })),
    { namespace: "kube-node-lease", suffix: ":leases", why: "its nodes' leases", rules: leaseRules(needs) },
    ...(namespaces === undefined || namespaces.includes(eventNamespace)
      ? []
      : [{ namespace: eventNamespace, suffix: ":events", why: "rights for events of its nodes", rules: [event] }]),
  ];
}

/** Source: kubernetes v1.36 bootstrappolicy, the role `extension-apiserver-authentication-reader` in kube-system. */
const authenticationReaderRule: Rule = {
  apiGroups: [""],
  resources: ["configmaps"],
  resourceNames: ["extension-apiserver-authentication"],
  verbs: ["get", "list", "watch"],
};

/** Name of a program's service account, derived from its first node. */
export function serviceAccountName(firstNode: string): string {
  const name = `virtual-kubelet-${firstNode}`;
  if (name.length <= maxAccountNameLength) return name;
  const hash = createHash("sha256").update(firstNode).digest("hex").slice(0, 16);
  // The dot prevents a clash with a node whose name is the hash.
  return `virtual-kubelet.${hash}`;
}

function authenticationReader(name: string, subject: Subject, kubeletApi: KubeletApiNeeds | undefined): ExplainedObject[] {
  if (!kubeletApi?.publishedClientCa) return [];
  return [
    {
      why: "the CA of the node's callers",
      object: roleBinding("kube-system", `${name}:authentication`, "extension-apiserver-authentication-reader", subject),
    },
  ];
}

function clusterRules({ nodes, readsClusterId, provisionsVolumes, kubeletApi }: AccessNeeds): Rule[] {
  const names = nodes.map((node) => node.name);
  return [
    { apiGroups: [""], resources: ["nodes"], verbs: ["create"] },
    { apiGroups: [""], resources: ["nodes"], resourceNames: names, verbs: ["get", "list", "watch", "patch"] },
    { apiGroups: [""], resources: ["nodes/status"], resourceNames: names, verbs: ["patch"] },
    ...deleteNodeRules(nodes),
    { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] },
    { apiGroups: [""], resources: ["services"], verbs: ["list", "watch"] },
    { apiGroups: [""], resources: ["persistentvolumes"], verbs: ["get"] },
    ...kubeletApiRules(kubeletApi),
    ...clusterIdRules(readsClusterId),
    ...provisioningRules(provisionsVolumes),
  ];
}

function podRules({ nodes }: AccessNeeds): Rule[] {
  const drains = nodes.some(({ onShutdown }) => onShutdown === "drain");
  return [
    { apiGroups: [""], resources: ["pods"], verbs: ["delete"] },
    { apiGroups: [""], resources: ["pods/status"], verbs: ["patch"] },
    ...(drains ? [{ apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"] }] : []),
    // The program reads each object by name only, which a rule cannot express, but the Node authorizer enforces.
    { apiGroups: [""], resources: ["secrets", "configmaps"], verbs: ["get", "list", "watch"] },
    { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: ["get"] },
    { apiGroups: [""], resources: ["serviceaccounts/token"], verbs: ["create"] },
  ];
}

/** The Node authorizer grants all of these. Source: kubernetes v1.36 bootstrappolicy, NodeRules. */
function kubeletApiRules(needs: KubeletApiNeeds | undefined): Rule[] {
  const certificates = { apiGroups: ["certificates.k8s.io"], resources: ["certificatesigningrequests"] };
  return [
    ...(needs?.tokenReviews ? [{ apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] }] : []),
    ...(needs?.subjectAccessReviews
      ? [{ apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] }]
      : []),
    ...(needs?.servingCertificate ? [{ ...certificates, verbs: ["create", "get", "list", "watch"] }] : []),
  ];
}

function leaseRules({ nodes }: AccessNeeds): Rule[] {
  const names = nodes.map((node) => node.name);
  const deleted = namesToDelete(nodes);
  const lease = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };
  return [
    { ...lease, verbs: ["create"] },
    { ...lease, resourceNames: names, verbs: ["get", "update"] },
    ...(deleted.length > 0 ? [{ ...lease, resourceNames: deleted, verbs: ["delete"] }] : []),
  ];
}

/**
 * Source: kubernetes v1.36 plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go, NodeRules: it grants neither namespaces nor deletion
 * of nodes.
 */
function rulesBesideNodeAuthorizer({ nodes, readsClusterId, provisionsVolumes }: AccessNeeds): Rule[] {
  return [...clusterIdRules(readsClusterId), ...deleteNodeRules(nodes), ...provisioningRules(provisionsVolumes)];
}

/** Rights of an external provisioner, except changing claims. Source: `system:persistent-volume-provisioner` of the same file. */
function provisioningRules(provisionsVolumes = false): Rule[] {
  if (!provisionsVolumes) return [];
  return [
    { apiGroups: [""], resources: ["persistentvolumes"], verbs: ["get", "list", "watch", "create", "delete"] },
    { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: ["get", "list", "watch"] },
    { apiGroups: ["storage.k8s.io"], resources: ["storageclasses"], verbs: ["get"] },
  ];
}

function clusterIdRules(readsClusterId: boolean): Rule[] {
  return readsClusterId ? [{ apiGroups: [""], resources: ["namespaces"], resourceNames: ["kube-system"], verbs: ["get"] }] : [];
}

function deleteNodeRules(nodes: AccessNeeds["nodes"]): Rule[] {
  const names = namesToDelete(nodes);
  return names.length > 0 ? [{ apiGroups: [""], resources: ["nodes"], resourceNames: names, verbs: ["delete"] }] : [];
}

function namesToDelete(nodes: AccessNeeds["nodes"]): string[] {
  return nodes.filter(({ onShutdown }) => onShutdown === "delete").map((node) => node.name);
}

function clusterRole(name: string, rules: readonly Rule[]): ExplainedObject["object"] {
  return { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: { name }, rules };
}

function clusterRoleBinding(name: string, subject: Subject): ExplainedObject["object"] {
  const roleRef = { apiGroup: group, kind: "ClusterRole", name };
  return { apiVersion: `${group}/v1`, kind: "ClusterRoleBinding", metadata: { name }, roleRef, subjects: [subject] };
}

function role(namespace: string, name: string, rules: readonly Rule[]): ExplainedObject["object"] {
  return { apiVersion: `${group}/v1`, kind: "Role", metadata: { name, namespace }, rules };
}

function roleBinding(namespace: string, name: string, roleName: string, subject: Subject): ExplainedObject["object"] {
  const roleRef = { apiGroup: group, kind: "Role", name: roleName };
  return { apiVersion: `${group}/v1`, kind: "RoleBinding", metadata: { name, namespace }, roleRef, subjects: [subject] };
}
