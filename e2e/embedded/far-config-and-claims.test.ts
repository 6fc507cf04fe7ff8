import { VirtualNode } from "@virtual-kubelet/core";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import {
  createKubeClient,
  resources,
  type ConfigMap,
  type KubeClient,
  type Pod,
  type PodSpec,
  type Secret,
} from "@virtual-kubelet/kube-client";
import { kubernetesProvider } from "@virtual-kubelet/provider-kubernetes";
import { eventually } from "@virtual-kubelet/testing";
import { expect, test } from "vitest";
import { apiConnection } from "../../providers/kubernetes/src/test-support/api-connection.ts";
import { soon } from "./support/program-rig.ts";

const { signal } = new AbortController();
const namespace = "default";
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Two API servers with their controllers, and a virtual node of the first that runs pods in the second, which has no nodes. */
class Clusters implements AsyncDisposable {
  readonly home: KubeClient;
  readonly far: KubeClient;
  readonly #servers: readonly ApiServer[];
  readonly #end = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(home: ApiServer, far: ApiServer) {
    this.#servers = [home, far];
    this.home = createKubeClient(home.transport());
    this.far = createKubeClient(far.transport());
  }

  static async open(config: object = {}): Promise<Clusters> {
    const [home, far] = await Promise.all([startApiServer({ listen: false }), startApiServer({ listen: false })]);
    const clusters = new Clusters(home, far);
    const connection = apiConnection(clusters.far, namespace);
    const provider = kubernetesProvider({ env: {}, connect: () => Promise.resolve(connection) });
    const parsed = provider.configSchema.safeParse({ node: { capacity: { cpu: "10", memory: "10Gi", pods: "100" } }, ...config });
    if (!parsed.success) throw new Error(JSON.stringify(parsed.error.issues));
    const node = new VirtualNode({
      client: createKubeClient(home.transport()),
      provider,
      providerConfig: parsed.data,
      clusterId: "home-1",
      apiServerForPods: { host: "192.0.2.1", port: 6443 },
      node: { name: "far-1", instance: { identity: "one" } },
    });
    clusters.#running = node.run(clusters.#end.signal);
    await node.ready;
    return clusters;
  }

  async createPod(name: string, spec: Partial<PodSpec>): Promise<void> {
    const tolerations = [{ operator: "Exists" }];
    const pod: Pod = { metadata: { namespace, name }, spec: { tolerations, containers: [{ name: "main", image: "busybox" }], ...spec } };
    await this.home.create(resources.pods, pod, { signal });
  }

  /** The far object of a home object's name. */
  async farPod(name: string): Promise<Pod | undefined> {
    return (await this.far.list(resources.pods, { namespace }, { signal })).items.find((pod) => pod.metadata?.name?.startsWith(`${name}-`));
  }

  async farSecret(name: string): Promise<Secret | undefined> {
    return (await this.far.list(resources.secrets, { namespace }, { signal })).items.find((it) =>
      it.metadata?.name?.startsWith(`${name}-`),
    );
  }

  async farConfigMap(name: string): Promise<ConfigMap | undefined> {
    return (await this.far.list(resources.configMaps, { namespace }, { signal })).items.find((it) =>
      it.metadata?.name?.startsWith(`${name}-`),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await this.#running;
    for (const server of this.#servers) await server.close();
  }
}

test("secrets and config maps travel with a pod, follow their home objects, and a missing one arrives when it appears", async () => {
  await using clusters = await Clusters.open();
  const { home } = clusters;
  await home.create(resources.secrets, { metadata: { namespace, name: "db" }, data: { password: base64("first") } }, { signal });
  await clusters.createPod("web", {
    containers: [{ name: "main", image: "busybox", envFrom: [{ secretRef: { name: "db" } }] }],
    volumes: [{ name: "settings", configMap: { name: "settings" } }],
  });

  await eventually(async () => expect(await clusters.farPod("web")).toBeDefined(), soon);
  const far = await clusters.farPod("web");
  const secret = await clusters.farSecret("db");
  expect(secret?.data).toEqual({ password: base64("first") });
  expect(far?.spec?.containers[0]?.envFrom).toEqual([{ secretRef: { name: secret?.metadata?.name } }]);
  expect(await clusters.farConfigMap("settings")).toBeUndefined();

  await home.patch(
    resources.secrets,
    { namespace, name: "db" },
    { type: "merge", body: { data: { password: base64("second") } } },
    { signal },
  );
  await home.create(resources.configMaps, { metadata: { namespace, name: "settings" }, data: { a: "1" } }, { signal });
  await eventually(async () => expect((await clusters.farSecret("db"))?.data).toEqual({ password: base64("second") }), soon);
  await eventually(async () => expect((await clusters.farConfigMap("settings"))?.data).toEqual({ a: "1" }), soon);
  expect((await clusters.farConfigMap("settings"))?.metadata?.name).toBe(
    far?.spec?.volumes?.find(({ name }) => name === "settings")?.configMap?.name,
  );

  await home.delete(resources.configMaps, { namespace, name: "settings" }, {}, { signal });
  await eventually(async () => expect(await clusters.farConfigMap("settings")).toBeUndefined(), soon);
});

test("a pod has home's token as a key of its own secret, which goes with it", async () => {
  await using clusters = await Clusters.open({ carry: { serviceAccountToken: "home" } });
  await clusters.createPod("operator", {});

  await eventually(async () => expect(await clusters.farPod("operator")).toBeDefined(), soon);
  const far = await clusters.farPod("operator");
  const secret = await clusters.farSecret("operator");
  const sources = far?.spec?.volumes?.flatMap(({ projected }) => projected?.sources ?? []) ?? [];
  const item = sources.flatMap((source) => source.secret?.items ?? []).find(({ path }) => path === "token");
  const token = Buffer.from(secret?.data?.[item?.key ?? ""] ?? "", "base64").toString();
  expect(JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())).toMatchObject({
    "kubernetes.io": { pod: { name: "operator" }, serviceaccount: { name: "default" } },
  });

  await clusters.home.delete(resources.pods, { namespace, name: "operator" }, { gracePeriodSeconds: 1 }, { signal });
  await eventually(async () => expect(await clusters.farPod("operator")).toBeUndefined(), soon);
  await eventually(async () => expect(await clusters.farSecret("operator")).toBeUndefined(), soon);
});

