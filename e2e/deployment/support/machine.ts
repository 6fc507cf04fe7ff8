import { resources, type KubeClient, type Pod } from "@virtual-kubelet/kube-client";
import { startControlPlane, type ControlPlane } from "@virtual-kubelet/testing";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject } from "vitest";
import { openClient } from "../../control-plane/support/cluster.ts";
import { controlGroupOf } from "../../docker/support/control-groups.ts";
import { EngineApi } from "../../docker/support/engine-api.ts";
import { systemEnvironment } from "../../docker/support/lan.ts";
import { unmountAll } from "../../docker/support/mounts.ts";
import { Program } from "../../support/program.ts";

/** Name of the node that is a machine: its pods are containers of the level's engine. */
const machineName = "machine-1";

/** Address of the Service `kubernetes` on the launcher's control plane. */
const serviceAddress = "10.96.0.1";

const { signal } = new AbortController();

/**
 * A real control plane with an audit log and one machine, on which the program's own pods run: a node of the Docker provider. Pods reach the
 * API server at the Service `kubernetes`.
 */
export class Machine implements AsyncDisposable {
  readonly controlPlane: ControlPlane;
  readonly client: KubeClient;
  readonly engine: EngineApi;
  readonly #directory: string;
  readonly #resources: AsyncDisposableStack;
  #program: Program | undefined;

  private constructor(made: Made) {
    this.controlPlane = made.controlPlane;
    this.client = made.client;
    this.engine = new EngineApi(inject("dockerHost"));
    this.#directory = made.directory;
    this.#resources = made.resources;
  }

  static async start(): Promise<Machine> {
    await using made = new AsyncDisposableStack();
    const directory = await mkdtemp(join(tmpdir(), "vk-machine-"));
    made.defer(async () => {
      unmountAll(directory);
      await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    });
    const nodeAddress = inject("nodeAddress");
    const controlPlane = made.use(
      await startControlPlane({
        audit: "Metadata",
        flags: { "kube-apiserver": { "bind-address": "0.0.0.0", "advertise-address": nodeAddress } },
      }),
    );
    const { port } = new URL(controlPlane.server);
    // What kube-proxy does for the Service.
    const rule = ["-d", serviceAddress, "-p", "tcp", "--dport", "443", "-j", "DNAT", "--to-destination", `${nodeAddress}:${port}`];
    const iptables = (action: string): void =>
      void execFileSync("iptables", ["-t", "nat", action, "PREROUTING", ...rule], { env: { ...systemEnvironment } });
    iptables("-I");
    made.defer(() => iptables("-D"));
    const { client } = made.use(await openClient(controlPlane.kubeconfig));
    const machine = new Machine({ controlPlane, client, directory, resources: made.move() });
    try {
      machine.startKubelet();
      await machine.kubectl("wait", `node/${machineName}`, "--for=create", "--timeout=120s");
      await machine.kubectl("wait", `node/${machineName}`, "--for=condition=Ready", "--timeout=120s");
      return machine;
    } catch (error) {
      await machine[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts the machine's kubelet, which is the program with the provider docker. */
  startKubelet(): void {
    const host = inject("dockerHost");
    const config = join(this.#directory, "docker.json");
    const rootDirectory = join(this.#directory, "root");
    writeFileSync(
      config,
      JSON.stringify({ host, rootDirectory, cgroupParent: controlGroupOf(host), log: { folder: join(this.#directory, "logs") } }),
    );
    const words = [
      "--kubeconfig",
      this.controlPlane.kubeconfig.path,
      "--nodename",
      machineName,
      "--provider",
      "docker",
      "--provider-config",
      config,
    ];
    // To the scheduler it is no virtual node.
    const more = [
      "--node-ip",
      inject("nodeAddress"),
      "--disable-taint",
      "--label",
      "type=machine",
      "--health-addr",
      "off",
      "--identity",
      "test",
    ];
    this.#program = new Program([...words, ...more], { cwd: this.#directory, env: { KUBELET_PORT: "10250" } });
  }

  /** Kills the machine's kubelet: containers run on, and nobody starts one that ends. */
  async killKubelet(): Promise<void> {
    await this.#program?.end("SIGKILL");
  }

  /** Kills a container of a pod at the engine. */
  async killContainer(pod: string, container: string): Promise<void> {
    const [id, ...others] = await this.engine.containers({ "io.kubernetes.pod.name": pod, "io.kubernetes.container.name": container });
    expect(others).toEqual([]);
    await this.engine.json("POST", `/containers/${id}/kill`);
  }

  /** Runs kubectl, which must succeed. @returns its output */
  async kubectl(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.controlPlane.kubectl(args);
    expect(code, `kubectl ${args.join(" ")}: ${stderr}${stdout}`).toBe(0);
    return stdout;
  }

  /** Applies objects or a manifest. */
  async apply(...objects: readonly (object | string)[]): Promise<void> {
    const stdin = objects.map((each) => (typeof each === "string" ? each : JSON.stringify(each))).join("\n---\n");
    expect(await this.controlPlane.kubectl(["apply", "-f", "-"], { stdin })).toMatchObject({ code: 0 });
  }

  /** Pods of a namespace with this label. */
  async pods(namespace: string, labelSelector: string): Promise<Pod[]> {
    return (await this.client.list(resources.pods, { namespace, labelSelector }, { signal })).items;
  }

  /** Requests of this user that the API server has forbidden, as `verb resource/subresource/name`. */
  forbidden(user: string): string[] {
    const events = this.controlPlane.auditEvents().filter((event) => event.user.username === user);
    expect(events.length, `requests of ${user} in the audit log`).toBeGreaterThan(0);
    return events
      .filter(({ responseStatus }) => responseStatus?.code === 403)
      .map(({ verb, objectRef, requestURI }) =>
        [`${verb} ${objectRef?.resource ?? requestURI}`, objectRef?.subresource, objectRef?.name].filter(Boolean).join("/"),
      );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.killKubelet();
    await this.#resources.disposeAsync();
  }
}

interface Made {
  readonly controlPlane: ControlPlane;
  readonly client: KubeClient;
  readonly directory: string;
  readonly resources: AsyncDisposableStack;
}
