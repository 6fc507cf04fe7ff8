import { CoreV1Api, KubeConfig, Watch } from "@kubernetes/client-node";
import type { ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { clusterTest } from "@virtual-kubelet/embedded-apiserver/vitest";
import { expect, vi } from "vitest";

const test = clusterTest();
const namespace = "default";

test("a write is refused twice, and then accepted", async ({ cluster }) => {
  const api = configOf(cluster).makeApiClient(CoreV1Api);
  const busy = cluster.faults.inject(
    { verb: "create", resource: "configmaps", times: 2 },
    { kind: "status", status: 429, retryAfterSeconds: 1 },
  );
  const create = () => api.createNamespacedConfigMap({ namespace, body: { metadata: { name: "a" } } });

  await expect(create()).rejects.toMatchObject({ code: 429, headers: { "retry-after": "1" } });
  await expect(create()).rejects.toMatchObject({ code: 429 });
  expect((await create()).metadata?.name).toBe("a");
  expect(busy.hits).toBe(2);
});

test("the connection breaks after the change was made", async ({ cluster }) => {
  const api = configOf(cluster).makeApiClient(CoreV1Api);
  using _lost = cluster.faults.inject({ verb: "create", name: "a" }, { kind: "reset", forward: true });

  await expect(api.createNamespacedConfigMap({ namespace, body: { metadata: { name: "a" } } })).rejects.toThrow();

  expect((await api.readNamespacedConfigMap({ namespace, name: "a" })).metadata?.name).toBe("a");
});

test("a watch lags behind", async ({ cluster }) => {
  const config = configOf(cluster);
  const seen: string[] = [];
  const watch = await new Watch(config).watch(
    `/api/v1/namespaces/${namespace}/configmaps`,
    { fieldSelector: "metadata.name=a" },
    (type) => seen.push(type),
    () => {},
  );
  const lag = cluster.faults.disrupt({ verb: "watch", resource: "configmaps" }, { kind: "hold" });

  await config.makeApiClient(CoreV1Api).createNamespacedConfigMap({ namespace, body: { metadata: { name: "a" } } });
  expect([lag.hits, seen]).toEqual([1, []]);
  lag[Symbol.dispose]();

  await vi.waitFor(() => expect(seen).toEqual(["ADDED"]), { timeout: 30_000 });
  watch.abort();
});

function configOf(cluster: ApiServer): KubeConfig {
  const config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig());
  return config;
}
