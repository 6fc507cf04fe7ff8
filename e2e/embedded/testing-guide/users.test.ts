import { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import { clusterTest } from "@virtual-kubelet/embedded-apiserver/vitest";
import { expect } from "vitest";

const test = clusterTest({
  objects: [
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "reader" },
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] }],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "reader" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "reader" },
      subjects: [{ kind: "ServiceAccount", namespace: "default", name: "operator" }],
    },
  ],
});

test("the operator's role is enough for config maps, and for nothing else", async ({ cluster }) => {
  const config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig({ user: "system:serviceaccount:default:operator" }));
  const api = config.makeApiClient(CoreV1Api);

  await api.listConfigMapForAllNamespaces();

  await expect(api.listSecretForAllNamespaces()).rejects.toMatchObject({ code: 403 });
});
