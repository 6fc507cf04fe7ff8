import { afterEach, expect, test } from "vitest";
import { resourceQuotaKind } from "../../kinds/plain/quotas.ts";
import { configMapKind } from "../../kinds/config/config-map.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { startWorld, type World } from "../../test-support/cluster-world.ts";

let world: World | undefined;

afterEach(async () => {
  await world?.[Symbol.asyncDispose]();
  world = undefined;
});

async function worldWithQuota(hard: object, spec: object = {}): Promise<World> {
  world = await startWorld();
  world.cluster.create(resourceQuotaKind, { metadata: { name: "q", namespace: "default" }, spec: { hard, ...spec } });
  await world.settle();
  return world;
}

function used({ cluster }: World): unknown {
  return cluster.get(resourceQuotaKind, "default", "q")?.["status"].used;
}

const pod = (name: string, cpu?: string): object => ({
  metadata: { name, namespace: "default" },
  spec: { containers: [{ name: "c", image: "i", ...(cpu === undefined ? {} : { resources: { requests: { cpu } } }) }] },
});

test("usage is counted with the write itself, without waiting for a controller", async () => {
  const { cluster, ...rest } = await worldWithQuota({ "requests.cpu": "1" });
  cluster.create(podKind, pod("a", "600m"));
  expect(used({ cluster, ...rest })).toEqual({ "requests.cpu": "600m" });
  expect(() => cluster.create(podKind, pod("b", "600m"))).toThrow(
    'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=600m, limited: requests.cpu=1',
  );
});

test("a write that fails after it was counted is forgotten with the next recount, at the latest after five minutes", async () => {
  const cluster = await worldWithQuota({ configmaps: "5" });
  const map = { metadata: { name: "a", namespace: "default" } };
  cluster.cluster.create(configMapKind, map);
  expect(() => cluster.cluster.create(configMapKind, map)).toThrow("already exists");
  expect(used(cluster)).toEqual({ configmaps: "3" });
  await cluster.clock.advance(5 * 60_000);
  await cluster.settle();
  expect(used(cluster)).toEqual({ configmaps: "2" });
});

test("a quota whose usage nobody has counted refuses everything", async () => {
  world = await startWorld();
  const { cluster } = world;
  cluster.create(resourceQuotaKind, { metadata: { name: "q", namespace: "default" }, spec: { hard: { pods: "1" } } });
  cluster.update(resourceQuotaKind, "default", "q", (quota) => ({ ...quota, status: { hard: { pods: "1" } } }), "status");
  expect(() => cluster.create(podKind, pod("a"))).toThrow("status unknown for quota: q, resources: pods");
});

test("other namespaces are not limited, and nothing is counted after the quota is deleted", async () => {
  const { cluster, settle } = await worldWithQuota({ configmaps: "0" });
  cluster.create(configMapKind, { metadata: { name: "a", namespace: "kube-public" } });
  cluster.delete(resourceQuotaKind, "default", "q");
  await settle();
  cluster.create(configMapKind, { metadata: { name: "a", namespace: "default" } });
  expect(cluster.get(configMapKind, "default", "a")).toBeDefined();
});

test("a pod counts until it ends, whatever was counted before", async () => {
  const cluster = await worldWithQuota({ "requests.cpu": "1" });
  cluster.cluster.create(podKind, pod("a", "600m"));
  cluster.cluster.create(podKind, pod("b", "300m"));
  cluster.cluster.delete(podKind, "default", "b");
  await cluster.settle();
  expect(used(cluster)).toEqual({ "requests.cpu": "600m" });
  cluster.cluster.update(
    podKind,
    "default",
    "a",
    (stored) => ({ ...stored, status: { ...stored["status"], phase: "Succeeded" } }),
    "status",
  );
  await cluster.settle();
  expect(used(cluster)).toEqual({ "requests.cpu": "0" });
});
