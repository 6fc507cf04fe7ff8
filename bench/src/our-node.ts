/**
 * Our node in its own process, with settings that the program does not offer. On SIGUSR2 it collects garbage and prints its heap
 * in bytes (run it with --expose-gc).
 *
 * Usage: our-node.ts KUBECONFIG NODE [--http2]
 */
import { systemClock } from "@virtual-kubelet/clock";
import { VirtualNode } from "@virtual-kubelet/core";
import { createHttpTransport, createKubeClient, loadCredentials } from "@virtual-kubelet/kube-client";
import { provider } from "@virtual-kubelet/provider-mock";

const [kubeconfig = "", name = "", ...flags] = process.argv.slice(2);
const http2 = flags.includes("--http2");
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
process.on("SIGUSR2", () => {
  globalThis.gc?.();
  process.stdout.write(`${process.memoryUsage().heapUsed}\n`);
});

const credentials = await loadCredentials({ kubeconfig, env: {}, clock: systemClock });
await using transport = createHttpTransport({
  credentials,
  pools: http2 ? { short: { http2, connections: 1 }, long: { http2, connections: 1 } } : { quiet: { http2 } },
});
const node = new VirtualNode({
  client: createKubeClient(transport),
  provider,
  providerConfig: { [name]: { cpu: "10k", memory: "100Ti", pods: "10000" } },
  node: { name, taints: [], instance: { identity: name } },
});
await node.run(stop.signal);
