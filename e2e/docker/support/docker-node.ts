import { freePort, startControlPlane, type ControlPlane } from "@virtual-kubelet/testing";
import { writeFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject } from "vitest";
import { applyPrintedRights } from "../../control-plane/support/printed-rights.ts";
import { KubectlRunner } from "../../interop/support/kubectl-runner.ts";
import { startMetricsServer } from "../../node-network/support/metrics-server.ts";
import { Program } from "../../support/program.ts";
import { controlGroupOf } from "./control-groups.ts";
import { unmountAll } from "./mounts.ts";

/** How long a pod may take to run, and to be gone, on a machine that is busy. */
export const podTimeout = "300s";

/** A real control plane, with the program as its one node, on the level's engine. Disposing ends both; pods go on. */
export class DockerNode implements AsyncDisposable {
  readonly name: string;
  readonly controlPlane: ControlPlane;
  readonly kubectl: KubectlRunner;
  /** Folder of the provider's own files. */
  readonly rootDirectory: string;
  /** The one that runs, or ran last. */
  program!: Program;
  readonly #directory: string;
  readonly #kubeletPort: number;
  readonly #resources: AsyncDisposableStack;
  readonly #options: DockerNodeOptions;

  private constructor(name: string, controlPlane: ControlPlane, directory: string, { kubectl, kubeletPort, options, resources }: Made) {
    this.name = name;
    this.controlPlane = controlPlane;
    this.kubectl = kubectl;
    this.#directory = directory;
    this.#kubeletPort = kubeletPort;
    this.#resources = resources;
    this.#options = options;
    this.rootDirectory = join(directory, "root");
    const host = inject("dockerHost");
    const config = {
      host,
      rootDirectory: this.rootDirectory,
      cgroupParent: controlGroupOf(host),
      log: { folder: this.logFolder },
      ...options.providerConfig,
    };
    writeFileSync(join(directory, "docker.json"), JSON.stringify(config));
  }

  /** Starts all of it; returns when the node is ready. Nodes of several files may run at once: each has a name and a port of its own. */
  static async start(name: string, options: DockerNodeOptions = {}): Promise<DockerNode> {
    await using resources = new AsyncDisposableStack();
    const directory = await mkdtemp(join(tmpdir(), "vk-docker-node-"));
    resources.defer(async () => {
      unmountAll(directory);
      await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    });
    const controlPlane = resources.use(
      await startControlPlane({
        flags: { "kube-apiserver": { "enable-aggregator-routing": "true", "advertise-address": inject("nodeAddress") } },
      }),
    );
    const { programs } = JSON.parse(await readFile(join(controlPlane.directory, "control-plane.json"), "utf8")) as { programs: string };
    const kubectl = new KubectlRunner({
      program: join(programs, "kubectl"),
      kubeconfig: controlPlane.kubeconfig.path,
      namespace: "default",
      directory,
    });
    const kubeletPort = await freePort();
    const node = new DockerNode(name, controlPlane, directory, { kubectl, kubeletPort, options, resources: resources.move() });
    try {
      if (options.isNodeUser) await applyPrintedRights(controlPlane, node.#words());
      node.run();
      await node.say("wait", `node/${node.name}`, "--for=create", `--timeout=${podTimeout}`);
      await node.say("wait", `node/${node.name}`, "--for=condition=Ready", `--timeout=${podTimeout}`);
      if (options.isScraped !== false) await node.startMetricsServer();
      return node;
    } catch (error) {
      await node[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Folder in which it links the logs. */
  get logFolder(): string {
    return join(this.#directory, "logs");
  }

  /** Starts the program again. */
  run(): void {
    this.program = this.#start();
  }

  /** Has metrics-server scrape it. */
  async startMetricsServer(): Promise<void> {
    this.#resources.use(await startMetricsServer(this.controlPlane));
  }

  #words(): readonly string[] {
    const config = join(this.#directory, "docker.json");
    return ["--nodename", this.name, "--provider", "docker", "--provider-config", config, "--kubelet-port", String(this.#kubeletPort)];
  }

  #start(): Program {
    const { controlPlane, name } = this;
    const { path } = this.#options.isNodeUser
      ? controlPlane.kubeconfigFor(`system:node:${name}`, ["system:nodes"])
      : controlPlane.kubeconfig;
    const words = ["--kubeconfig", path, ...this.#words()];
    const more = ["--node-ip", inject("nodeAddress"), "--disable-taint"];
    return this.#resources.use(new Program([...words, ...more, "--health-addr", "off", "--identity", "test"], { cwd: this.#directory }));
  }

  /** Runs kubectl, which has to succeed. @returns what it printed */
  async say(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.kubectl.run(args);
    expect(code, `kubectl ${args.join(" ")}: ${stderr}${stdout}`).toBe(0);
    return stdout;
  }

  /** Applies a manifest. */
  async apply(manifest: string): Promise<void> {
    expect(await this.kubectl.run(["apply", "-f", "-"], manifest)).toMatchObject({ code: 0 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}

/** What is not as usual. */
export interface DockerNodeOptions {
  /** Fields of the provider's configuration. */
  readonly providerConfig?: object | undefined;
  /** Whether the program is `system:node:NAME` under the Node authorizer, with the rights that it prints; default: an administrator. */
  readonly isNodeUser?: boolean | undefined;
  /** Whether metrics-server scrapes it from the start; default: it does. */
  readonly isScraped?: boolean | undefined;
}

interface Made {
  readonly options: DockerNodeOptions;
  readonly kubectl: KubectlRunner;
  readonly kubeletPort: number;
  readonly resources: AsyncDisposableStack;
}
