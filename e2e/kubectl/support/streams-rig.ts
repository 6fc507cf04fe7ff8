import { systemClock as clock, systemRandom as random } from "@virtual-kubelet/clock";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VirtualNode } from "@virtual-kubelet/core";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import {
  createKubeClient,
  resources,
  silentLogger as logger,
  type KubeClient,
  type Metrics,
  type PodSpec,
} from "@virtual-kubelet/kube-client";
import {
  ClientCaConfigMap,
  createAccessControl,
  createServingCertificate,
  noCertificateStore,
  openCertificateManager,
  servingNamesOf,
  startKubeletServer,
} from "@virtual-kubelet/kubelet-api";
import { provider } from "@virtual-kubelet/provider-mock";
import type { UpgradeTarget } from "@virtual-kubelet/streaming";
import { eventually, freePort } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { CountingMetrics } from "../../control-plane/support/counting-metrics.ts";
import { KubectlRunner } from "../../interop/support/kubectl-runner.ts";

const idle = new AbortController().signal;
const namespace = "default";

/** Options of a kubectl. */
export interface KubectlWish {
  readonly env?: Readonly<Record<string, string>>;
  /** User; default: the administrator. */
  readonly user?: string;
}

/** Options of a pod on the mock provider. */
export interface PodWish {
  readonly node: string;
  /** Annotations of the mock's script, without their domain. */
  readonly script?: Readonly<Record<string, string>>;
  /** Default: one container `main` with the ports 80 and 8080. */
  readonly containers?: PodSpec["containers"];
}

/**
 * The embedded API server, and two nodes with the mock provider and their own servers, which kubectl reaches through it. The node
 * `declared` declares that it supports WebSockets, and the node `plain` does not.
 */
export class StreamsRig implements AsyncDisposable {
  readonly #server: ApiServer;
  readonly #folder: string;
  readonly #client: KubeClient;
  readonly #metrics: ReadonlyMap<string, CountingMetrics>;
  readonly #ends: AsyncDisposableStack;

  private constructor(server: ApiServer, folder: string, metrics: ReadonlyMap<string, CountingMetrics>, ends: AsyncDisposableStack) {
    this.#server = server;
    this.#folder = folder;
    this.#client = createKubeClient(server.transport());
    this.#metrics = metrics;
    this.#ends = ends;
  }

  /** @param objects - initial objects of the API server */
  static async open(objects: readonly object[] = []): Promise<StreamsRig> {
    await using ends = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), "vk-streams-"));
    ends.defer(() => rm(folder, { recursive: true }));
    const server = await startApiServer({ objects });
    ends.defer(() => server.close());
    await server.writeKubeconfig(join(folder, "admin"));
    const metrics = new Map<string, CountingMetrics>();
    for (const [name, declaredFeatures] of [
      ["declared", ["ExtendWebSocketsToKubelet"]],
      ["plain", []],
    ] as const) {
      const counting = new CountingMetrics();
      ends.use(await startNode(server, { name, declaredFeatures, metrics: counting }));
      metrics.set(name, counting);
    }
    return new StreamsRig(server, folder, metrics, ends.move());
  }

  /** Number of WebSocket requests that a node has received. */
  webSockets(node: string, subresource: "exec" | "portforward"): number {
    return this.#metrics.get(node)?.total("kubelet_websocket_streaming_requests_total", { subresource }) ?? 0;
  }

  /** Returns the target of a user's upgrade request. */
  target(path: string, user: string): UpgradeTarget {
    const { certificate: cert, key } = this.#server.issueClientCertificate(user);
    return { url: `${this.#server.url}${path}`, tls: { ca: this.#server.caPem, cert, key } };
  }

  /** Private folder of this rig. */
  get folder(): string {
    return this.#folder;
  }

  /** Creates a pod and waits until it runs. */
  async run(name: string, { node, script = {}, containers }: PodWish): Promise<void> {
    const annotations = Object.fromEntries(Object.entries(script).map(([key, value]) => [`mock.virtual-kubelet.io/${key}`, value]));
    const main = { name: "main", image: "busybox", ports: [{ containerPort: 80 }, { containerPort: 8080 }] };
    const spec = { nodeName: node, containers: containers ?? [main] };
    await this.#client.create(resources.pods, { metadata: { name, namespace, annotations }, spec }, { signal: idle });
    await eventually(
      async () =>
        expect((await this.#client.get(resources.pods, { namespace, name }, { signal: idle })).status).toMatchObject({ phase: "Running" }),
      { timeoutMs: 60_000, describe: `pod ${name} to run` },
    );
  }

  async kubectl(program: string, { env, user }: KubectlWish = {}): Promise<KubectlRunner> {
    const kubeconfig = join(this.#folder, user ?? "admin");
    if (user !== undefined) await this.#server.writeKubeconfig(kubeconfig, { user });
    return new KubectlRunner({ program, kubeconfig, directory: this.#folder, namespace, env });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#ends.disposeAsync();
  }
}

/** Starts a node with its server, as the program does. */
async function startNode(
  server: ApiServer,
  { name, declaredFeatures, metrics }: { readonly name: string; readonly declaredFeatures: readonly string[]; readonly metrics: Metrics },
): Promise<AsyncDisposable> {
  const stop = new AbortController();
  await using ends = new AsyncDisposableStack();
  const parts = { client: createKubeClient(server.transport()), clock, random, logger, metrics };
  const kubeletPort = await freePort();
  const options = { name, address: "127.0.0.1", kubeletPort, declaredFeatures, instance: { identity: name } };
  const node = new VirtualNode({ ...parts, provider, providerConfig: {}, node: options });
  const clientCa = new ClientCaConfigMap(parts);
  const certificate = await openCertificateManager({
    ...parts,
    nodeName: name,
    names: () => node.node && servingNamesOf(node.node.status?.addresses ?? []),
    bootstrap: false,
    store: noCertificateStore,
  });
  const running = [node.run(stop.signal), clientCa.run(stop.signal), certificate.run(stop.signal)];
  ends.defer(async () => void (await Promise.all(running)));
  ends.defer(() => stop.abort());
  ends.use(
    await startKubeletServer({
      nodes: [{ access: node.access }],
      host: "127.0.0.1",
      port: kubeletPort,
      accessControl: createAccessControl({ ...parts, clientCa, lifetime: stop.signal }),
      certificate: createServingCertificate(certificate, clientCa),
      renderMetrics: () => "own 1\n",
      metrics,
    }),
  );
  await node.ready;
  return ends.move();
}
