import type { ProviderDefinition } from "@virtual-kubelet/core";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, type Transport } from "@virtual-kubelet/kube-client";
import { provider as mock } from "@virtual-kubelet/provider-mock";
import { expect, test, vi } from "vitest";
import { openNodes, type OpenedNodes } from "./open-nodes.ts";
import type { PlannedNode } from "./plan-nodes.ts";

const found = Array.from({ length: 20 }, (_, index) => `worker-${index}`);

test("nodes that a provider discovers share one watch of pods and one of Nodes", async () => {
  await using program = await Program.run([planned("far", discovering(found))]);

  expect(program.watches).toEqual(["nodes", "pods spec.nodeName!="]);
});

test("discovered nodes watch their own pods where the watch of all is refused", async () => {
  await using program = await Program.run([planned("far", discovering(found.slice(0, 2)))], (server) =>
    server.faults.inject({ path: /nodeName(!|%21)(=|%3D)/ }, { kind: "status", status: 403 }),
  );

  expect(program.watches).toEqual(expect.arrayContaining(["nodes", "pods spec.nodeName=far-worker-0", "pods spec.nodeName=far-worker-1"]));
});

test("nodes of the settings share watches if they are ten or more", async () => {
  const named = (count: number): PlannedNode[] => Array.from({ length: count }, (_, index) => planned(`vk-${index}`, mock));
  await using few = await Program.run(named(9));
  await using many = await Program.run(named(10));

  expect(few.watches).toHaveLength(18);
  expect(few.watches).toEqual(expect.arrayContaining(["nodes metadata.name=vk-8", "pods spec.nodeName=vk-8"]));
  expect(many.watches).toEqual(["nodes", "pods spec.nodeName!="]);
});

test("a discovered node that fails is named, and no longer served, while the others go on", async () => {
  const definition = discovering(found.slice(0, 2));
  const create: ProviderDefinition["create"] = (host, config) => {
    if (host.nodeName === "far-worker-1") throw new Error("no such machine");
    return definition.create(host, config);
  };
  await using program = await Program.run([planned("far", { ...definition, create })], () => {}, false);
  await vi.waitFor(() => expect(program.opened?.failing()).toMatchObject([{ node: "far-worker-1", problem: "no such machine" }]));

  expect(program.opened?.live.all.map(({ name }) => name)).toEqual(["far-worker-0"]);
});

/** The mock provider with nodes of these names at its back end. */
function discovering(names: readonly string[]): ProviderDefinition {
  return {
    ...(mock as ProviderDefinition),
    discoverNodes: ({ clock }, config) => ({
      async *discover(signal) {
        yield names.map((name) => ({ name }));
        await clock.sleep(Number.MAX_SAFE_INTEGER, signal);
      },
      configOf: () => config,
    }),
  };
}

function planned(name: string, definition: ProviderDefinition): PlannedNode {
  const options: PlannedNode["options"] = { name, kubeletPort: 0, taints: [], declaredFeatures: [], instance: { identity: "program" } };
  return { configured: name, setup: { definition, config: {}, filledIn: [] }, options, pods: {} };
}

/** Opened nodes on an embedded API server. */
class Program implements AsyncDisposable {
  readonly #server: ApiServer;
  readonly #watches: string[] = [];
  readonly #stop = new AbortController();
  #ended: Promise<unknown> = Promise.resolve();
  opened: OpenedNodes | undefined;

  private constructor(server: ApiServer) {
    this.#server = server;
  }

  /**
   * @param prepare - called before the nodes run
   * @param waits - whether to wait until the nodes are ready
   */
  static async run(nodes: readonly PlannedNode[], prepare: (server: ApiServer) => void = () => {}, waits = true): Promise<Program> {
    const program = new Program(await startApiServer({ listen: false, controllers: false, serviceAccounts: true }));
    prepare(program.#server);
    const opened = openNodes(nodes, { client: createKubeClient(program.#observed(program.#server.transport())) });
    program.opened = opened;
    const { runnable } = opened;
    program.#ended = Promise.all(runnable.map(({ node }) => node.run(program.#stop.signal, { shutdownTimeoutMs: 1_000 })));
    if (waits) await Promise.race([Promise.all(runnable.map(({ node }) => node.ready)), program.#ended]);
    return program;
  }

  /** The opened watches of pods and Nodes with what they select, sorted. */
  get watches(): string[] {
    return this.#watches.filter((watch) => /^(pods|nodes)\b/.test(watch)).sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#ended;
    this.opened?.[Symbol.dispose]();
    await this.#server.close();
  }

  #observed(transport: Transport): Transport {
    return {
      request: (request) => {
        const { pathname, searchParams } = new URL(request.path, "http://server");
        if (searchParams.has("watch"))
          this.#watches.push([pathname.split("/").at(-1), searchParams.get("fieldSelector")].filter(Boolean).join(" "));
        return transport.request(request);
      },
      [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
    };
  }
}
