import { VirtualNode } from "@virtual-kubelet/core";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient } from "@virtual-kubelet/kube-client";
import { provider as mock } from "@virtual-kubelet/provider-mock";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Kubectl } from "../../support/kubectl.ts";

/** An embedded API server over HTTPS, with virtual nodes, and a kubectl that talks to it. */
export class KubectlRig implements AsyncDisposable {
  readonly kubectl: Kubectl;
  readonly #server: ApiServer;
  readonly #folder: string;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];

  private constructor(server: ApiServer, folder: string, program: string) {
    this.#server = server;
    this.#folder = folder;
    this.kubectl = new Kubectl(program, folder);
  }

  static async open(program: string, nodes: readonly string[]): Promise<KubectlRig> {
    const folder = await mkdtemp(join(tmpdir(), "vk-kubectl-"));
    const server = await startApiServer();
    await writeFile(join(folder, "kubeconfig"), server.kubeconfig());
    const rig = new KubectlRig(server, folder, program);
    for (const name of nodes) await rig.#addNode(name);
    return rig;
  }

  async #addNode(name: string): Promise<void> {
    const client = createKubeClient(this.#server.transport());
    const node = new VirtualNode({ client, provider: mock, providerConfig: {}, node: { name, taints: [], instance: { identity: name } } });
    this.#running.push(node.run(this.#stop.signal));
    await node.ready;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
    await this.#server.close();
    await rm(this.#folder, { recursive: true });
  }
}
