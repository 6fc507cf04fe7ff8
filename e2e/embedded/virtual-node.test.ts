import { VirtualNode, type NodeOptions, type PodOptions } from "@virtual-kubelet/core";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type Deployment, type KubeClient, type Pod } from "@virtual-kubelet/kube-client";
import { provider as mock } from "@virtual-kubelet/provider-mock";
import { eventually } from "@virtual-kubelet/testing";
import { expect, test } from "vitest";

const idle = new AbortController().signal;

/** Embedded API server with virtual nodes in this process. */
class Cluster implements AsyncDisposable {
  readonly server: ApiServer;
  readonly client: KubeClient;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];

  constructor(server: ApiServer) {
    this.server = server;
    this.client = createKubeClient(server.transport());
  }

  async addNode(name: string, options: { node?: Partial<NodeOptions>; pods?: PodOptions } = {}): Promise<VirtualNode> {
    const node = new VirtualNode({
      client: createKubeClient(this.server.transport()),
      provider: mock,
      providerConfig: { [name]: { cpu: "1000", memory: "1Ti", pods: "1000" } },
      node: { name, taints: [], instance: { identity: name }, ...options.node },
      pods: options.pods,
    });
    this.#running.push(node.run(this.#stop.signal));
    await node.ready;
    return node;
  }

  async pods(labelSelector?: string): Promise<Pod[]> {
    return (await this.client.list(resources.pods, { namespace: "default", labelSelector }, { signal: idle })).items;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
    await this.server.close();
  }
}

async function startCluster(): Promise<Cluster> {
  return new Cluster(await startApiServer());
}

function deployment(name: string, replicas: number): Deployment {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "default" },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "main", image: "busybox" }] } },
    },
  };
}

test("a node registers, becomes Ready and runs a Deployment", async () => {
  await using cluster = await startCluster();
  await cluster.addNode("node-1");
  await eventually(async () => {
    const node = await cluster.client.get(resources.nodes, { name: "node-1" }, { signal: idle });
    expect(node.status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
  });

  await cluster.client.create(resources.deployments, deployment("web", 3), { signal: idle });

  await eventually(async () => {
    const pods = await cluster.pods("app=web");
    expect(pods.map(({ status }) => status?.phase)).toEqual(["Running", "Running", "Running"]);
    expect(new Set(pods.map(({ status }) => status?.podIP)).size).toBe(3);
  });
  await eventually(async () => {
    const found = await cluster.client.get(resources.deployments, { namespace: "default", name: "web" }, { signal: idle });
    expect(found.status?.availableReplicas).toBe(3);
  });
});

test("a Deployment scaled to nothing leaves no pod behind", async () => {
  await using cluster = await startCluster();
  await cluster.addNode("node-1");
  await cluster.client.create(resources.deployments, deployment("web", 5), { signal: idle });
  await eventually(async () => expect((await cluster.pods("app=web")).filter(({ status }) => status?.phase === "Running")).toHaveLength(5));

  await cluster.client.patch(
    resources.deployments,
    { namespace: "default", name: "web" },
    { type: "merge", body: { spec: { replicas: 0 } } },
    { signal: idle },
  );

  await eventually(async () => expect(await cluster.pods("app=web")).toEqual([]));
});

test("500 pods at once are all Running, and all go again", { timeout: 300_000 }, async () => {
  await using cluster = await startCluster();
  await cluster.addNode("node-1");
  const names = Array.from({ length: 500 }, (_, index) => `pod-${index}`);

  await Promise.all(
    names.map((name) =>
      cluster.client.create(
        resources.pods,
        { metadata: { name, namespace: "default" }, spec: { nodeName: "node-1", containers: [{ name: "main", image: "busybox" }] } },
        { signal: idle },
      ),
    ),
  );
  await eventually(async () => expect((await cluster.pods()).filter(({ status }) => status?.phase === "Running")).toHaveLength(500), {
    timeoutMs: 100_000,
  });

  await Promise.all(names.map((name) => cluster.client.delete(resources.pods, { namespace: "default", name }, {}, { signal: idle })));
  await eventually(async () => expect(await cluster.pods()).toEqual([]), { timeoutMs: 100_000 });
});

test("many nodes run in one process, each with its own pods", async () => {
  await using cluster = await startCluster();
  const names = ["node-1", "node-2", "node-3"];
  await Promise.all(names.map((name) => cluster.addNode(name)));

  await Promise.all(
    names.map((nodeName) =>
      cluster.client.create(
        resources.pods,
        {
          metadata: { name: `on-${nodeName}`, namespace: "default" },
          spec: { nodeName, containers: [{ name: "main", image: "busybox" }] },
        },
        { signal: idle },
      ),
    ),
  );

  await eventually(async () =>
    expect((await cluster.pods()).map(({ status }) => status?.phase)).toEqual(["Running", "Running", "Running"]),
  );
});

test("a pod that waits for a secret says so, and starts once it is there", async () => {
  await using cluster = await startCluster();
  await cluster.addNode("node-1");
  await cluster.client.create(
    resources.pods,
    {
      metadata: { name: "web", namespace: "default" },
      spec: {
        nodeName: "node-1",
        containers: [
          { name: "main", image: "busybox", env: [{ name: "TOKEN", valueFrom: { secretKeyRef: { name: "absent", key: "token" } } }] },
        ],
      },
    },
    { signal: idle },
  );
  await eventually(async () => {
    const [pod] = await cluster.pods();
    expect(pod?.status?.containerStatuses?.[0]?.state?.waiting).toMatchObject({
      reason: "CreateContainerConfigError",
      message: expect.stringContaining('secret "absent" not found'),
    });
  });

  await cluster.client.create(
    resources.secrets,
    { metadata: { name: "absent", namespace: "default" }, data: { token: "c2VjcmV0" } },
    { signal: idle },
  );

  await eventually(async () => expect((await cluster.pods())[0]?.status?.phase).toBe("Running"), { timeoutMs: 60_000 });
  expect(JSON.stringify(await cluster.pods())).not.toContain("c2VjcmV0");
});
