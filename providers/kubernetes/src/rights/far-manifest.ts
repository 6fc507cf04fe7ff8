import type { BackEndManifest, ExplainedObject } from "@virtual-kubelet/core";
import type { KubernetesConfig } from "../config.ts";
import { shortHash } from "../identity/short-hash.ts";
import { farRules, type FarRule } from "./far-rules.ts";

const group = "rbac.authorization.k8s.io";

/** Namespace of the service account if the pods run in several namespaces. */
const accountNamespace = "virtual-kubelet";

/** Maximum length of a ServiceAccount's name. */
const maxNameLength = 253;

/** Who uses the rights. */
interface Account {
  readonly namespace: string;
  readonly name: string;
}

/** Returns the service account of a virtual node with its rights in the far cluster, for `kubectl apply` there. */
export function farManifest(config: KubernetesConfig, nodeName: string): BackEndManifest {
  const { namespaces } = config;
  const only = namespaces.mode === "one" ? (namespaces.name ?? "default") : undefined;
  const account = { namespace: only ?? accountNamespace, name: accountName(nodeName) };
  const rules = farRules(config);
  const inPods = rules.filter(({ scope }) => scope === "pods");
  const inCluster = rules.filter(({ scope }) => scope === "cluster");
  return {
    head: [...headOf(config, account), ...legendOf(rules)],
    objects: [
      ...(only === undefined ? [namespaceOf(account)] : []),
      {
        why: "the identity with which the virtual node comes to this cluster",
        object: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: account.name, namespace: account.namespace } },
      },
      ...(only === undefined ? [] : inNamespace(only, account, inPods)),
      ...inWholeCluster(account, only === undefined ? [...inPods, ...inCluster] : inCluster),
    ],
  };
}

/** Name of the service account of a virtual node in the far cluster. */
export function accountName(nodeName: string): string {
  const name = `virtual-kubelet-${nodeName}`;
  return name.length <= maxNameLength ? name : `virtual-kubelet.${shortHash(nodeName)}`;
}

function headOf({ namespaces }: KubernetesConfig, { namespace, name }: Account): readonly string[] {
  return [
    "For the cluster that runs the pods, not for the one in which the node is registered:",
    "kubectl --context FAR apply -f -",
    ...(namespaces.mode === "one" && namespaces.name === undefined
      ? ["namespaces.name is not set: the rights are for the namespace default, whatever the kubeconfig's context says."]
      : []),
    `A token for the kubeconfig: kubectl --context FAR -n ${namespace} create token ${name} --duration=24h`,
  ];
}

/** What each right is for. */
function legendOf(rules: readonly FarRule[]): readonly string[] {
  return rules.map(({ why, resources, apiGroups, isOptional }) => {
    const names = resources.map((name) => [name, ...apiGroups].filter(Boolean).join("."));
    return `${names.join(", ")}: ${why}${isOptional ? "; may be left out" : ""}`;
  });
}

function namespaceOf({ namespace }: Account): ExplainedObject {
  return { why: "the namespace of its service account", object: { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } } };
}

function inNamespace(namespace: string, account: Account, rules: readonly FarRule[]): readonly ExplainedObject[] {
  const metadata = { name: `virtual-kubelet:far:${account.name}`, namespace };
  return [
    {
      why: "rights in the namespace of the pods",
      object: { apiVersion: `${group}/v1`, kind: "Role", metadata, rules: rules.map(onTheWire) },
    },
    { why: "grants that to the service account", object: binding("RoleBinding", metadata, "Role", account) },
  ];
}

function inWholeCluster(account: Account, rules: readonly FarRule[]): readonly ExplainedObject[] {
  if (rules.length === 0) return [];
  // Nodes in several namespaces may have one name, and this name is the cluster's.
  const metadata = { name: `virtual-kubelet:far:${account.namespace}:${account.name}` };
  return [
    {
      why: "rights in the whole cluster",
      object: { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata, rules: rules.map(onTheWire) },
    },
    { why: "grants that to the service account", object: binding("ClusterRoleBinding", metadata, "ClusterRole", account) },
  ];
}

function onTheWire({ apiGroups, resources, verbs }: FarRule): object {
  return { apiGroups, resources, verbs };
}

function binding(
  kind: string,
  metadata: { readonly name: string },
  roleKind: string,
  { namespace, name }: Account,
): ExplainedObject["object"] {
  const roleRef = { apiGroup: group, kind: roleKind, name: metadata.name };
  return { apiVersion: `${group}/v1`, kind, metadata, roleRef, subjects: [{ kind: "ServiceAccount", namespace, name }] };
}
