import { startControlPlane, type ControlPlaneAccess } from "@virtual-kubelet/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startProgramNode } from "../support/program-node.ts";
import { startNode, type NodeOptions } from "./node.ts";

/** Where the far cluster's node serves the kubelet's API. */
const farKubeletPort = 10251;

/**
 * Starts a second cluster with a Docker node as in {@link startNode}, and the program with the provider `kubernetes`, whose node runs its
 * pods there; returns when the node is Ready. The policy applies to both nodes.
 */
export async function startVirtualNode(options: NodeOptions): Promise<AsyncDisposable> {
  const { controlPlane, name, address, kubeletPort, directory, policy } = options;
  await using cleanup = new AsyncDisposableStack();
  const far: ControlPlaneAccess = cleanup.use(
    await startControlPlane({ flags: { "kube-apiserver": { "advertise-address": address, "allow-privileged": "true" } } }),
  );
  cleanup.use(await startNode({ ...options, controlPlane: far, name: "far", kubeletPort: farKubeletPort, isMachine: true }));
  const home = await mkdtemp(join(tmpdir(), "vk-node-"));
  cleanup.defer(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
  const providerConfig = {
    cluster: { kubeconfig: far.kubeconfig.path },
    // The tests' namespaces are made while they run.
    namespaces: { mode: "same", create: true },
    carry: { serviceAccountToken: "home" },
    network: { serviceVariables: "home" },
    ...(policy && { policy }),
  };
  const words = ["--log-level", "debug"];
  cleanup.use(
    await startProgramNode({ controlPlane, name, provider: "kubernetes", providerConfig, address, kubeletPort, directory, home, words }),
  );
  return cleanup.move();
}
