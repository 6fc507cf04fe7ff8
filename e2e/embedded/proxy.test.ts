import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import {
  createHttpTransport,
  createKubeClient,
  loadCredentials,
  noMetrics,
  Reflector,
  resource,
  resources,
  silentLogger,
  systemClock,
  systemRandom,
  type KubeClient,
  type KubernetesObject,
  type Pod,
} from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { exitCodes } from "virtual-kubelet";
import { Program } from "../support/program.ts";

const signal = new AbortController().signal;
/** Programs start slowly on a busy machine. */
const soon = { timeoutMs: 150_000 };
const selfSubjectReviews = resource<KubernetesObject & { readonly status?: { readonly userInfo?: object } }>({
  group: "authentication.k8s.io",
  version: "v1",
  plural: "selfsubjectreviews",
  kind: "SelfSubjectReview",
  namespaced: false,
});

/** A proxy that runs in a process of its own. */
class ProxyProcess implements AsyncDisposable {
  readonly #program: Program;

  private constructor(env: Record<string, string>) {
    const main = fileURLToPath(new URL("support/connect-proxy.ts", import.meta.url));
    this.#program = new Program([], { cwd: tmpdir(), main, env });
  }

  static async start(env: Record<string, string> = {}): Promise<ProxyProcess> {
    const proxy = new ProxyProcess(env);
    await eventually(() => expect(proxy.port).toBeGreaterThan(0), soon);
    return proxy;
  }

