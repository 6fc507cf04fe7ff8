import { startControlPlane, startReaper, type ControlPlane, type Reaper } from "@virtual-kubelet/testing";
import { writeFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject } from "vitest";
import { KubectlRunner } from "../../interop/support/kubectl-runner.ts";
import { importImages } from "./busybox-image.ts";
import { podTimeout } from "./docker-node.ts";
import { Lan, NetworkNamespace } from "./lan.ts";
import { unmountAll } from "./mounts.ts";
import { PrivateEngine } from "./private-engine.ts";
import { ServiceNode } from "./service-node.ts";

/** Address ranges of the cluster's Services. */
const serviceRange = "10.96.0.0/16,fd00:96::/112";

/** Options of {@link ServiceCluster.addNode}. */
export interface ServiceNodeOptions {
  /** Number of the machine on the {@link Lan}, from 2 on. */
  readonly number: number;
  /** Additional fields of the provider's configuration. */
  readonly providerConfig?: object | undefined;
  /** Whether the main addresses of the node and its pods are IPv6. */
  readonly isIPv6First?: boolean | undefined;
  /** Additional flags of dockerd. */
  readonly engineFlags?: readonly string[] | undefined;
  /** Called before the program is started. */
  readonly prepare?: ((machine: NetworkNamespace, engine: PrivateEngine) => Promise<void> | void) | undefined;
}

/** A real control plane in the level's network, and nodes on separate machines, where kube-proxy runs with its own rights. */
export class ServiceCluster implements AsyncDisposable {
  readonly controlPlane: ControlPlane;
  readonly kubectl: KubectlRunner;
  readonly #id: number;
  readonly #lan: Lan;
  readonly #directory: string;
  readonly #reaper: Reaper;
  readonly #resources: AsyncDisposableStack;

  private constructor({ id, lan, controlPlane, kubectl, directory, reaper, resources }: Made) {
    this.#id = id;
    this.#lan = lan;
    this.controlPlane = controlPlane;
    this.kubectl = kubectl;
    this.#directory = directory;
    this.#reaper = reaper;
    this.#resources = resources;
  }

  /** @param id - 1 to 99; must be unique among concurrent files */
  static async start(id: number): Promise<ServiceCluster> {
    await using resources = new AsyncDisposableStack();
    const directory = await mkdtemp(join(tmpdir(), "vk-services-"));
    resources.defer(async () => {
      unmountAll(directory);
      await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    });
    const reaper = resources.use(startReaper());
    const lan = resources.use(await Lan.start(id));
    const controlPlane = resources.use(
      await startControlPlane({
        flags: {
          "kube-apiserver": {
            // Nodes connect from the machines, as do pods through the Service `kubernetes`.
            "bind-address": "0.0.0.0",
            "advertise-address": inject("nodeAddress"),
            "endpoint-reconciler-type": "lease",
            "service-cluster-ip-range": serviceRange,
          },
        },
      }),
    );
    const { programs } = JSON.parse(await readFile(join(controlPlane.directory, "control-plane.json"), "utf8")) as { programs: string };
    const kubectl = new KubectlRunner({
      program: join(programs, "kubectl"),
      kubeconfig: controlPlane.kubeconfig.path,
      namespace: "default",
      directory,
    });
    return new ServiceCluster({ id, lan, controlPlane, kubectl, directory, reaper, resources: resources.move() });
  }

  /** Address ranges of all nodes' pods, in kube-proxy's format. */
  get clusterCidr(): string {
    return `${this.#range(0).replace(/\.0\/24$/, ".0/16")},${this.#rangeV6(0).replace("/64", "/48")}`;
  }

  /** The level's namespace, for clients that are neither pods nor nodes. */
  readonly outside: NetworkNamespace = new NetworkNamespace(process.pid);

  /** Address of {@link outside} on the network of machines. */
  get outsideAddress(): string {
    return this.#lan.address();
  }

