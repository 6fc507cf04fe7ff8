import { VirtualNode, type VirtualNodeOptions } from "@virtual-kubelet/core";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type KubeClient, type Pod, type PodSpec } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { expect, test } from "vitest";
import { PayloadProvider } from "../support/payload-provider.ts";

const idle = new AbortController().signal;
const namespace = "default";
const aWhile = { timeoutMs: 80_000 };

/** Embedded API server and a node whose provider records what its pods are given. */
class Cluster implements AsyncDisposable {
  readonly client: KubeClient;
  readonly provider = new PayloadProvider();
  readonly #server: ApiServer;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(server: ApiServer) {
    this.#server = server;
    this.client = createKubeClient(server.transport());
  }

  async start(options: Partial<VirtualNodeOptions> = {}): Promise<this> {
    const node = new VirtualNode({
      client: createKubeClient(this.#server.transport()),
      provider: this.provider.definition,
      providerConfig: {},
      node: { name: "node-1", capacity: { cpu: "10", memory: "10Gi", pods: "100" }, instance: { identity: "node-1" } },
      ...options,
    });
    this.#running = node.run(this.#stop.signal);
    await node.ready;
    return this;
  }

  async createPod(name: string, spec: Partial<PodSpec>): Promise<Pod> {
    const pod: Pod = {
      metadata: { namespace, name, labels: { app: name } },
      spec: { nodeName: "node-1", containers: [{ name: "main", image: "busybox" }], ...spec },
    };
    return this.client.create(resources.pods, pod, { signal: idle });
  }

  async pod(name: string): Promise<Pod> {
    return this.client.get(resources.pods, { namespace, name }, { signal: idle });
  }

  async running(name: string): Promise<void> {
    await eventually(async () => expect((await this.pod(name)).status?.phase).toBe("Running"));
  }

  async putSecret(name: string, value: string): Promise<void> {
    await this.client.create(resources.secrets, { metadata: { namespace, name }, data: { key: base64(value) } }, { signal: idle });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#server.close();
  }
}

async function startCluster(options?: Partial<VirtualNodeOptions>): Promise<Cluster> {
  return new Cluster(await startApiServer()).start(options);
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

/** Claims of a token, not verified. */
function claimsOf(token: string | undefined): Record<string, unknown> {
  return JSON.parse(Buffer.from(token?.split(".")[1] ?? "", "base64url").toString()) as Record<string, unknown>;
}

test("a pod has all its files, with their modes, and the variables beside them", async () => {
  await using cluster = await startCluster();
  await cluster.putSecret("keys", "s3cret");
  await cluster.client.create(
    resources.configMaps,
    { metadata: { namespace, name: "settings" }, data: { colour: "blue", size: "2" }, binaryData: { raw: base64("\u0001") } },
    { signal: idle },
  );

  await cluster.createPod("web", {
    containers: [{ name: "main", image: "busybox", env: [{ name: "KEY", valueFrom: { secretKeyRef: { name: "keys", key: "key" } } }] }],
    volumes: [
      { name: "secret", secret: { secretName: "keys", defaultMode: 0o400 } },
      { name: "config", configMap: { name: "settings", items: [{ key: "colour", path: "deep/colour", mode: 0o444 }] } },
      { name: "binary", configMap: { name: "settings", items: [{ key: "raw", path: "raw" }] } },
      { name: "info", downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
      { name: "none", secret: { secretName: "nope", optional: true } },
    ],
  });
  await cluster.running("web");

  const { env, files, modes } = cluster.provider.seen("web");
  expect(env["KEY"]).toBe("s3cret");
  const own = [...files].filter(([path]) => !path.startsWith("kube-api-access-"));
  expect(Object.fromEntries(own)).toEqual({
    "secret/key": "s3cret",
    "config/deep/colour": "blue",
    "binary/raw": "\u0001",
    "info/labels": 'app="web"',
  });
  expect([modes.get("secret/key"), modes.get("config/deep/colour"), modes.get("info/labels")]).toEqual(["400", "444", "644"]);
});

test("a pod has the token that admission gives every pod, bound to it", async () => {
  await using cluster = await startCluster();
  const { metadata } = await cluster.createPod("web", {});
  await cluster.running("web");

  const { files } = cluster.provider.seen("web");
  const access = new Map([...files].map(([path, content]) => [path.replace(/^kube-api-access-[a-z0-9]+\//, ""), content]));
  expect([...access.keys()].sort()).toEqual(["ca.crt", "namespace", "token"]);
  expect(access.get("namespace")).toBe(namespace);
  expect(claimsOf(access.get("token"))["kubernetes.io"]).toMatchObject({
    namespace,
    pod: { name: "web", uid: metadata?.uid },
    serviceaccount: { name: "default" },
  });
});

test("files change when their objects do, and the others stay", async () => {
  await using cluster = await startCluster();
  await cluster.putSecret("keys", "one");
  await cluster.createPod("web", { volumes: [{ name: "secret", secret: { secretName: "keys" } }] });
  await cluster.running("web");
  const seen = cluster.provider.seen("web");

  await cluster.client.patch(
    resources.secrets,
    { namespace, name: "keys" },
    { type: "merge", body: { data: { key: base64("two"), more: base64("x") } } },
    { signal: idle },
  );

  await eventually(() => expect([seen.files.get("secret/key"), seen.files.get("secret/more")]).toEqual(["two", "x"]));
  await cluster.client.delete(resources.secrets, { namespace, name: "keys" }, {}, { signal: idle });
  await eventually(async () => {
    const { items } = await cluster.client.list(resources.events, { namespace }, { signal: idle });
    expect(items.map(({ reason, message }) => `${reason} ${message}`)).toContain(
      'FailedMount MountVolume.SetUp failed for volume "secret" : secret "keys" not found',
    );
  });
  expect(seen.files.get("secret/key")).toBe("two");
  expect((await cluster.pod("web")).status?.phase).toBe("Running");
});

test("a hundred pods that wait for one secret start when it comes", async () => {
  await using cluster = await startCluster();
  const names = Array.from({ length: 100 }, (_, index) => `web-${index}`);
  await Promise.all(names.map((name) => cluster.createPod(name, { volumes: [{ name: "secret", secret: { secretName: "late" } }] })));
  await eventually(
    async () => expect((await cluster.pod("web-99")).status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe("ContainerCreating"),
    aWhile,
  );

  await cluster.putSecret("late", "now");

  await eventually(async () => {
    const { items } = await cluster.client.list(resources.pods, { namespace }, { signal: idle });
    expect(items.filter(({ status }) => status?.phase === "Running")).toHaveLength(100);
  }, aWhile);
  expect(cluster.provider.seen("web-7").files.get("secret/key")).toBe("now");
});

test("pods are told of the API server where they can reach it", async () => {
  await using cluster = await startCluster({ apiServerForPods: { host: "192.0.2.7", port: 6443 } });
  await cluster.createPod("web", {});
  await cluster.running("web");

  expect(cluster.provider.seen("web").env).toMatchObject({ KUBERNETES_SERVICE_HOST: "192.0.2.7", KUBERNETES_SERVICE_PORT: "6443" });
});
