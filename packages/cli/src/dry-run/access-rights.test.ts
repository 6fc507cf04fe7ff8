import { expect, test } from "vitest";
import { accessRights, type AccessNeeds } from "./access-rights.ts";

/** Every right a role gives, as `verb resource[name]`, sorted. */
function rightsOf(needs: AccessNeeds, kind: string, name: string, namespace?: string): string[] {
  const found = accessRights(needs).find(
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

test("a service account has no more than what it needs", () => {
  expect(rightsOf(keep, "ClusterRole", "virtual-kubelet")).toEqual([
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
  expect(rightsOf(keep, "Role", "virtual-kubelet", "kube-node-lease")).toEqual(["create leases", "get leases[vk]", "update leases[vk]"]);
});

test("draining and deleting are there only where the policy needs them", () => {
  const nodes = [
    { name: "a", onShutdown: "drain" as const },
    { name: "b", onShutdown: "delete" as const },
  ];
  const added = rightsOf({ ...keep, nodes }, "ClusterRole", "virtual-kubelet").filter((right) => /evict|delete nodes/.test(right));

  expect(added).toEqual(["create pods/eviction", "delete nodes[b]"]);
  expect(rightsOf({ ...keep, nodes }, "Role", "virtual-kubelet", "kube-node-lease")).toContain("delete leases[b]");
});

test("a node's own user needs what the Node authorizer does not give", () => {
  expect(rightsOf(keep, "ClusterRole", "virtual-kubelet-node")).toEqual(["get namespaces[kube-system]"]);
  expect(accessRights({ ...keep, readsClusterId: false }).some(({ object }) => object.metadata?.name === "virtual-kubelet-node")).toBe(
    false,
  );
});

test("both kinds of identity may read the authority of those who call the node", () => {
  const binding = accessRights(keep).find(({ object }) => object.metadata?.name === "virtual-kubelet-authentication-reader")?.object;

  expect(binding).toMatchObject({
    kind: "RoleBinding",
    metadata: { namespace: "kube-system" },
    roleRef: { kind: "Role", name: "extension-apiserver-authentication-reader" },
    subjects: [
      { kind: "ServiceAccount", name: "virtual-kubelet", namespace: "kube-system" },
      { kind: "User", name: "system:node:vk" },
    ],
  });
});

test("what the nodes' server does not ask for is not there, and without a server none of it", () => {
  const asked = (needs: AccessNeeds) => [
    ...rightsOf(needs, "ClusterRole", "virtual-kubelet").filter((right) => /reviews|certificate/.test(right)),
    ...accessRights(needs).flatMap(({ object }) => (/authentication/.test(object.metadata?.name ?? "") ? [object.kind] : [])),
  ];
  const nothing = { tokenReviews: false, subjectAccessReviews: false, publishedClientCa: false, servingCertificate: false };

  expect(asked({ ...keep, kubeletApi: undefined })).toEqual([]);
  expect(asked({ ...keep, kubeletApi: nothing })).toEqual([]);
  expect(asked({ ...keep, kubeletApi: { ...nothing, tokenReviews: true } })).toEqual(["create tokenreviews"]);
  expect(asked({ ...keep, kubeletApi: { ...nothing, subjectAccessReviews: true } })).toEqual(["create subjectaccessreviews"]);
  expect(asked({ ...keep, kubeletApi: { ...nothing, publishedClientCa: true } })).toEqual(["RoleBinding"]);
});
