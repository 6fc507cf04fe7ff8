import { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
import { clusterTest } from "@virtual-kubelet/embedded-apiserver/vitest";
import { expect, vi } from "vitest";
import { runOperator } from "./operator.ts";

// What is waited for takes milliseconds; on a busy machine it may be seconds.
vi.setConfig({ testTimeout: 60_000 });
const soon = { timeout: 30_000 };

const test = clusterTest().extend<{ api: CoreV1Api }>({
  // A client of the test's own; and the operator, which runs as long as the test.
  api: async ({ cluster }, use) => {
    const config = new KubeConfig();
    config.loadFromString(cluster.kubeconfig());
    const stop = new AbortController();
    await runOperator(config, stop.signal);
    await use(config.makeApiClient(CoreV1Api));
    stop.abort();
  },
});

test("a namespace with a team gets its config map", async ({ api }) => {
  await createNamespace(api, "shop", "red");

  await vi.waitFor(async () => expect(await teamOf(api, "shop")).toBe("red"), soon);
});

test("the config map follows the label", async ({ api }) => {
  const namespace = await createNamespace(api, "shop", "red");
  await vi.waitFor(async () => expect(await teamOf(api, "shop")).toBe("red"), soon);

  await api.replaceNamespace({ name: "shop", body: { ...namespace, metadata: { ...namespace.metadata, labels: { team: "blue" } } } });

  await vi.waitFor(async () => expect(await teamOf(api, "shop")).toBe("blue"), soon);
});

test("the operator tries again when the API server has trouble", async ({ cluster, api }) => {
  const trouble = cluster.faults.inject({ verb: "create", resource: "configmaps", times: 2 }, { kind: "status", status: 503 });

  await createNamespace(api, "shop", "red");

  await vi.waitFor(async () => expect(await teamOf(api, "shop")).toBe("red"), soon);
  expect(trouble.hits).toBe(2);
});

test("the operator goes on after its watch has expired", async ({ cluster, api }) => {
  await vi.waitFor(() => {
    const expired = cluster.faults.disrupt({ verb: "watch", resource: "namespaces" }, { kind: "error-event", code: 410 });
    expect(expired.hits).toBe(1);
  }, soon);

  await createNamespace(api, "shop", "red");

  await vi.waitFor(async () => expect(await teamOf(api, "shop")).toBe("red"), soon);
});

function createNamespace(api: CoreV1Api, name: string, team: string) {
  return api.createNamespace({ body: { metadata: { name, labels: { team } } } });
}

async function teamOf(api: CoreV1Api, namespace: string): Promise<string | undefined> {
  const { data } = await api.readNamespacedConfigMap({ name: "team", namespace });
  return data?.["team"];
}