  get port(): number {
    return Number(/^listening (\d+)$/m.exec(this.#program.stdout)?.[1]);
  }

  /** What it was asked, and how it answered, once each. */
  get asked(): string[] {
    return [...new Set(this.#program.stdout.split("\n").filter((line) => line.startsWith("CONNECT")))];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#program[Symbol.asyncDispose]();
  }
}

/** An API server by a name that nobody but a proxy knows, and a folder with kubeconfigs for it. */
class Rig implements AsyncDisposable {
  readonly server: ApiServer;
  readonly client: KubeClient;
  readonly folder: string;
  readonly port: string;

  private constructor(server: ApiServer, folder: string) {
    this.server = server;
    this.client = createKubeClient(server.transport());
    this.folder = folder;
    this.port = new URL(server.url).port;
  }

  static async open(): Promise<Rig> {
    return new Rig(await startApiServer(), await mkdtemp(join(tmpdir(), "vk-proxy-")));
  }

  /** Writes a kubeconfig, with more of its cluster and user. */
  async kubeconfig(cluster: object, user: object = {}): Promise<string> {
    const file = join(this.folder, "kubeconfig");
    const config = JSON.parse(this.server.kubeconfig()) as { clusters: { cluster: object }[]; users: { user: object }[] };
    for (const entry of config.clusters) Object.assign(entry.cluster, { server: `https://kubernetes.default:${this.port}` }, cluster);
    for (const entry of config.users) Object.assign(entry.user, user);
    await writeFile(file, JSON.stringify(config));
    return file;
  }

  async nodeIsReady(name: string): Promise<void> {
    await eventually(async () => {
      const { status } = await this.client.get(resources.nodes, { name }, { signal });
      expect(status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
    }, soon);
  }

  async runPod(name: string, nodeName: string): Promise<void> {
    const spec = { nodeName, containers: [{ name: "main", image: "nginx" }] };
    await this.client.create(resources.pods, { metadata: { namespace: "default", name }, spec }, { signal });
    await eventually(async () => {
      const { status } = await this.client.get(resources.pods, { namespace: "default", name }, { signal });
      expect(status?.phase).toBe("Running");
    }, soon);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close();
    await rm(this.folder, { recursive: true });
  }
}

test("a node joins and runs pods through the kubeconfig's proxy, which asks for a user, and survives the proxy's restart", async () => {
  await using rig = await Rig.open();
  const env = { PROXY_USER: "ann:p@ss" };
  const first = await ProxyProcess.start(env);
  const { port } = first;
  await rig.kubeconfig({ "proxy-url": `http://ann:p%40ss@127.0.0.1:${port}` });
  await using program = new Program("--kubeconfig kubeconfig --provider mock --nodename vk-1 --health-addr off".split(" "), {
    cwd: rig.folder,
  });

  await rig.nodeIsReady("vk-1");
  await rig.runPod("one", "vk-1");
  expect(first.asked).toEqual([`CONNECT kubernetes.default:${rig.port} 200`]);
  await first[Symbol.asyncDispose]();
  await using second = await ProxyProcess.start({ ...env, PROXY_PORT: String(port) });
  await rig.runPod("two", "vk-1");
  program.kill("SIGTERM");

  expect(await program.exit).toBe(exitCodes.ok.code);
  expect(second.asked).toEqual([`CONNECT kubernetes.default:${rig.port} 200`]);
  expect(program.stderr).not.toContain("p@ss");
  expect(program.stderr).not.toContain("p%40ss");
});

test("a node joins through HTTPS_PROXY", async () => {
  await using rig = await Rig.open();
  await using proxy = await ProxyProcess.start();
  await rig.kubeconfig({});
  await using program = new Program("--kubeconfig kubeconfig --provider mock --nodename vk-1 --health-addr off".split(" "), {
    cwd: rig.folder,
    env: { HTTPS_PROXY: `127.0.0.1:${proxy.port}`, NO_PROXY: "example.com,10.0.0.0/8" },
  });

  await rig.nodeIsReady("vk-1");
  await rig.runPod("web", "vk-1");

  expect(proxy.asked).toEqual([`CONNECT kubernetes.default:${rig.port} 200`]);
});

test("a proxy that refuses its user is told to the operator, without the password", async () => {
  await using rig = await Rig.open();
  await using proxy = await ProxyProcess.start({ PROXY_USER: "ann:right" });
  const kubeconfig = await rig.kubeconfig({ "proxy-url": `http://ann:wrong@127.0.0.1:${proxy.port}` });
  await using transport = createHttpTransport({ credentials: await loadCredentials({ kubeconfig, env: {}, clock: systemClock }) });

  const error: unknown = await createKubeClient(transport)
    .raw("GET", "/version", undefined, { signal })
    .catch((thrown: unknown) => thrown);

  expect(String(error)).toContain(
    `proxy http://127.0.0.1:${proxy.port}: it answered CONNECT kubernetes.default:${rig.port} with 407 Proxy Authentication Required, expected 200; its user or password is wrong`,
  );
  expect(proxy.asked).toEqual([`CONNECT kubernetes.default:${rig.port} 407`]);
});

test("requests and watches through a proxy are another user's where the kubeconfig says so", async () => {
  await using rig = await Rig.open();
  await using proxy = await ProxyProcess.start();
  const who = {
    as: "ann",
    "as-uid": "17",
    "as-groups": ["system:masters", "dev"],
    "as-user-extra": { "example.com/Scopes": ["view", "edit"] },
  };
  const kubeconfig = await rig.kubeconfig({ "proxy-url": `http://127.0.0.1:${proxy.port}` }, who);
  await using transport = createHttpTransport({ credentials: await loadCredentials({ kubeconfig, env: {}, clock: systemClock }) });
  const client = createKubeClient(transport);

  const { status } = await client.create(selfSubjectReviews, {}, { signal });
  expect(status?.userInfo).toEqual({
    username: "ann",
    uid: "17",
    groups: ["system:masters", "dev", "system:authenticated"],
    extra: { "example.com/scopes": ["view", "edit"] },
  });

  const stop = new AbortController();
  const parts = { clock: systemClock, random: systemRandom, logger: silentLogger, metrics: noMetrics };
  const pods = new Reflector<Pod>({ client, resource: resources.pods, pool: "quiet", ...parts });
  const running = pods.run(stop.signal);
  await pods.synced;
  const spec = { containers: [{ name: "main", image: "nginx" }] };
  await rig.client.create(resources.pods, { metadata: { namespace: "default", name: "web" }, spec }, { signal });
  await eventually(() => expect(pods.store.getByName("default", "web")).toBeDefined(), soon);
  stop.abort();
  await running;
});

test("a user without rights who is impersonated has none", async () => {
  await using rig = await Rig.open();
  const kubeconfig = await rig.kubeconfig({ server: rig.server.url }, { as: "ann", "as-groups": ["dev"] });
  await using transport = createHttpTransport({ credentials: await loadCredentials({ kubeconfig, env: {}, clock: systemClock }) });

  await expect(createKubeClient(transport).list(resources.pods, {}, { signal })).rejects.toThrow('User "ann" cannot list resource "pods"');
});
