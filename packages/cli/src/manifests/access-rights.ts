import type { KubernetesObject } from "@virtual-kubelet/kube-client";
import { createHash } from "node:crypto";

/** What decides which rights a program with some nodes needs. */
export interface AccessNeeds {
  readonly nodes: readonly { readonly name: string; readonly onShutdown: "keep" | "cordon" | "drain" | "delete" }[];
  /** Whether the cluster's id must be read from the namespace kube-system. */
  readonly readsClusterId: boolean;
  /** Whether it makes volumes for claims. Default: `false`. */
  readonly provisionsVolumes?: boolean | undefined;
  /** What the nodes' HTTPS server asks of the API server; absent where there is no server. */
  readonly kubeletApi?: KubeletApiNeeds | undefined;
}

/** What the nodes' HTTPS server asks of the API server. */
export interface KubeletApiNeeds {
  /** Whose a bearer token is. */
  readonly tokenReviews: boolean;
  /** What a caller may do. */
  readonly subjectAccessReviews: boolean;
  /** The authority of client certificates that the cluster publishes. */
  readonly publishedClientCa: boolean;
  /** A serving certificate. */
  readonly servingCertificate: boolean;
}

/** An object, and what it is for. */
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

/** What a program runs as. */
export type RunAs = "node" | "service-account";

const group = "rbac.authorization.k8s.io";
const serviceAccountNamespace = "kube-system";

/** Namespace that Events of objects without a namespace, such as Nodes, are written to. */
const eventNamespace = "default";

/** Longest name of a ServiceAccount: a DNS subdomain. */
const maxAccountNameLength = 253;

/**
 * Rights of a program that runs as `system:node:NAME` of the group `system:nodes`: what the Node authorizer does not grant by itself.
 * Every object bears the node's name, so that no node's rights replace another's. `:` is in no node's name.
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
          { why: "gives that to the node's user", object: clusterRoleBinding(name, user) },
        ]),
  ];
}

/**
 * Rights of a program that runs as a service account. RBAC cannot say "the pods of this node" or "the secrets of these pods", so they
 * are more than the program needs; {@link nodeRights} are not.
 *
 * @param namespaces - the only ones whose pods the program may change and whose secrets it may read; default: all
 */
export function serviceAccountRights(needs: AccessNeeds, namespaces?: readonly string[]): ExplainedObject[] {
  const first = needs.nodes[0]?.name ?? "";
  const name = `virtual-kubelet:serviceaccount:${first}`;
  const account = serviceAccountName(first);
  const subject = { kind: "ServiceAccount", name: account, namespace: serviceAccountNamespace };
  const event: Rule = { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] };
  const roles = [
    ...(namespaces ?? []).map((namespace) => ({ namespace, name, why: "what its pods there need", rules: [...podRules(needs), event] })),
    { namespace: "kube-node-lease", name: `${name}:leases`, why: "its nodes' leases", rules: leaseRules(needs) },
    ...(namespaces === undefined || namespaces.includes(eventNamespace)
      ? []
      : [{ namespace: eventNamespace, name: `${name}:events`, why: "events of its nodes", rules: [event] }]),
  ];
  return [
    {
      why: "the program's service account",
      object: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: account, namespace: serviceAccountNamespace } },
    },
    {
      why: "what it does in the whole cluster",
      object: clusterRole(name, [...clusterRules(needs), ...(namespaces === undefined ? [...podRules(needs), event] : [])]),
    },
    { why: "gives that to the service account", object: clusterRoleBinding(name, subject) },
    ...roles.flatMap(({ namespace, name: roleName, why, rules }) => [
      { why, object: role(namespace, roleName, rules) },
      { why: "gives that to the service account", object: roleBinding(namespace, roleName, roleName, subject) },
    ]),
    ...authenticationReader(name, subject, needs.kubeletApi),
  ];
}

/** The service account of a program whose first node this is. */
export function serviceAccountName(firstNode: string): string {
  const name = `virtual-kubelet-${firstNode}`;
  if (name.length <= maxAccountNameLength) return name;
  const hash = createHash("sha256").update(firstNode).digest("hex").slice(0, 16);
  // With a dot, because another node may be called as the hash is.
  return `virtual-kubelet.${hash}`;
}

function authenticationReader(name: string, subject: Subject, kubeletApi: KubeletApiNeeds | undefined): ExplainedObject[] {
  if (!kubeletApi?.publishedClientCa) return [];
  return [
    {
      why: "the certificate authority of those who call the node",
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
    // The program reads each by its name only. A rule cannot say so, the Node authorizer does.
    { apiGroups: [""], resources: ["secrets", "configmaps"], verbs: ["get", "list", "watch"] },
    { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: ["get"] },
    { apiGroups: [""], resources: ["serviceaccounts/token"], verbs: ["create"] },
  ];
}

/** Source of what the Node authorizer grants of it, which is all: kubernetes v1.36 bootstrappolicy, NodeRules. */
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

/** Source: kubernetes v1.36 plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go, NodeRules: no namespaces, and no delete of nodes. */
function rulesBesideNodeAuthorizer({ nodes, readsClusterId, provisionsVolumes }: AccessNeeds): Rule[] {
  return [...clusterIdRules(readsClusterId), ...deleteNodeRules(nodes), ...provisioningRules(provisionsVolumes)];
}

/** What an external provisioner may do, but for changing claims. Source: `system:persistent-volume-provisioner` of the same file. */
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
