import { freePort, type ControlPlaneAccess } from "@virtual-kubelet/testing";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { inject, onTestFailed } from "vitest";
import { Program } from "../../support/program.ts";
import { podTimeout } from "./cluster.ts";

/** Options of {@link VirtualNode.start}. */
export interface VirtualNodeOptions {
  readonly home: ControlPlaneAccess;
  /** Name of the provider. Default: `kubernetes`. */
  readonly provider?: string | undefined;
  /** Kubeconfig of the far cluster, for the provider `kubernetes`. */
  readonly farKubeconfig?: string | undefined;
  /** Kubeconfig of the home cluster; default: the administrator's. */
  readonly homeKubeconfig?: string | undefined;
  /** Further fields of the provider's configuration. */
  readonly providerConfig?: object | undefined;
  /** Port of the kubelet's API. Default: a free one, or none if the program is only prepared. */
  readonly kubeletPort?: number | undefined;
  /** Further fields of the node's entry in the program's configuration. */
  readonly node?: object | undefined;
  /** Folders of packages that are installed beside the configuration, by the packages' names. Default: none. */
  readonly packages?: Readonly<Record<string, string>> | undefined;
  /** Further environment variables of the program. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** The program with one node, in a process of its own. Disposing kills it. */
export class VirtualNode implements AsyncDisposable {
  readonly name: string;
  /** The running or most recent program. */
  program: Program | undefined;
  readonly #home: ControlPlaneAccess;
  readonly #directory: string;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(name: string, home: ControlPlaneAccess, directory: string, env: Readonly<Record<string, string>>) {
    this.name = name;
    this.#home = home;
    this.#directory = directory;
    this.#env = env;
  }

  /** Starts the program; returns when its node is Ready. */
  static async start(name: string, options: VirtualNodeOptions): Promise<VirtualNode> {
    const virtual = VirtualNode.prepare(name, { kubeletPort: await freePort(), ...options });
    try {
      virtual.startProgram();
      await virtual.untilReady();
    } catch (error) {
      await virtual[Symbol.asyncDispose]();
      throw error;
    }
    return virtual;
  }

  /** Writes the program's configuration. */
  static prepare(name: string, options: VirtualNodeOptions): VirtualNode {
    const { home, provider = "kubernetes", farKubeconfig, homeKubeconfig, providerConfig, node, kubeletPort = 0 } = options;
    const env = { KUBELET_PORT: String(kubeletPort), ...options.env };
    const virtual = new VirtualNode(name, home, mkdtempSync(join(tmpdir(), "vk-virtual-node-")), env);
    const config = {
      apiVersion: "virtual-kubelet.io/v1alpha1",
      kind: "VirtualKubelet",
      cluster: { kubeconfig: homeKubeconfig ?? home.kubeconfig.path },
      health: { address: "off" },
      log: { level: "debug" },
      instance: { identity: "test" },
      nodes: [
        {
          name,
          provider,
          address: inject("nodeAddress"),
          leaseDuration: "12s",
          pingInterval: "1s",
          orphans: { grace: "3s", interval: "2s" },
          ...node,
          providerConfig: { ...(farKubeconfig !== undefined && { cluster: { kubeconfig: farKubeconfig } }), ...providerConfig },
        },
      ],
    };
    writeFileSync(join(virtual.#directory, "config.json"), JSON.stringify(config));
    for (const [packageName, folder] of Object.entries(options.packages ?? {})) {
      const link = join(virtual.#directory, "node_modules", packageName);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(folder, link);
    }
    return virtual;
  }

  /** Starts the program, for the first time or again. */
  startProgram(): void {
    this.program = new Program(["--config", join(this.#directory, "config.json")], {
      cwd: this.#directory,
      env: this.#env,
    });
  }

  /** Kills the program, which gets no chance to clean up. */
  async killProgram(): Promise<void> {
    await this.program?.end("SIGKILL");
  }

  /** Shows the end of the program's log if the current test fails. */
  showLogOnFailure(): void {
    onTestFailed(() => console.error(this.log.trimEnd().split("\n").slice(-80).join("\n")));
  }

  /** Log of the running or most recent program. */
  get log(): string {
    return this.program?.stderr ?? "";
  }

  async untilReady(): Promise<void> {
    for (const condition of ["--for=create", "--for=condition=Ready"]) {
      const { code, stderr } = await this.#home.kubectl(["wait", `node/${this.name}`, condition, podTimeout], { timeoutMs: 300_000 });
      if (code !== 0) throw new Error(`node ${this.name}: ${stderr}${this.log}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.killProgram();
    await this.#home.kubectl(["delete", "node", this.name, "--ignore-not-found", "--wait=false"]).catch(() => undefined);
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Fields of a pod's spec that place it on a virtual node. */
export function onNode(name: string): { readonly nodeSelector: object; readonly tolerations: readonly object[] } {
  return {
    nodeSelector: { "kubernetes.io/hostname": name },
    tolerations: [{ key: "virtual-kubelet.io/provider", operator: "Exists" }],
  };
}