test("a claim of home is a claim of the far cluster, and goes with it when no far pod uses it", async () => {
  await using clusters = await Clusters.open({ claims: { storageClasses: { far: "fast" } } });
  const { home, far } = clusters;
  const provisioner = "kubernetes.virtual-kubelet.io";
  await home.create(
    resources.storageClasses,
    { metadata: { name: "far" }, provisioner, volumeBindingMode: "WaitForFirstConsumer", reclaimPolicy: "Delete" },
    { signal },
  );
  const spec = { storageClassName: "far", accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "5Gi" } } };
  await home.create(resources.persistentVolumeClaims, { metadata: { namespace, name: "data" }, spec }, { signal });
  await clusters.createPod("db", { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }] });

  await eventually(async () => expect(await clusters.farPod("db")).toBeDefined(), soon);
  const claimName =
    (await clusters.farPod("db"))?.spec?.volumes?.find(({ name }) => name === "data")?.persistentVolumeClaim?.claimName ?? "";
  const claim = await far.get(resources.persistentVolumeClaims, { namespace, name: claimName }, { signal });
  expect(claim.spec).toMatchObject({ ...spec, storageClassName: "fast", volumeMode: "Filesystem" });

  await home.delete(resources.pods, { namespace, name: "db" }, { gracePeriodSeconds: 1 }, { signal });
  await home.delete(resources.persistentVolumeClaims, { namespace, name: "data" }, {}, { signal });
  await eventually(async () => expect((await far.list(resources.persistentVolumeClaims, {}, { signal })).items).toEqual([]), soon);
  await eventually(async () => expect((await home.list(resources.persistentVolumes, {}, { signal })).items).toEqual([]), soon);
});
