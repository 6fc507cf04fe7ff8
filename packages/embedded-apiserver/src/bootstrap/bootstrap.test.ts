import { expect, test } from "vitest";
import { startTestServer } from "../test-support/test-server.ts";

test("a new cluster has its namespaces and the service kubernetes", async () => {
  await using server = await startTestServer();

  const { body } = await server.request("GET", "/api/v1/namespaces");

  expect(body.items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual([
    "default",
    "kube-node-lease",
    "kube-public",
    "kube-system",
  ]);
  expect((await server.request("GET", "/api/v1/namespaces/default/services/kubernetes")).body.spec.clusterIP).toBe("10.96.0.1");
  const authentication = await server.request("GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication");
  expect(authentication.body.data["client-ca-file"]).toBe(server.server.caPem);
});

test("each namespace has its default service account and the cluster's authority, which are recreated when deleted", async () => {
  await using server = await startTestServer();
  await server.request("POST", "/api/v1/namespaces", { metadata: { name: "new" } });

  await server.request("DELETE", "/api/v1/namespaces/new/serviceaccounts/default");

  expect((await server.request("GET", "/api/v1/namespaces/new/serviceaccounts/default")).status).toBe(200);
  expect((await server.request("GET", "/api/v1/namespaces/new/configmaps/kube-root-ca.crt")).body.data["ca.crt"]).toBe(server.server.caPem);
});
