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

/** Time-out for the start and the removal of a pod on a busy machine. */
export const podTimeout = "300s";

/** A real control plane with the program as its only node, on the level's engine. Disposing stops both; pods keep running. */
export class DockerNode implements AsyncDisposable {
  readonly name: string;
  readonly controlPlane: ControlPlane;
  readonly kubectl: KubectlRunner;
  /** Folder for the provider's files. */
  readonly rootDirectory: string;
  /** The running or most recent program. */
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

  /**
   * Starts everything; returns when the node is ready. Nodes of several files can run concurrently, because each has its own name and port.
   */
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

  /** Folder with links to the containers' logs. */
  get logFolder(): string {
    return join(this.#directory, "logs");
  }

  /** Starts the program again. */
  run(): void {
    this.program = this.#start();
  }

  /** Starts metrics-server, which scrapes the node. */
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

  /** Runs kubectl, which must succeed. @returns its output */
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

/** Options of {@link DockerNode.start}. */
export interface DockerNodeOptions {
  /** Additional fields of the provider's configuration. */
  readonly providerConfig?: object | undefined;
  /**
   * Whether the program runs as `system:node:NAME` under the Node authorizer, with the rights that it prints; default: as an administrator.
   */
  readonly isNodeUser?: boolean | undefined;
  /** Whether metrics-server scrapes the node from the start; default: true. */
  readonly isScraped?: boolean | undefined;
}

interface Made {
  readonly options: DockerNodeOptions;
  readonly kubectl: KubectlRunner;
  readonly kubeletPort: number;
  readonly resources: AsyncDisposableStack;
}
