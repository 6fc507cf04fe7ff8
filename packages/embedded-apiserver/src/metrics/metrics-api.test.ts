import { afterEach, expect, test } from "vitest";
import { boundPod, startTestServer, type TestServer } from "../test-support/test-server.ts";
import type { MetricsSource } from "./metrics-source.ts";

let server: TestServer | undefined;

afterEach(async () => {
  await server?.[Symbol.asyncDispose]();
  server = undefined;
});

async function serverWith(metrics: MetricsSource): Promise<TestServer> {
  server = await startTestServer({
    metrics,
    objects: [
      { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } },
      { ...boundPod("a", {}, { namespace: "default", labels: { app: "x" } }), status: { phase: "Running" } },
      { ...boundPod("b", {}, { namespace: "default" }), status: { phase: "Running" } },
      { ...boundPod("c", {}, { namespace: "default" }), status: { phase: "Pending" } },
    ],
  });
  return server;
}

test("usage of running pods is served as by metrics-server, and nodes have the sum", async () => {
  const { request } = await serverWith({ container: ({ metadata }) => ({ cpu: metadata.name === "a" ? "100m" : "50m", memory: "10Mi" }) });
  const { body: list } = await request("GET", "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=app%3Dx");
  expect(list).toMatchObject({
    kind: "PodMetricsList",
    items: [{ metadata: { name: "a" }, window: "30s", containers: [{ name: "c", usage: { cpu: "100m", memory: "10Mi" } }] }],
  });
  const { body: node } = await request("GET", "/apis/metrics.k8s.io/v1beta1/nodes/n1");
  expect(node).toMatchObject({ kind: "NodeMetrics", usage: { cpu: "150m", memory: "20Mi" } });
  expect((await request("GET", "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/c")).body.message).toBe(
    'pods.metrics.k8s.io "default/c" not found',
  );
});

test("discovery has the group, which kubectl top looks for, only if there are metrics", async () => {
  const groupsOf = async ({ request }: TestServer): Promise<string[]> =>
    (await request("GET", "/apis")).body.groups.map(({ name }: { name: string }) => name);
  const having = await serverWith({ node: () => ({ cpu: "1", memory: "1Gi" }) });
  expect(await groupsOf(having)).toContain("metrics.k8s.io");
  expect((await having.request("GET", "/apis/metrics.k8s.io/v1beta1")).body.resources).toMatchObject([
    { name: "nodes", kind: "NodeMetrics", namespaced: false, verbs: ["get", "list"] },
    { name: "pods", kind: "PodMetrics", namespaced: true, verbs: ["get", "list"] },
  ]);
  await having[Symbol.asyncDispose]();
  expect(await groupsOf(await serverWith({}))).not.toContain("metrics.k8s.io");
});
