import type { ExplainedObject, NeededRights } from "@virtual-kubelet/core";
import { createHash } from "node:crypto";

/** Determines the access rights that a program needs. */
export interface AccessNeeds {
  readonly nodes: readonly NeededNode[];
  /** Whether several instances share the nodes, which have Leases besides those of the nodes. Default: false. */
  readonly sharesNodes?: boolean | undefined;
  /** Whether the cluster's ID must be read from the namespace kube-system. */
  readonly readsClusterId: boolean;
  /** Whether it provisions volumes for claims. Default: false. */
  readonly provisionsVolumes?: boolean | undefined;
  /** Rights that the providers use themselves. Default: none. */
  readonly providerRights?: readonly NeededRights[] | undefined;
  /** What the nodes' HTTPS server needs from the API server; `undefined` if there is no server. */
  readonly kubeletApi?: KubeletApiNeeds | undefined;
}

/** A configured node. */
interface NeededNode {
  readonly name: string;
  readonly onShutdown: "keep" | "cordon" | "drain" | "delete";
  /** Whether there is a virtual node for each node of the back end, whose names are not known in advance. Default: false. */
  readonly discovers?: boolean | undefined;
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

interface Subject {
  readonly kind: string;
  readonly name: string;
}

type Rule = NeededRights["rules"][number];

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
    ...providerScopes(needs).flatMap((scope) => boundRole(scope, name, user, "grants that to the node's user")),
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
    ...inNamespaces.flatMap((scope) => boundRole(scope, name, subject, "grants that to the service account")),
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

/** A role in a namespace, and its binding. */
function boundRole(
  { namespace, suffix, why, rules }: ScopedRules & { readonly namespace: string },
  name: string,
  subject: Subject,
  grant: string,
): ExplainedObject[] {
  return [
    { why, object: role(namespace, `${name}${suffix}`, rules) },
    { why: grant, object: roleBinding(namespace, `${name}${suffix}`, `${name}${suffix}`, subject) },
  ];
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
    ...providerScopes(needs),
  ];
}

/** What the providers use themselves in single namespaces. */
function providerScopes({ providerRights = [] }: Pick<AccessNeeds, "providerRights">): (ScopedRules & { readonly namespace: string })[] {
  const byNamespace = Map.groupBy(providerRights, ({ namespace }) => namespace);
  return [...byNamespace].flatMap(([namespace, rights]) =>
    namespace === undefined ? [] : [{ namespace, suffix: ":provider", why: whyOf(rights), rules: rights.flatMap(({ rules }) => rules) }],
  );
}

/** What the providers use themselves in the whole cluster. */
function providerRules({ providerRights = [] }: Pick<AccessNeeds, "providerRights">): Rule[] {
  return providerRights.filter(({ namespace }) => namespace === undefined).flatMap(({ rules }) => rules);
}

function whyOf(rights: readonly NeededRights[]): string {
  return `the provider ${[...new Set(rights.map(({ why }) => why))].join(", and ")}`;
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

function clusterRules(needs: AccessNeeds): Rule[] {
  const { nodes, readsClusterId, provisionsVolumes, kubeletApi } = needs;
  return [
    { apiGroups: [""], resources: ["nodes"], verbs: ["create"] },
    ...ofNodes(nodes, { apiGroups: [""], resources: ["nodes"] }, ["get", "list", "watch", "patch"]),
    ...ofNodes(nodes, { apiGroups: [""], resources: ["nodes/status"] }, ["patch"]),
    ...deleteNodeRules(nodes),
    { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] },
    { apiGroups: [""], resources: ["services"], verbs: ["list", "watch"] },
    { apiGroups: [""], resources: ["persistentvolumes"], verbs: ["get"] },
    ...kubeletApiRules(kubeletApi),
    ...clusterIdRules(readsClusterId),
    ...provisioningRules(provisionsVolumes),
    ...providerRules(needs),
  ];
}

/** Rights for objects that are called like the nodes: by name as far as the names are known. */
function ofNodes(nodes: AccessNeeds["nodes"], objects: Pick<Rule, "apiGroups" | "resources">, verbs: readonly string[]): Rule[] {
  const names = nodes.filter(({ discovers }) => discovers !== true).map(({ name }) => name);
  return [
    ...(names.length > 0 ? [{ ...objects, resourceNames: names, verbs }] : []),
    ...(names.length < nodes.length ? [{ ...objects, verbs }] : []),
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

function leaseRules({ nodes, sharesNodes = false }: AccessNeeds): Rule[] {
  const lease = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };
  // The Leases of instances have names that are not known in advance, and a watch by label cannot be restricted to names.
  if (sharesNodes) return [{ ...lease, verbs: ["create", "get", "list", "watch", "update", "delete"] }];
  return [{ ...lease, verbs: ["create"] }, ...ofNodes(nodes, lease, ["get", "update"]), ...ofNodes(deletable(nodes), lease, ["delete"])];
}

/**
 * Source: kubernetes v1.36 plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go, NodeRules: it grants neither namespaces nor deletion
 * of nodes.
 */
function rulesBesideNodeAuthorizer(needs: AccessNeeds): Rule[] {
  const { nodes, readsClusterId, provisionsVolumes } = needs;
  return [...clusterIdRules(readsClusterId), ...deleteNodeRules(nodes), ...provisioningRules(provisionsVolumes), ...providerRules(needs)];
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
  return ofNodes(deletable(nodes), { apiGroups: [""], resources: ["nodes"] }, ["delete"]);
}

/** Nodes that the program deletes: at its end, or when their counterpart at the back end is gone. */
function deletable(nodes: AccessNeeds["nodes"]): AccessNeeds["nodes"] {
  return nodes.filter(({ onShutdown, discovers }) => onShutdown === "delete" || discovers === true);
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
