import { podRef, VirtualNode, type AttachIO, type PodRef, type Provider } from "@virtual-kubelet/core";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type KubeClient } from "@virtual-kubelet/kube-client";
import { kubernetesProvider } from "@virtual-kubelet/provider-kubernetes";
import { eventually, freePort } from "@virtual-kubelet/testing";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { duplexPair, PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FarProcessCluster } from "../support/far-process-cluster/far-process-cluster.ts";
import { farConfig, homeNode } from "../support/far-process-cluster/messages.ts";
import { ProxyProcess } from "./support/proxy-process.ts";
import { soon } from "./support/program-rig.ts";

const { signal } = new AbortController();
const namespace = "default";
let far: FarProcessCluster;
let folder: string;

/** Fields of a kubeconfig that these tests change. */
interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: Record<string, unknown> & { readonly server: string } }[];
  readonly users: readonly { user: object }[];
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-far-connection-"));
  far = await FarProcessCluster.open();
});
afterAll(async () => {
  await far[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** Writes a changed copy of the far kubeconfig. @returns its path */
async function kubeconfigWith(change: (config: Kubeconfig) => void): Promise<string> {
  const config = JSON.parse(await readFile(far.kubeconfig, "utf8")) as Kubeconfig;
  change(config);
  const file = join(folder, "kubeconfig");
  await writeFile(file, JSON.stringify(config));
  return file;
}

/** A virtual node in a home cluster of its own, and its provider. */
class Home implements AsyncDisposable {
  readonly client: KubeClient;
  readonly provider: Provider;
  readonly #ends: AsyncDisposableStack;

  private constructor(client: KubeClient, provider: Provider, ends: AsyncDisposableStack) {
    this.client = client;
    this.provider = provider;
    this.#ends = ends;
  }

  static async open(kubeconfig: string, env: Readonly<Record<string, string | undefined>>): Promise<Home> {
    await using ends = new AsyncDisposableStack();
    const server = ends.use(await startApiServer({ listen: false }));
    const client = createKubeClient(server.transport());
    const definition = kubernetesProvider({ env });
    const config = definition.configSchema.safeParse({
      ...farConfig,
      cluster: { kubeconfig },
      // The far node is a virtual one, which does not count.
      node: { capacity: { cpu: "4", memory: "4Gi", pods: "10" } },
    });
    if (!config.success) throw new Error(JSON.stringify(config.error.issues));
    const opened = Promise.withResolvers<Provider>();
    const node = new VirtualNode({
      client,
      provider: {
        ...definition,
        async create(host) {
          const provider = await definition.create(host, config.data);
          opened.resolve(provider);
          return provider;
        },
      },
      providerConfig: config.data,
      clusterId: "home-1",
      node: { name: homeNode, pingIntervalMs: 500, instance: { identity: "one" } },
    });
    const stop = new AbortController();
    const running = node.run(stop.signal);
    ends.defer(async () => {
      stop.abort();
      await running;
    });
    await node.ready;
    return new Home(client, await opened.promise, ends.move());
  }

  /** Creates a pod, and waits until it runs. */
  async run(name: string, command: readonly string[]): Promise<PodRef> {
    const containers = [{ name: "main", image: "none", command: [...command] }];
    const spec = { nodeName: homeNode, terminationGracePeriodSeconds: 1, containers };
    const pod = await this.client.create(resources.pods, { metadata: { namespace, name }, spec }, { signal });
    await eventually(async () => {
      const { status } = await this.client.get(resources.pods, { namespace, name }, { signal });
      expect(status?.phase, JSON.stringify(status)).toBe("Running");
    }, soon);
    return podRef(pod);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ends[Symbol.asyncDispose]();
  }
}

/** A pod comes, is seen, and is reached in every way: requests, watches, a log, a command and a port. */
async function usesEverything({ client, provider }: Home, run: (command: readonly string[]) => Promise<PodRef>): Promise<void> {
  const port = await freePort();
  const script = `console.log("begun");require("node:net").createServer((s) => s.end("served")).listen(${port}, "127.0.0.1")`;
  const ref = await run([process.execPath, "-e", script]);

  const options = { follow: false, previous: false, timestamps: false };
  await eventually(async () => {
    const logs = await provider.getContainerLogs?.(ref, "main", options, signal);
    let output = "";
    for await (const chunk of logs?.data ?? []) output += chunk.toString();
    expect(output).toBe("begun\n");
  }, soon);

  const stdout = new PassThrough();
  const io: AttachIO = {
    stdin: undefined,
    stdout,
    stderr: undefined,
    tty: false,
    resizes: (async function* () {})(),
  };
  const said = text(stdout);
  expect(await provider.runInContainer?.(ref, "main", ["sh", "-c", "echo done; exit 3"], io, signal)).toEqual({ exitCode: 3 });
  stdout.end();
  expect(await said).toBe("done\n");

  const [near, inner] = duplexPair();
  const forwarded = provider.portForward?.(ref, port, inner, signal);
  near.end();
  expect(await text(near)).toBe("served");
  await forwarded;

  await client.delete(resources.pods, { namespace, name: ref.name }, {}, { signal });
  await eventually(async () => expect(await far.leftovers()).not.toContainEqual(expect.stringMatching(/^Pod /)), soon);
}

/** A kubeconfig for a server whose name is known only to a proxy. */
function namedFar(fields: object): Promise<string> {
  return kubeconfigWith(({ clusters }) => {
    for (const { cluster } of clusters)
      Object.assign(cluster, fields, { server: `https://kubernetes.default:${new URL(cluster.server).port}` });
  });
}

test("a proxy of the far kubeconfig, which asks for a user, leads to the far cluster, also for logs, commands and ports", async () => {
  await using proxy = await ProxyProcess.start({ PROXY_USER: "ann:p@ss" });
  await using home = await Home.open(await namedFar({ "proxy-url": `http://ann:p%40ss@127.0.0.1:${proxy.port}` }), {});

  await usesEverything(home, (command) => home.run("kubeconfig-proxy", command));

  expect(proxy.asked).toEqual([expect.stringMatching(/^CONNECT kubernetes\.default:\d+ 200$/)]);
});

test("HTTPS_PROXY leads to the far cluster", async () => {
  await using proxy = await ProxyProcess.start();
  const env = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`, NO_PROXY: "example.com" };
  await using home = await Home.open(await namedFar({}), env);

  await usesEverything(home, (command) => home.run("environment-proxy", command));

  expect(proxy.asked).toEqual([expect.stringMatching(/^CONNECT kubernetes\.default:\d+ 200$/)]);
});

test("a server in NO_PROXY is reached directly", async () => {
  await using proxy = await ProxyProcess.start();
  const env = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`, NO_PROXY: "127.0.0.0/8,localhost" };
  await using home = await Home.open(await kubeconfigWith(() => {}), env);

  await usesEverything(home, (command) => home.run("no-proxy", command));

  expect(proxy.asked).toEqual([]);
});

test("a command of the far kubeconfig hands out the token, with the variables of the program and of the kubeconfig, and runs again when the token is refused", async () => {
  const account = `/api/v1/namespaces/${farConfig.namespaces.name}/serviceaccounts/virtual-kubelet-${homeNode}`;
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const granted = (await far.client.raw("POST", `${account}/token`, request, { signal })) as {
    readonly status: { readonly token: string };
  };
  const command = join(folder, "login");
  // The first token is an old one, as after the far cluster has changed its keys.
  const body = `echo "$PROFILE $REGION" >> "${folder}/runs"
[ "$(wc -l < "${folder}/runs")" -gt 1 ] && token="$FAR_TOKEN" || token=old
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$token"`;
  await writeFile(command, `#!/bin/sh\n${body}\n`);
  await chmod(command, 0o755);
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "login",
    env: [{ name: "PROFILE", value: "far" }],
    interactiveMode: "Never",
  };
  const kubeconfig = await kubeconfigWith((config) => {
    for (const entry of config.users) entry.user = { exec };
  });
  const env = { PATH: `${folder}:${process.env["PATH"]}`, REGION: "north", FAR_TOKEN: granted.status.token };

  await using home = await Home.open(kubeconfig, env);
  await usesEverything(home, (words) => home.run("credential-command", words));

  // Once for the old token, and once more; all requests, watches and streams share what it hands out.
  expect(await readFile(join(folder, "runs"), "utf8")).toBe("far north\nfar north\n");
});
