import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { ApiregistrationV1Api, CoreV1Api, CustomObjectsApi, KubeConfig } from "@kubernetes/client-node";
import { clusterTest } from "@virtual-kubelet/embedded-apiserver/vitest";
import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { expect, vi } from "vitest";

const now = Date.now();
const validity = { notBeforeMs: now - 60_000, notAfterMs: now + 3_600_000 };
const authority = createCertificateAuthority("aggregated", validity);
const { certificate, key } = authority.issue({ commonName: "api", names: ["api.default.svc"], usages: ["server auth"], validity });
const test = clusterTest();

test("the flavors come from an API server of our own", async ({ cluster }) => {
  const verbs = ["list"];
  const resources = [{ name: "flavors", singularName: "flavor", kind: "Flavor", namespaced: false, verbs }];
  const documents: Readonly<Record<string, object>> = {
    "/apis/ice.example.com/v1": { kind: "APIResourceList", groupVersion: "ice.example.com/v1", resources },
    "/apis/ice.example.com/v1/flavors": { kind: "FlavorList", apiVersion: "ice.example.com/v1", items: [{ metadata: { name: "lemon" } }] },
  };
  const far = createServer({ cert: certificate, key }, (request, response) => {
    const document = documents[request.url ?? ""];
    response.writeHead(document === undefined ? 404 : 200, { "content-type": "application/json" }).end(JSON.stringify(document ?? {}));
  });
  await once(far.listen(0, "127.0.0.1"), "listening");
  const { port } = far.address() as AddressInfo;

  const config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig());
  const metadata = { name: "api" };
  const body = { metadata, spec: { type: "ExternalName", externalName: "localhost" } };
  await config.makeApiClient(CoreV1Api).createNamespacedService({ namespace: "default", body });
  await config.makeApiClient(ApiregistrationV1Api).createAPIService({
    body: {
      metadata: { name: "v1.ice.example.com" },
      spec: {
        group: "ice.example.com",
        version: "v1",
        groupPriorityMinimum: 1000,
        versionPriority: 10,
        service: { namespace: "default", name: "api", port },
        caBundle: Buffer.from(authority.certificate).toString("base64"),
      },
    },
  });

  const api = config.makeApiClient(CustomObjectsApi);
  const flavors = (): Promise<object> => api.listClusterCustomObject({ group: "ice.example.com", version: "v1", plural: "flavors" });
  await vi.waitFor(async () => expect(await flavors()).toMatchObject({ items: [{ metadata: { name: "lemon" } }] }));
  far.closeAllConnections();
  far.close();
});
