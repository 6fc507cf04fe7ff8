import { systemClock } from "@virtual-kubelet/clock";
import { VirtualNode } from "@virtual-kubelet/core";
import { createHttpTransport, createKubeClient, loadCredentials } from "@virtual-kubelet/kube-client";
import { provider } from "@virtual-kubelet/provider-mock";

const stop = new AbortController();
process.once("SIGINT", () => stop.abort());

const credentials = await loadCredentials({ env: process.env, clock: systemClock });
await using transport = createHttpTransport({ credentials });

const node = new VirtualNode({
  client: createKubeClient(transport),
  provider,
  providerConfig: { pods: 100 },
  node: { name: "my-node", instance: { identity: "my-program" } },
});
await node.run(stop.signal);
