import { VirtualClock } from "@virtual-kubelet/clock";
import { expect, test } from "vitest";
import type { ApiObject } from "./kinds/kind.ts";
import { eventKind } from "./kinds/event/event.ts";
import { leaseKind } from "./kinds/lease.ts";
import { nodeKind } from "./kinds/node/node.ts";
import { podKind } from "./kinds/pod/pod.ts";
import { startApiServer } from "./start-api-server.ts";
import { boundPod, startTestServer } from "./test-support/test-server.ts";

test("the server uses it: a silent node is tainted after 50 s and loses its pods 300 s later", async () => {
  const clock = new VirtualClock();
  await using server = await startApiServer({ clock, listen: false });
  const { cluster } = server;
  const node = (): Readonly<ApiObject> | undefined => cluster.get(nodeKind, undefined, "n1");
  const pod = (): Readonly<ApiObject> | undefined => cluster.get(podKind, "default", "web");
  const beganMs = performance.now();
  const conditions = [{ type: "Ready", status: "True", lastHeartbeatTime: new Date(clock.now()).toISOString(), reason: "KubeletReady" }];
  cluster.create(nodeKind, { metadata: { name: "n1" }, status: { conditions, allocatable: { cpu: "1", memory: "1Gi", pods: "10" } } });
  cluster.create(leaseKind, { metadata: { name: "n1", namespace: "kube-node-lease" }, spec: { holderIdentity: "n1" } });
  cluster.create(podKind, boundPod("web", { terminationGracePeriodSeconds: 30 }));

  const untilTainted = await clock.runUntil(() => JSON.stringify(node()?.["spec"].taints ?? []).includes("unreachable"));
  const untilEvicted = await clock.runUntil(() => pod()?.metadata.deletionTimestamp !== undefined);
  const grace = Date.parse(pod()?.metadata.deletionTimestamp ?? "") - clock.now();

  expect(untilTainted).toBeGreaterThanOrEqual(40_000);
  expect(untilTainted).toBeLessThanOrEqual(55_000);
  expect(untilEvicted).toBeGreaterThanOrEqual(299_000);
  expect(untilEvicted).toBeLessThanOrEqual(301_000);
  expect(grace).toBeGreaterThan(29_000);
  expect(performance.now() - beganMs).toBeLessThan(60_000);
});

test("events are deleted after one hour", async () => {
  const clock = new VirtualClock();
  await using server = await startApiServer({ clock, listen: false });
  const involvedObject = { kind: "Namespace", name: "default", namespace: "default" };
  server.cluster.create(eventKind, { metadata: { name: "e", namespace: "default" }, involvedObject, reason: "Test", message: "m" });

  await clock.advance(3_500_000);
  expect(server.cluster.get(eventKind, "default", "e")).toBeDefined();
  await clock.advance(200_000);

  expect(server.cluster.get(eventKind, "default", "e")).toBeUndefined();
});

test("a token expires by the server's clock", async () => {
  const clock = new VirtualClock();
  await using world = await startTestServer({ clock, authorization: "AlwaysAllow" });
  const { body } = await world.request("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: 600 },
  });
  const request = {
    method: "GET",
    path: "/api/v1/namespaces",
    headers: { authorization: `Bearer ${body.status.token}` },
    pool: "short",
    signal: new AbortController().signal,
  } as const;
  const transport = world.server.transport();

  await clock.advance(599_000);
  expect((await transport.request(request)).status).toBe(200);
  await clock.advance(2_000);

  expect((await transport.request(request)).status).toBe(401);
});
