import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type KubeClient, type Node, type Pod } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Program, type ProgramOptions } from "../../support/program.ts";

const signal = new AbortController().signal;

/** Timeout for {@link eventually}: programs start slowly on a busy machine. */
export const soon = { timeoutMs: 150_000 };

/** An API server over HTTPS, a directory with its kubeconfig, and programs that run there. */
export class ProgramRig implements AsyncDisposable {
  readonly server: ApiServer;
  readonly client: KubeClient;
  readonly folder: string;

  private constructor(server: ApiServer, folder: string) {
    this.server = server;
    this.client = createKubeClient(server.transport());
    this.folder = folder;
  }

  /** @param objects - that the server has from the start; default: its own only */
  static async open(objects: readonly object[] = []): Promise<ProgramRig> {
    const folder = await mkdtemp(join(tmpdir(), "vk-e2e-"));
    const server = await startApiServer({ objects });
    await writeFile(join(folder, "kubeconfig"), server.kubeconfig());
    return new ProgramRig(server, folder);
  }

  run(words: string, options: Partial<ProgramOptions> = {}): Program {
    return new Program(["--kubeconfig", "kubeconfig", "--health-addr", "off", ...words.split(" ")], { cwd: this.folder, ...options });
  }

  node(name: string): Promise<Node> {
    return this.client.get(resources.nodes, { name }, { signal });
  }

  async nodeIsReady(name: string): Promise<void> {
    await eventually(async () => {
      const ready = (await this.node(name)).status?.conditions?.find(({ type }) => type === "Ready");
      if (ready?.status !== "True") throw new Error(`node ${name}: Ready is ${ready?.status}: ${ready?.message}`);
    }, soon);
  }

  async createPod(name: string, nodeName: string, annotations: Record<string, string> = {}): Promise<void> {
    const spec = { nodeName, containers: [{ name: "main", image: "nginx" }] };
    await this.client.create(resources.pods, { metadata: { namespace: "default", name, annotations }, spec }, { signal });
  }

  pod(name: string): Promise<Pod> {
    return this.client.get(resources.pods, { namespace: "default", name }, { signal });
  }

  async podIsRunning(name: string): Promise<void> {
    await eventually(async () => {
      const { status } = await this.pod(name);
      if (status?.phase !== "Running") throw new Error(`pod ${name} is ${status?.phase}: ${status?.message}`);
    }, soon);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close();
    await rm(this.folder, { recursive: true });
  }
}
