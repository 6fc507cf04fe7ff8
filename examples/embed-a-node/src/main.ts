import { systemClock } from "@virtual-kubelet/clock";
import { VirtualNode } from "@virtual-kubelet/core";
import { createHttpTransport, createKubeClient, loadCredentials } from "@virtual-kubelet/kube-client";
import { serveNode } from "@virtual-kubelet/kubelet-api";
import { provider } from "@virtual-kubelet/provider-mock";

const stop = new AbortController();
process.once("SIGINT", () => stop.abort());

const credentials = await loadCredentials({ env: process.env, clock: systemClock });
await using transport = createHttpTransport({ credentials });
const client = createKubeClient(transport);

const node = new VirtualNode({
  client,
  provider,
  providerConfig: { pods: 100 },
  node: { name: "my-node", kubeletPort: 10250, instance: { identity: "my-program" } },
});
await using _server = await serveNode(node, { client }); // for kubectl logs and exec
await node.run(stop.signal);
