// The far cluster's own process; see far-process-cluster.ts, which starts it.
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VirtualNode } from "@virtual-kubelet/core";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient } from "@virtual-kubelet/kube-client";
import { serveNode } from "@virtual-kubelet/kubelet-api";
import { provider as kubernetes } from "@virtual-kubelet/provider-kubernetes";
import { freePort } from "@virtual-kubelet/testing";
import { provider } from "../../real-process-provider/provider.ts";
import { farConfig, homeNode, type FarMessage, type FarOrder } from "./messages.ts";

await using ends = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), "vk-far-"));
ends.defer(() => rm(folder, { recursive: true, force: true }));
const { name: namespace } = farConfig.namespaces;
const config = kubernetes.configSchema.safeParse(farConfig);
if (!config.success) throw new Error(JSON.stringify(config.error.issues));
const rights = kubernetes.backEndManifest?.(config.data, { nodeName: homeNode });
const objects = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
  ...(rights?.objects ?? []).map(({ object }) => object),
];
const server = ends.use(await startApiServer({ objects }));
const homeUser = `system:serviceaccount:${namespace}:virtual-kubelet-${homeNode}`;
const kubeconfigs = { home: join(folder, "home"), admin: join(folder, "admin") };
await server.writeKubeconfig(kubeconfigs.home, { user: homeUser, groups: ["system:serviceaccounts", "system:authenticated"] });
await server.writeKubeconfig(kubeconfigs.admin);
await startNode(server, join(folder, "pods"));

const over = Promise.withResolvers<void>();
let faults = ends.use(new DisposableStack());
process.on("disconnect", over.resolve);
process.on("message", (order: FarOrder) => {
  faults.dispose();
  if (!order.fail) return;
  const match = { ...order.fail, user: homeUser };
  faults = new DisposableStack();
  // The first rule that matches fails a request. The node knows of the failure when it cannot watch pods any more.
  const ofPods = faults.use(server.faults.inject({ ...match, resource: "pods" }, { kind: "reset" }));
  faults.use(server.faults.inject(match, { kind: "reset" }));
  faults.use(server.faults.disrupt(match, { kind: "cut", cutOff: "reset" }));
  const look = setInterval(() => {
    if (ofPods.hits > 0) say({ failing: true });
    if (ofPods.hits > 0 || faults.disposed) clearInterval(look);
  }, 10);
});
say({ ready: { kubeconfigs, version: server.version } });
await over.promise;

function say(message: FarMessage): void {
  process.send?.(message);
}

/** Runs the node until the process ends; returns when it is ready. */
async function startNode(cluster: ApiServer, directory: string): Promise<void> {
  await mkdir(directory);
  const client = createKubeClient(cluster.transport());
  const stop = new AbortController();
  const node = new VirtualNode({
    client,
    provider,
    providerConfig: { directory },
    node: { name: "far-1", address: "127.0.0.1", kubeletPort: await freePort(), taints: [], instance: { identity: "far-1" } },
  });
  ends.use(await serveNode(node, { client, host: "127.0.0.1" }));
  const running = node.run(stop.signal);
  ends.defer(async () => {
    stop.abort(new Error("the test is over"));
    await running;
  });
  await node.ready;
}
