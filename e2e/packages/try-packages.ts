import { systemClock as clock, systemRandom as random } from "@virtual-kubelet/clock";
import { VirtualNode, type ProviderDefinition, type ProviderHost } from "@virtual-kubelet/core";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import {
  createHttpTransport,
  createKubeClient,
  loadCredentials,
  noMetrics as metrics,
  resources,
  silentLogger as logger,
  type Pod,
  type Transport,
} from "@virtual-kubelet/kube-client";
import { serveNode } from "@virtual-kubelet/kubelet-api";
import { provider as dockerProvider } from "@virtual-kubelet/provider-docker";
import { provider as kubernetesProvider } from "@virtual-kubelet/provider-kubernetes";
import { provider as mockProvider, type MockConfig } from "@virtual-kubelet/provider-mock";
import { provider as nomadProvider } from "@virtual-kubelet/provider-nomad";
import { provider as zunProvider } from "@virtual-kubelet/provider-zun";
import { freePort, startFileBackend } from "@virtual-kubelet/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Uses the packages as users do: `make test` runs this file in an otherwise empty project with each supported Node.js. Node.js 22 runs
// it without compilation, so it must not contain `using`.

const metadata = { namespace: "default", name: "web" };
const pod: Pod = { metadata, spec: { nodeName: "n1", containers: [{ name: "main", image: "none" }] } };

/** Runs a pod on a node that uses the API server over HTTPS, reads the pod's log from the node's server, and stops both. */
async function runNode(server: ApiServer, transport: Transport): Promise<ProviderHost> {
  const stop = new AbortController();
  const { signal } = stop;
  const parts = { client: createKubeClient(transport), clock, random, logger, metrics };
  const hosts: ProviderHost[] = [];
  const provider: ProviderDefinition<MockConfig> = {
    ...mockProvider,
    create: (host, config) => {
      hosts.push(host);
      return mockProvider.create(host, config);
    },
  };
  const port = await freePort();
  const node = new VirtualNode({
    ...parts,
    provider,
    providerConfig: { stages: [{ log: "hello" }] },
    node: { name: "n1", address: "127.0.0.1", kubeletPort: port, instance: { identity: "try-packages" } },
  });
  const kubelet = await serveNode(node, { ...parts, host: "127.0.0.1" });
  const running = node.run(signal);
  try {
    await Promise.race([podRuns(server), running]);
    const log = await parts.client.raw("GET", "/api/v1/namespaces/default/pods/web/log", undefined, { signal });
    const [taint] = node.node?.spec?.taints ?? [];
    if (taint?.key !== "virtual-kubelet.io/provider") throw new Error(`the node's first taint is ${JSON.stringify(taint)}`);
    if (log !== "hello\n") throw new Error(`the pod's log is ${JSON.stringify(log)}, expected "hello\\n"`);
  } finally {
    stop.abort();
    await running.catch((error: unknown) => {
      if (error !== signal.reason) throw error;
    });
    await kubelet[Symbol.asyncDispose]();
  }
  const [host] = hosts;
  if (host === undefined) throw new Error("the provider was not created");
  return host;
}

/** Creates the pod and waits until it is Running. */
async function podRuns(server: ApiServer): Promise<void> {
  const client = createKubeClient(server.transport());
  const { signal } = new AbortController();
  const { metadata: created } = await client.create(resources.pods, pod, { signal });
  const events = await client.watch(resources.pods, { namespace: "default", resourceVersion: created?.resourceVersion ?? "" }, { signal });
  for await (const event of events) if (event.type === "MODIFIED" && event.object.status?.phase === "Running") return;
  throw new Error("the watch ended before the pod was Running");
}

/** Creates a provider without a reachable back end, and disposes it. */
async function createAndEnd<C>(definition: ProviderDefinition<C>, config: unknown, host: ProviderHost): Promise<void> {
  const parsed = definition.configSchema.safeParse(config);
  if (!parsed.success) throw new Error(`configuration of ${definition.name}: ${JSON.stringify(parsed.error.issues)}`);
  const provider = await definition.create(host, parsed.data);
  await provider[Symbol.asyncDispose]?.();
}

const folder = await mkdtemp(join(tmpdir(), "vk-try-"));
const server = await startApiServer();
try {
  const kubeconfig = join(folder, "kubeconfig");
  await server.writeKubeconfig(kubeconfig);
  const transport = createHttpTransport({ credentials: await loadCredentials({ env: { KUBECONFIG: kubeconfig }, clock }) });
  let host: ProviderHost;
  try {
    host = await runNode(server, transport);
  } finally {
    await transport[Symbol.asyncDispose]();
  }
  await createAndEnd(
    dockerProvider,
    { host: `unix://${folder}/docker.sock`, rootDirectory: join(folder, "docker"), log: { links: false } },
    host,
  );
  await createAndEnd(kubernetesProvider, { cluster: { kubeconfig } }, host);
  await createAndEnd(nomadProvider, { address: "http://127.0.0.1:1" }, host);
  await createAndEnd(zunProvider, { authUrl: "http://127.0.0.1:1/v3", token: "none", projectId: "p1" }, host);
  await (await startFileBackend())[Symbol.asyncDispose]();
} finally {
  await server.close();
  await rm(folder, { recursive: true });
}
process.stdout.write(`tried on Node.js ${process.version}\n`);
