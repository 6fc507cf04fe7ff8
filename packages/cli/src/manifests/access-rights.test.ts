import { expect, test } from "vitest";
import type { ExplainedObject } from "@virtual-kubelet/core";
import { neededAccess, nodeRights, serviceAccountName, serviceAccountRights, type AccessNeeds } from "./access-rights.ts";

/** Every right a role gives, as `verb resource[name]`, sorted. */
function rightsOf(objects: readonly ExplainedObject[], kind: string, name: string, namespace?: string): string[] {
  const found = objects.find(
    ({ object }) => object.kind === kind && object.metadata?.name === name && object.metadata.namespace === namespace,
  );
  const rules = (found?.object["rules"] ?? []) as { resources: string[]; verbs: string[]; resourceNames?: string[] }[];
  return rules
    .flatMap(({ resources, verbs, resourceNames }) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}${resourceNames ? `[${resourceNames.join()}]` : ""}`)),
    )
    .sort();
}

const kubeletApi = { tokenReviews: true, subjectAccessReviews: true, publishedClientCa: true, servingCertificate: true };
const keep: AccessNeeds = { nodes: [{ name: "vk", onShutdown: "keep" }], readsClusterId: true, kubeletApi };
const [vk = { name: "", onShutdown: "keep" as const }] = keep.nodes;
const accountRole = "virtual-kubelet:serviceaccount:vk";
const clusterRights = (needs: AccessNeeds): string[] => rightsOf(serviceAccountRights(needs), "ClusterRole", accountRole);

test("a service account has no more than what it needs", () => {
  expect(clusterRights(keep)).toEqual([
    "create certificatesigningrequests",
    "create events",
    "create nodes",
    "create serviceaccounts/token",
    "create subjectaccessreviews",
    "create tokenreviews",
    "delete pods",
    "get certificatesigningrequests",
    "get configmaps",
    "get namespaces[kube-system]",
    "get nodes[vk]",
    "get persistentvolumeclaims",
    "get persistentvolumes",
    "get pods",
    "get secrets",
    "list certificatesigningrequests",
    "list configmaps",
    "list nodes[vk]",
    "list pods",
    "list secrets",
    "list services",
    "patch events",
    "patch nodes/status[vk]",
    "patch nodes[vk]",
    "patch pods/status",
    "watch certificatesigningrequests",
    "watch configmaps",
    "watch nodes[vk]",
    "watch pods",
    "watch secrets",
    "watch services",
  ]);
  expect(rightsOf(serviceAccountRights(keep), "Role", `${accountRole}:leases`, "kube-node-lease")).toEqual([
    "create leases",
    "get leases[vk]",
    "update leases[vk]",
  ]);
});

test("instances that share nodes watch the leases of their group, and remove those of dead instances", () => {
  expect(rightsOf(serviceAccountRights({ ...keep, sharesNodes: true }), "Role", `${accountRole}:leases`, "kube-node-lease")).toEqual([
    "create leases",
    "delete leases",
    "get leases",
    "list leases",
    "update leases",
    "watch leases",
  ]);
});

test("nodes that come and go are named by nobody, so that their rights are for every node, and lists of names stay for the others", () => {
  const both: AccessNeeds = { ...keep, nodes: [...keep.nodes, { name: "far", onShutdown: "keep", discovers: true }] };
  const ofNodes = clusterRights(both).filter((right) => / nodes/.test(right));

  expect(ofNodes).toEqual([
    "create nodes",
    "delete nodes",
    "get nodes",
    "get nodes[vk]",
    "list nodes",
    "list nodes[vk]",
    "patch nodes",
    "patch nodes/status",
    "patch nodes/status[vk]",
    "patch nodes[vk]",
    "watch nodes",
    "watch nodes[vk]",
  ]);
  expect(rightsOf(serviceAccountRights(both), "Role", `${accountRole}:leases`, "kube-node-lease")).toEqual([
    "create leases",
    "delete leases",
    "get leases",
    "get leases[vk]",
    "update leases",
    "update leases[vk]",
  ]);
});

test("rights that a provider uses itself are added, in the cluster and in single namespaces, for either identity", () => {
  const services = { apiGroups: [""], resources: ["services"], verbs: ["create"] };
  const classes = { apiGroups: ["scheduling.k8s.io"], resources: ["priorityclasses"], verbs: ["get"] };
  const needs: AccessNeeds = {
    ...keep,
    providerRights: [
      { why: "mirrors Services", namespace: "shop", rules: [services] },
      { why: "reads classes", rules: [classes] },
    ],
  };

  expect(clusterRights(needs)).toContain("get priorityclasses");
  expect(rightsOf(serviceAccountRights(needs), "Role", `${accountRole}:provider`, "shop")).toEqual(["create services"]);
  const ofNode = nodeRights(vk, needs);
  expect(rightsOf(ofNode, "ClusterRole", "virtual-kubelet:node:vk")).toContain("get priorityclasses");
  expect(rightsOf(ofNode, "Role", "virtual-kubelet:node:vk:provider", "shop")).toEqual(["create services"]);
  expect(ofNode.map(({ why }) => why)).toContain("the provider mirrors Services");
  expect(neededAccess(needs)).toContainEqual({ verb: "create", group: "", resource: "services", namespace: "shop" });
});

test("a service account that is limited to namespaces reads secrets, makes tokens and changes pods there only", () => {
  const objects = serviceAccountRights(keep, ["a", "b"]);

  const inCluster = rightsOf(objects, "ClusterRole", accountRole);
  expect(inCluster.filter((right) => /secrets|configmaps|token$|events|(delete|patch) pods/.test(right))).toEqual([]);
  for (const namespace of ["a", "b"])
    expect(rightsOf(objects, "Role", accountRole, namespace)).toEqual([
      "create events",
      "create serviceaccounts/token",
      "delete pods",
      "get configmaps",
      "get persistentvolumeclaims",
      "get secrets",
      "list configmaps",
      "list secrets",
      "patch events",
      "patch pods/status",
      "watch configmaps",
      "watch secrets",
    ]);
  expect(rightsOf(objects, "Role", `${accountRole}:events`, "default")).toEqual(["create events", "patch events"]);
});

test("of one namespace no object is printed twice, not even of those the node itself has to do with", () => {
  const namesOf = (namespaces: readonly string[]): string[] =>
    serviceAccountRights(keep, namespaces).map(({ object }) => [object.kind, object.metadata?.namespace, object.metadata?.name].join(" "));
  const names = namesOf(["default", "kube-system", "kube-node-lease"]);

  expect(names).toEqual([...new Set(names)]);
});

test("volumes are made and removed only by who is to do so, as either identity", () => {
  const needs = { ...keep, provisionsVolumes: true };
  const added = [
    "create persistentvolumes",
    "delete persistentvolumes",
    "get persistentvolumeclaims",
    "get persistentvolumes",
    "get storageclasses",
    "list persistentvolumeclaims",
    "list persistentvolumes",
    "watch persistentvolumeclaims",
    "watch persistentvolumes",
  ];

  expect(rightsOf(nodeRights(vk, needs), "ClusterRole", "virtual-kubelet:node:vk").filter((right) => /volume|storage/.test(right))).toEqual(
    added,
  );
  expect(new Set(clusterRights(needs).filter((right) => /volume|storage/.test(right)))).toEqual(new Set(added));
});

test("draining and deleting are there only where the policy needs them", () => {
  const nodes = [
    { name: "a", onShutdown: "drain" as const },
    { name: "b", onShutdown: "delete" as const },
  ];
  const objects = serviceAccountRights({ ...keep, nodes });
  const added = rightsOf(objects, "ClusterRole", "virtual-kubelet:serviceaccount:a").filter((right) => /evict|delete nodes/.test(right));

  expect(added).toEqual(["create pods/eviction", "delete nodes[b]"]);
  expect(rightsOf(objects, "Role", "virtual-kubelet:serviceaccount:a:leases", "kube-node-lease")).toContain("delete leases[b]");
});

test("a node's own user needs what the Node authorizer does not give, and nothing else", () => {
  const name = "virtual-kubelet:node:vk";
  const objects = nodeRights(vk, keep);

  expect(objects.map(({ object }) => [object.kind, object.metadata?.name])).toEqual([
    ["RoleBinding", `${name}:authentication`],
    ["ClusterRole", name],
    ["ClusterRoleBinding", name],
  ]);
  expect(rightsOf(objects, "ClusterRole", name)).toEqual(["get namespaces[kube-system]"]);
  expect(objects[0]?.object).toMatchObject({
    metadata: { namespace: "kube-system" },
    roleRef: { kind: "Role", name: "extension-apiserver-authentication-reader" },
    subjects: [{ kind: "User", name: "system:node:vk" }],
  });
  expect(rightsOf(nodeRights({ ...vk, onShutdown: "delete" }, keep), "ClusterRole", name)).toContain("delete nodes[vk]");
  expect(nodeRights(vk, { readsClusterId: false })).toEqual([]);
});

test("no object of one node's rights bears the name of another's", () => {
  const names = (name: string): string[] => {
    const node = { name, onShutdown: "keep" as const };
    return [...nodeRights(node, keep), ...serviceAccountRights({ ...keep, nodes: [node] }, ["default"])].map(({ object }) =>
      [object.kind, object.metadata?.namespace, object.metadata?.name].join(" "),
    );
  };
  const all = ["a", "a-node", "node", "a.leases", "a-events"].flatMap(names);

  expect(all).toEqual([...new Set(all)]);
});

test("a service account's name is one also where the node's is as long as names get", () => {
  const [long, other] = ["a", "b"].map((letter) => serviceAccountName(letter.repeat(253)));

  expect(serviceAccountName("vk")).toBe("virtual-kubelet-vk");
  expect(long?.length).toBeLessThanOrEqual(253);
  expect(long).not.toBe(other);
});

test("no service account bears the name of another node's, whatever the nodes are called", () => {
  const long = serviceAccountName("x".repeat(253));

  expect(serviceAccountName(long.slice(-16))).not.toBe(long);
});

test("what the nodes' server does not ask for is not there, and without a server none of it", () => {
  const asked = (needs: AccessNeeds): (string | undefined)[] => [
    ...clusterRights(needs).filter((right) => /reviews|certificate/.test(right)),
    ...serviceAccountRights(needs).flatMap(({ object }) => (/authentication/.test(object.metadata?.name ?? "") ? [object.kind] : [])),
  ];
  const nothing = { tokenReviews: false, subjectAccessReviews: false, publishedClientCa: false, servingCertificate: false };

  expect(asked({ ...keep, kubeletApi: undefined })).toEqual([]);
  expect(asked({ ...keep, kubeletApi: nothing })).toEqual([]);
  expect(asked({ ...keep, kubeletApi: { ...nothing, tokenReviews: true } })).toEqual(["create tokenreviews"]);
  expect(asked({ ...keep, kubeletApi: { ...nothing, subjectAccessReviews: true } })).toEqual(["create subjectaccessreviews"]);
  expect(asked({ ...keep, kubeletApi: { ...nothing, publishedClientCa: true } })).toEqual(["RoleBinding"]);
});
