import { SharedCluster, VirtualNode } from "@virtual-kubelet/core";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type KubeClient, type Transport } from "@virtual-kubelet/kube-client";
import { provider as mock } from "@virtual-kubelet/provider-mock";
import { eventually } from "@virtual-kubelet/testing";
import { expect, test } from "vitest";

const idle = new AbortController().signal;

const names = Array.from({ length: 30 }, (_, index) => `node-${index}`);

test("thirty nodes share one watch of pods and one of Nodes, and each runs its own pods", async () => {
  await using program = await Program.start();
  program.run(names);
  await program.runsPodOn(names);

  // Of an object that a pod names, there can be more.
  const watched = program.watches.filter(({ plural }) => plural === "pods" || plural === "nodes");
  expect(watched).toEqual([
    { plural: "pods", fieldSelector: "spec.nodeName!=" },
    { plural: "nodes", fieldSelector: null },
  ]);
});

test("a node that starts later runs the pods that were bound to it before", async () => {
  await using program = await Program.start();
  program.run(["first"]);
  await program.runsPodOn(["first"]);
  await program.createPod("waiting", "later");

  program.run(["later"]);
  await program.runsPodOn(["later"]);

  await program.isRunning("waiting");
  expect(program.watches.filter(({ plural }) => plural === "pods")).toHaveLength(1);
});

test("where the watch of all pods is refused, each node watches its own, and runs its pods", async () => {
  await using program = await Program.start();
  program.server.faults.inject({ path: /nodeName(!|%21)(=|%3D)/ }, { kind: "status", status: 403 });
  program.run(names.slice(0, 10));
  await program.runsPodOn(names.slice(0, 10));

  const selectors = program.watches.filter(({ plural }) => plural === "pods").map(({ fieldSelector }) => fieldSelector);
  for (const name of names.slice(0, 10)) expect(selectors).toContain(`spec.nodeName=${name}`);
  expect(program.watches.filter(({ plural }) => plural === "nodes")).toHaveLength(1);
});

interface OpenedWatch {
  readonly plural: string;
  readonly fieldSelector: string | null;
}

/** Nodes of one program on an embedded API server. */
class Program implements AsyncDisposable {
  readonly server: ApiServer;
  /** Every watch that the program has opened. */
  readonly watches: OpenedWatch[] = [];
  readonly #client: KubeClient;
  readonly #user: KubeClient;
  readonly #shared: SharedCluster;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];

  private constructor(server: ApiServer) {
    this.server = server;
    this.#user = createKubeClient(server.transport());
    this.#client = createKubeClient(this.#counted(server.transport()));
    this.#shared = new SharedCluster({ client: this.#client });
  }

  static async start(): Promise<Program> {
    return new Program(await startApiServer({ listen: false }));
  }

  run(nodes: readonly string[]): void {
    for (const name of nodes) {
      const node = new VirtualNode({
        client: this.#client,
        shared: this.#shared,
        provider: mock,
        providerConfig: {},
        node: { name, taints: [], instance: { identity: "program" } },
      });
      this.#running.push(node.run(this.#stop.signal));
    }
  }

  async createPod(name: string, nodeName: string): Promise<void> {
    const spec = { nodeName, containers: [{ name: "main", image: "nginx" }] };
    await this.#user.create(resources.pods, { metadata: { namespace: "default", name }, spec }, { signal: idle });
  }

  /** Creates a pod on each node and waits until all of them run. */
  async runsPodOn(nodes: readonly string[]): Promise<void> {
    for (const name of nodes) await this.createPod(`on-${name}`, name);
    for (const name of nodes) await this.isRunning(`on-${name}`);
  }

  async isRunning(name: string): Promise<void> {
    await eventually(
      async () => {
        const { status } = await this.#user.get(resources.pods, { namespace: "default", name }, { signal: idle });
        expect(status?.phase).toBe("Running");
      },
      { timeoutMs: 60_000 },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
    this.#shared[Symbol.dispose]();
    await this.server.close();
  }

  #counted(transport: Transport): Transport {
    return {
      request: (request) => {
        const { pathname, searchParams } = new URL(request.path, "http://server");
        if (searchParams.has("watch"))
          this.watches.push({ plural: pathname.split("/").at(-1) ?? "", fieldSelector: searchParams.get("fieldSelector") });
        return transport.request(request);
      },
      [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
    };
  }
}