  /** Adds a machine with an engine, the program and kube-proxy; returns when the node is ready and kube-proxy has written its rules. */
  async addNode(name: string, options: ServiceNodeOptions): Promise<ServiceNode> {
    const { number, engineFlags = [], providerConfig = {}, isIPv6First = false } = options;
    const machine = await this.#lan.join(number);
    const [podRange, podRangeV6] = [this.#range(number), this.#rangeV6(number)];
    const [address, addressV6] = [this.#lan.address(number), this.#lan.addressV6(number)];
    const bridge = [`--bip=${podRange.replace(".0/24", ".1/24")}`, "--ipv6", `--fixed-cidr-v6=${podRangeV6}`, "--ip-masq=false"];
    // Engines since 28.2 drop packets from outside for a container's address unless a flag allows them.
    const routing = machine.run("dockerd --help").includes("--allow-direct-routing") ? ["--allow-direct-routing"] : [];
    const engine = this.#resources.use(await PrivateEngine.start({ namespace: machine, flags: [...bridge, ...routing, ...engineFlags] }));
    this.#resources.use(await importImages(engine.api));
    // Pods and the API server need this route to reach each other.
    this.outside.run(`ip route replace ${podRange} via ${address}; ip -6 route replace ${podRangeV6} via ${addressV6}`);
    await options.prepare?.(machine, engine);
    const directory = await mkdtemp(join(this.#directory, `${name}-`));
    const node = this.#resources.use(
      new ServiceNode({
        name,
        address,
        addressV6,
        podRange,
        podRangeV6,
        machine,
        engine,
        directory,
        isIPv6First,
        providerConfig,
        clusterCidr: this.clusterCidr,
        kubeconfig: this.#kubeconfig(directory, "node", this.controlPlane.kubeconfig.text),
        // kube-proxy has the rights that clusters usually give it.
        proxyKubeconfig: this.#kubeconfig(directory, "kube-proxy", this.controlPlane.kubeconfigFor("system:kube-proxy").text),
        reaper: this.#reaper,
      }),
    );
    node.startProgram();
    await this.say("wait", `node/${name}`, "--for=create", `--timeout=${podTimeout}`);
    await this.say("wait", `node/${name}`, "--for=condition=Ready", `--timeout=${podTimeout}`);
    await node.startProxy();
    return node;
  }

  /** Writes a kubeconfig for a machine. It uses the level's address for the API server, which is not in the server's certificate. */
  #kubeconfig(directory: string, name: string, text: string): string {
    const kubeconfig = JSON.parse(text) as { clusters: [{ cluster: Record<string, string> }] };
    const { cluster } = kubeconfig.clusters[0];
    const { port } = new URL(this.controlPlane.server);
    Object.assign(cluster, { server: `https://${this.#lan.address()}:${port}`, "tls-server-name": "kubernetes" });
    const path = join(directory, `${name}.kubeconfig`);
    writeFileSync(path, JSON.stringify(kubeconfig), { mode: 0o600 });
    return path;
  }

  /** Runs kubectl, which must succeed. @returns its output */
  async say(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.kubectl.run(args);
    expect(code, `kubectl ${args.join(" ")}: ${stderr}${stdout}`).toBe(0);
    return stdout;
  }

  /** Applies objects. */
  async apply(...objects: readonly object[]): Promise<void> {
    const manifest = objects.map((each) => JSON.stringify(each)).join("\n---\n");
    expect(await this.kubectl.run(["apply", "-f", "-"], manifest)).toMatchObject({ code: 0 });
  }

  #range(number: number): string {
    return `10.${100 + this.#id}.${number}.0/24`;
  }

  #rangeV6(number: number): string {
    return `fd00:${100 + this.#id}:0:${number}::/64`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}

interface Made {
  readonly id: number;
  readonly lan: Lan;
  readonly controlPlane: ControlPlane;
  readonly kubectl: KubectlRunner;
  readonly directory: string;
  readonly reaper: Reaper;
  readonly resources: AsyncDisposableStack;
}
