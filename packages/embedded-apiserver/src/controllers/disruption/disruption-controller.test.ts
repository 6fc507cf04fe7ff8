import { expect, test } from "vitest";
import type { ApiObject } from "../../kinds/kind.ts";
import { jobKind } from "../../kinds/batch/job.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { podDisruptionBudgetKind } from "../../kinds/policy/disruption-budget.ts";
import { deploymentKind } from "../../kinds/workload/deployment.ts";
import { startTestServer, type TestResponse, type TestServer } from "../../test-support/test-server.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";

const labels = { app: "web" };

function createBudget(world: Pick<World, "cluster">, spec: object): void {
  world.cluster.create(podDisruptionBudgetKind, {
    metadata: { name: "web", namespace: "default" },
    spec: { selector: { matchLabels: labels }, ...spec },
  });
}

async function runDeployment(world: World, replicas: number): Promise<void> {
  world.addNode("n1");
  world.playKubelet();
  const template = { metadata: { labels }, spec: { containers: [{ name: "main", image: "one" }] } };
  world.cluster.create(deploymentKind, {
    metadata: { name: "web", namespace: "default" },
    spec: { replicas, selector: { matchLabels: labels }, template },
  });
  await world.settle();
}

const statusOf = (world: Pick<World, "cluster">): ApiObject["status"] =>
  world.cluster.get(podDisruptionBudgetKind, "default", "web")?.["status"];

test("a budget reports how many pods may be evicted", async () => {
  await using world = await startWorld();
  createBudget(world, { maxUnavailable: "30%" });
  await runDeployment(world, 4);

  expect(statusOf(world)).toEqual({
    conditions: [
      {
        lastTransitionTime: "2026-01-01T00:00:00Z",
        message: "",
        observedGeneration: 1,
        reason: "SufficientPods",
        status: "True",
        type: "DisruptionAllowed",
      },
    ],
    currentHealthy: 4,
    desiredHealthy: 2,
    disruptionsAllowed: 2,
    expectedPods: 4,
    observedGeneration: 1,
  });
});

test("a percentage needs a controller with a number of replicas", async () => {
  await using world = await startWorld();
  const template = { metadata: { labels }, spec: { restartPolicy: "Never", containers: [{ name: "main", image: "one" }] } };
  world.cluster.create(jobKind, { metadata: { name: "work", namespace: "default" }, spec: { template } });
  createBudget(world, { minAvailable: "50%" });
  await world.settle();

  expect(statusOf(world)).toMatchObject({
    disruptionsAllowed: 0,
    conditions: [{ status: "False", reason: "SyncFailed", message: "jobs.batch does not implement the scale subresource" }],
  });
});

function evict(server: TestServer, name: string): Promise<TestResponse> {
  const path = `/api/v1/namespaces/default/pods/${name}/eviction`;
  return server.request("POST", path, { apiVersion: "policy/v1", kind: "Eviction", metadata: { name } });
}

test("an eviction is refused if the budget allows none, and is counted before the controller has seen it", async () => {
  await using server = await startTestServer();
  const { cluster } = server.server;
  for (const name of ["a", "b"]) {
    cluster.create(podKind, {
      metadata: { name, namespace: "default", labels },
      spec: { nodeName: "n1", containers: [{ name: "main", image: "one" }] },
    });
    const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
    cluster.update(podKind, "default", name, (pod) => ({ ...pod, status }), "status");
  }
  createBudget({ cluster }, { minAvailable: 1 });
  const unseen = await evict(server, "a");
  const counts = { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2, observedGeneration: 1 };
  cluster.update(podDisruptionBudgetKind, "default", "web", (budget) => ({ ...budget, status: counts }), "status");
  const first = await evict(server, "a");
  const second = await evict(server, "b");

  expect(unseen).toMatchObject({
    status: 429,
    headers: { "retry-after": "10" },
    body: { details: { causes: [{ message: "The disruption budget web is still being processed by the server." }] } },
  });
  expect(first.status).toBe(201);
  expect(statusOf({ cluster })).toMatchObject({ disruptionsAllowed: 0, disruptedPods: { a: "2026-01-01T00:00:00Z" } });
  expect(second).toMatchObject({
    status: 429,
    body: {
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
      reason: "TooManyRequests",
      details: { causes: [{ reason: "DisruptionBudget" }] },
    },
  });
});
