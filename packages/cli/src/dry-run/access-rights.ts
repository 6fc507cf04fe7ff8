import type { KubernetesObject } from "@virtual-kubelet/kube-client";

/** What decides which rights a program with some nodes needs. */
export interface AccessNeeds {
  readonly nodes: readonly { readonly name: string; readonly onShutdown: "keep" | "cordon" | "drain" | "delete" }[];
  /** Whether the cluster's id must be read from the namespace kube-system. */
  readonly readsClusterId: boolean;
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

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

const name = "virtual-kubelet";
const serviceAccountNamespace = "kube-system";
const serviceAccount = { kind: "ServiceAccount", name, namespace: serviceAccountNamespace };
const group = "rbac.authorization.k8s.io";

/**
 * The least rights the program needs, in two ways to run it: as a service account, and as `system:node:NAME` under the
 * Node authorizer, which grants nearly all of it by itself.
 */
export function accessRights(needs: AccessNeeds): ExplainedObject[] {
  const users = needs.nodes.map((node) => ({ kind: "User", apiGroup: group, name: `system:node:${node.name}` }));
  const nodeRules = rulesBesideNodeAuthorizer(needs);
  return [
    {
      why: "the program as a service account",
      object: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: serviceAccountNamespace } },
    },
    { why: "what it does in the whole cluster", object: clusterRole(name, clusterRules(needs)) },
    { why: "gives that to the service account", object: clusterRoleBinding(name, [serviceAccount]) },
    { why: "its nodes' leases", object: role("kube-node-lease", leaseRules(needs)) },
    { why: "gives that to the service account", object: roleBinding("kube-node-lease", name, "Role", name, [serviceAccount]) },
    ...(needs.kubeletApi?.publishedClientCa
      ? [
          {
            why: "the certificate authority of those who call the node; for both ways to run it",
            object: roleBinding("kube-system", `${name}-authentication-reader`, "Role", "extension-apiserver-authentication-reader", [
              serviceAccount,
              ...users,
            ]),
          },
        ]
      : []),
    ...(nodeRules.length === 0
      ? []
      : [
          {
            why: "the program as system:node:NAME, group system:nodes: what the Node authorizer does not give",
            object: clusterRole(`${name}-node`, nodeRules),
          },
          { why: "gives that to the nodes' users", object: clusterRoleBinding(`${name}-node`, users) },
        ]),
  ];
}

function clusterRules({ nodes, readsClusterId, kubeletApi }: AccessNeeds): Rule[] {
  const names = nodes.map((node) => node.name);
  const drains = nodes.some(({ onShutdown }) => onShutdown === "drain");
  return [
    { apiGroups: [""], resources: ["nodes"], verbs: ["create"] },
    { apiGroups: [""], resources: ["nodes"], resourceNames: names, verbs: ["get", "list", "watch", "patch"] },
    { apiGroups: [""], resources: ["nodes/status"], resourceNames: names, verbs: ["patch"] },
    ...deleteNodeRules(nodes),
    { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch", "delete"] },
    { apiGroups: [""], resources: ["pods/status"], verbs: ["patch"] },
    ...(drains ? [{ apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"] }] : []),
    // Each by its name only; a rule cannot say so, the Node authorizer does.
    { apiGroups: [""], resources: ["secrets", "configmaps"], verbs: ["get", "list", "watch"] },
    { apiGroups: [""], resources: ["serviceaccounts/token"], verbs: ["create"] },
    { apiGroups: [""], resources: ["services"], verbs: ["list", "watch"] },
    { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
    ...kubeletApiRules(kubeletApi),
    ...clusterIdRules(readsClusterId),
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
function rulesBesideNodeAuthorizer({ nodes, readsClusterId }: AccessNeeds): Rule[] {
  return [...clusterIdRules(readsClusterId), ...deleteNodeRules(nodes)];
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

function clusterRole(roleName: string, rules: readonly Rule[]): ExplainedObject["object"] {
  return { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: { name: roleName }, rules };
}

function clusterRoleBinding(roleName: string, subjects: readonly object[]): ExplainedObject["object"] {
  return {
    apiVersion: `${group}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: roleName },
    roleRef: { apiGroup: group, kind: "ClusterRole", name: roleName },
    subjects,
  };
}

function role(namespace: string, rules: readonly Rule[]): ExplainedObject["object"] {
  return { apiVersion: `${group}/v1`, kind: "Role", metadata: { name, namespace }, rules };
}

function roleBinding(
  namespace: string,
  bindingName: string,
  kind: string,
  roleName: string,
  subjects: readonly object[],
): ExplainedObject["object"] {
  return {
    apiVersion: `${group}/v1`,
    kind: "RoleBinding",
    metadata: { name: bindingName, namespace },
    roleRef: { apiGroup: group, kind, name: roleName },
    subjects,
  };
}
