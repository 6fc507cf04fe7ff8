import { isInvalidInput } from "@virtual-kubelet/errdefs";
import { expect, test } from "vitest";
import { deploymentKind } from "./kinds/workload/deployment.ts";
import { namespaceKind } from "./kinds/namespace.ts";
import { podKind } from "./kinds/pod/pod.ts";
import { startApiServer, type ApiServer } from "./start-api-server.ts";

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "shop" },
  spec: { nodeName: "n1", containers: [{ name: "c", image: "busybox" }] },
  status: { phase: "Running" },
};
const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };

test("a server starts with the objects it is given, in their order, and with their status", async () => {
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "busybox" }] } },
    },
  };
  await using server = await startApiServer({ listen: false, objects: [namespace, pod, deployment] });

  expect(server.cluster.get(namespaceKind, undefined, "shop")?.["status"]).toEqual({ phase: "Active" });
  expect(server.cluster.get(podKind, "shop", "web")?.["status"]).toMatchObject({ phase: "Running" });
  expect(server.cluster.get(deploymentKind, "default", "web")?.metadata.uid).toBeDefined();
});

test("initial objects can be shared by servers, and may contain values that JSON does not have", async () => {
  const { status: _status, ...unused } = pod;
  const given = { ...unused, metadata: { ...pod.metadata, deletionTimestamp: undefined, annotations: { at: new Date(0) } } };
  const before = structuredClone(given);

  for (let start = 0; start < 2; start++) {
    await using server = await startApiServer({ listen: false, objects: [namespace, given] });
    expect(server.cluster.get(podKind, "shop", "web")?.metadata.annotations).toEqual({ at: "1970-01-01T00:00:00.000Z" });
  }

  expect(given).toEqual(before);
});

test("a server does not start with unknown or invalid objects", async () => {
  const unknown = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "w" } };
  const start = (object: object): Promise<ApiServer> => startApiServer({ listen: false, objects: [object] });

  await expect(start(unknown)).rejects.toSatisfy(isInvalidInput);
  await expect(start(unknown)).rejects.toThrow(
    'create the object "w": apiVersion is "example.com/v1", kind is "Widget"; expected a kind that the server knows',
  );
  await expect(start(pod)).rejects.toThrow('namespaces "shop" not found');
});

test("a transport sends requests as the administrator or as its user", async () => {
  await using server = await startApiServer({ listen: false });
  const whoAmI = async (transport: ReturnType<ApiServer["transport"]>): Promise<unknown> => {
    const { body } = await transport.request({
      method: "POST",
      path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }),
      pool: "short",
      signal: new AbortController().signal,
    });
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    const review = JSON.parse(Buffer.concat(chunks).toString()) as { status: { userInfo: unknown } };
    return review.status.userInfo;
  };

  expect(await whoAmI(server.transport())).toMatchObject({ username: "kubernetes-admin" });
  expect(await whoAmI(server.transport({ user: "ann", groups: ["ops"] }))).toMatchObject({
    username: "ann",
    groups: ["ops", "system:authenticated"],
  });
});
