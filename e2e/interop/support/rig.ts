import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { resources, type KubeClient, type PodSpec } from "@virtual-kubelet/kube-client";
import { eventually, freePort } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { createNamespace, openClient } from "../../control-plane/support/cluster.ts";
import { uniqueName } from "../../control-plane/support/test-node.ts";
import { podOn } from "../../control-plane/support/workload.ts";
import { askKubelet } from "../../support/kubelet-request.ts";
import { Program } from "../../support/program.ts";
import { openCluster, type Cluster } from "./cluster.ts";
import { KubectlRunner } from "./kubectl-runner.ts";

const { signal } = new AbortController();
const providerPath = fileURLToPath(new URL("../../real-process-provider/provider.ts", import.meta.url));

/** Time-out in milliseconds of hooks that start a rig; programs start slowly on a busy machine. */
export const startTimeoutMs: number = 240_000;

/** Options of a pod with one container. */
export interface PodWish {
  /** Program of this machine, with its arguments. */
  readonly command: readonly string[];
  readonly spec?: Partial<PodSpec> | undefined;
  /** Additional fields of the container. */
  readonly container?: Partial<PodSpec["containers"][number]> | undefined;
  /** Phase to wait for; default: `Running`. */
  readonly phase?: "Pending" | "Running" | "Succeeded" | undefined;
}

/** An API server, and instances of the program whose nodes run pods as processes of this machine. */
export class InteropRig implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly namespace: string;
  readonly #client: KubeClient;
  readonly #ends: AsyncDisposableStack;

  private constructor(cluster: Cluster, namespace: string, client: KubeClient, ends: AsyncDisposableStack) {
    this.cluster = cluster;
    this.namespace = namespace;
    this.#client = client;
    this.#ends = ends;
  }

  static async open(prefix: string): Promise<InteropRig> {
    await using ends = new AsyncDisposableStack();
    const cluster = ends.use(await openCluster());
    const { client } = ends.use(await openClient({ path: cluster.kubeconfig, text: "" }));
    const namespace = await createNamespace(client, prefix);
    return new InteropRig(cluster, namespace, client, ends.move());
  }

  /** Starts a node. @param declared - whether the node declares that it supports WebSockets */
  async startNode({ declared }: { readonly declared: boolean }): Promise<InteropNode> {
    const name = uniqueName(declared ? "declared" : "plain");
    const { directory, kubeconfig, heedsDeclaredFeatures } = this.cluster;
    const port = await freePort();
    const config = join(directory, `${name}.json`);
    const node = { name, provider: providerPath, providerConfig: { directory: join(directory, name) }, kubeletPort: port };
    const kubelet = { address: "127.0.0.1", extendWebSockets: declared };
    const settings = { apiVersion: "virtual-kubelet.io/v1alpha1", kind: "VirtualKubelet", kubelet, nodes: [node] };
    await writeFile(config, JSON.stringify(settings));
    const words = ["--config", config, "--health-addr", "off", "--identity", name, "--kubeconfig", kubeconfig];
    const program = new Program(words, { cwd: directory, env: { KUBELET_PORT: "" } });
    this.#ends.defer(async () => {
      await program[Symbol.asyncDispose]();
      // The node may not have registered yet.
      await this.#client.delete(resources.nodes, { name }, {}, { signal }).catch(() => undefined);
    });
    await eventually(
      async () => {
        const { status } = await this.#client.get(resources.nodes, { name }, { signal });
        expect(status?.conditions?.find(({ type }) => type === "Ready")?.status, program.stderr).toBe("True");
        expect(status?.declaredFeatures ?? []).toEqual(declared && heedsDeclaredFeatures ? ["ExtendWebSocketsToKubelet"] : []);
      },
      { timeoutMs: 150_000, intervalMs: 200, describe: `node ${name} to be ready` },
    );
    return new InteropNode(this, { name, port, program, client: this.#client });
  }

  /**
   * Starts a node that declares WebSockets and one that does not, with one pod each. @returns a function that returns the pod of either
   * node
   */
  async startBoth(): Promise<(declared: boolean) => PodOnNode> {
    const start = async (declared: boolean): Promise<PodOnNode> => {
      const node = await this.startNode({ declared });
      return { node, pod: await node.run({ command: ["sleep", "3600"] }) };
    };
    const [declaring, plain] = await Promise.all([start(true), start(false)]);
    return (declared) => (declared ? declaring : plain);
  }

  kubectl(program: string, env: Readonly<Record<string, string>> = {}): KubectlRunner {
    const { directory, kubeconfig } = this.cluster;
    return new KubectlRunner({ program, kubeconfig, directory, namespace: this.namespace, env });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#ends.disposeAsync();
  }
}

/** An idle pod, and its node. */
export interface PodOnNode {
  readonly node: InteropNode;
  readonly pod: string;
}

/** A node of the rig. */
export class InteropNode {
  readonly #rig: InteropRig;
  readonly #name: string;
  readonly #port: number;
  readonly #program: Program;
  readonly #client: KubeClient;

  constructor(
    rig: InteropRig,
    parts: { readonly name: string; readonly port: number; readonly program: Program; readonly client: KubeClient },
  ) {
    this.#rig = rig;
    this.#name = parts.name;
    this.#port = parts.port;
    this.#program = parts.program;
    this.#client = parts.client;
  }

  /** Log records of the program. */
  get logs(): Record<string, unknown>[] {
    return this.#program.logs;
  }

  /** Creates a pod with one container, `main`, and waits for its phase. @returns the pod's name */
  async run({ command, spec, container, phase = "Running" }: PodWish): Promise<string> {
    const { namespace } = this.#rig;
    const name = uniqueName("pod");
    const containers = [{ name: "main", image: "none", command: [...command], ...container }];
    const pod = podOn(this.#name, name, namespace, {
      containers,
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      ...spec,
    });
    await this.#client.create(resources.pods, pod, { signal });
    // A pod is also Pending before its node has seen it.
    const expected = { phase, containerStatuses: [{ name: "main" }] };
    await eventually(
      async () => expect((await this.#client.get(resources.pods, { namespace, name }, { signal })).status).toMatchObject(expected),
      { timeoutMs: 60_000, describe: `pod ${name} to be ${phase}` },
    );
    return name;
  }

  /** Sum of a metric of the node's server over all series with matching labels. */
  async metric(name: string, labels: RegExp = /^/): Promise<number> {
    const { status, body } = await askKubelet(this.#port, { path: "/metrics" }, this.#rig.cluster.admin);
    expect(status).toBe(200);
    const series = body.split("\n").filter((line) => line.startsWith(`${name}{`) && labels.test(line));
    return series.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  }
}
