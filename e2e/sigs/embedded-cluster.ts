import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { PrivateEngine } from "../docker/support/private-engine.ts";
import { openPolicy } from "../kubernetes/node-policies.ts";
import { startNode } from "../kubernetes/node.ts";
import { importStandIns } from "../kubernetes/stand-in-images.ts";
import { Kubectl } from "../support/kubectl.ts";
import type { ProgramNodeOptions } from "../support/program-node.ts";

/** Options of {@link startEmbeddedCluster}. */
export interface EmbeddedClusterOptions {
  /** Folder for the kubeconfig and the logs. */
  readonly directory: string;
  /** Address of server and nodes that their pods reach. */
  readonly address: string;
  /** Number of nodes, which share one engine. */
  readonly nodes: number;
  /** Folder of the programs that `ensureKubernetesE2e` builds. */
  readonly programs: string;
  /** Path of kubectl. */
  readonly kubectl: string;
}

/** A cluster whose API server is the embedded one. */
export interface EmbeddedCluster extends AsyncDisposable {
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
}

/** Starts an embedded API server, and nodes of the Docker provider; returns when the nodes are Ready. */
export async function startEmbeddedCluster(options: EmbeddedClusterOptions): Promise<EmbeddedCluster> {
  const { directory, address, nodes, programs, kubectl } = options;
  await using cleanup = new AsyncDisposableStack();
  mkdirSync(directory, { recursive: true });
  const engine = cleanup.use(await PrivateEngine.start());
  await importStandIns(engine.api, programs);
  const server = cleanup.use(await startApiServer({ host: address }));
  const kubeconfig = join(directory, "kubeconfig");
  await server.writeKubeconfig(kubeconfig);
  const client = new Kubectl(kubectl, directory);
  const controlPlane: ProgramNodeOptions["controlPlane"] = {
    kubeconfig: { path: kubeconfig },
    kubectl: (words) => client.try(words.join(" ")),
  };
  const dockerHost = engine.api.host;
  const sandboxImage = "registry.k8s.io/pause:3.10.2";
  for (let index = 1; index <= nodes; index++) {
    const name = `node-${String(index)}`;
    const kubeletPort = 10_249 + index;
    cleanup.use(await startNode({ controlPlane, name, dockerHost, sandboxImage, address, kubeletPort, directory, policy: openPolicy }));
  }
  const all = cleanup.move();
  return { kubeconfig, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
