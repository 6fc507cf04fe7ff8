import { systemClock } from "@virtual-kubelet/clock";
import { eventually, startProcess, type ManagedProcess, type Reaper } from "@virtual-kubelet/testing";
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject } from "vitest";
import { Program } from "../../support/program.ts";
import { controlGroupOf } from "./control-groups.ts";
import { systemEnvironment, type NetworkNamespace } from "./lan.ts";
import { unmountAll } from "./mounts.ts";
import type { PrivateEngine } from "./private-engine.ts";

/** Parts of a {@link ServiceNode}. */
export interface ServiceNodeParts {
  readonly name: string;
  /** Addresses on the `Lan`. */
  readonly address: string;
  readonly addressV6: string;
  /** Address ranges of the node's pods. */
  readonly podRange: string;
  readonly podRangeV6: string;
  readonly machine: NetworkNamespace;
  readonly engine: PrivateEngine;
  /** Folder for the programs' files. */
  readonly directory: string;
  /** Whether the node's main address is IPv6. */
  readonly isIPv6First: boolean;
  /** Fields of the provider's configuration. */
  readonly providerConfig: object;
  /** Address ranges of all nodes' pods, in kube-proxy's format. */
  readonly clusterCidr: string;
  /** Paths of the programs' kubeconfigs. */
  readonly kubeconfig: string;
  readonly proxyKubeconfig: string;
  readonly reaper: Reaper;
}

/** A machine with an engine, the program as its node, and kube-proxy. Disposing stops the program and kube-proxy, not the engine. */
export class ServiceNode implements AsyncDisposable {
  readonly name: string;
  readonly address: string;
  readonly addressV6: string;
  readonly podRange: string;
  readonly podRangeV6: string;
  readonly machine: NetworkNamespace;
  readonly engine: PrivateEngine;
  /** Folder for the provider's files. */
  readonly rootDirectory: string;
  readonly #parts: ServiceNodeParts;
  #program: Program | undefined;
  #proxy: ManagedProcess | undefined;

  constructor(parts: ServiceNodeParts) {
    this.name = parts.name;
    this.address = parts.address;
    this.addressV6 = parts.addressV6;
    this.podRange = parts.podRange;
    this.podRangeV6 = parts.podRangeV6;
    this.machine = parts.machine;
    this.engine = parts.engine;
    this.rootDirectory = join(parts.directory, "root");
    this.#parts = parts;
    const { host } = parts.engine.api;
    const config = {
      host,
      rootDirectory: this.rootDirectory,
      cgroupParent: controlGroupOf(host),
      log: { folder: join(parts.directory, "logs") },
      ...parts.providerConfig,
    };
    writeFileSync(this.#config, JSON.stringify(config));
  }

  /** Starts or restarts the program. */
  startProgram(): void {
    const { name, address, addressV6, machine, directory, kubeconfig, isIPv6First } = this.#parts;
    const addresses = isIPv6First ? [addressV6, address] : [address, addressV6];
    const words = ["--kubeconfig", kubeconfig, "--nodename", name, "--provider", "docker", "--provider-config", this.#config];
    const more = ["--node-ip", addresses.join(","), "--kubelet-port", "10250", "--disable-taint", "--health-addr", "off"];
    const prefix = machine.inside([]);
    this.#program = new Program([...words, ...more, "--identity", "test"], { cwd: directory, prefix });
  }

  /** Kills the program, which gets no chance to clean up. */
  async killProgram(): Promise<void> {
    await this.#program?.end("SIGKILL");
  }

  /**
   * Starts kube-proxy; returns when it has written its rules. It does not set conntrack limits, because those apply to the whole machine.
   */
  async startProxy(): Promise<void> {
    const { name, machine, directory, proxyKubeconfig, clusterCidr, reaper } = this.#parts;
    const [program, ...args] = machine.inside([
      inject("kubeProxy"),
      `--kubeconfig=${proxyKubeconfig}`,
      `--hostname-override=${name}`,
      `--cluster-cidr=${clusterCidr}`,
      "--proxy-mode=iptables",
      "--conntrack-max-per-core=0",
      "--conntrack-tcp-timeout-established=0s",
      "--conntrack-tcp-timeout-close-wait=0s",
    ]);
    const logFile = join(directory, "kube-proxy.log");
    const command = { name: "kube-proxy", program, args, environment: systemEnvironment, logFile };
    const proxy = await startProcess(command, { reaper, clock: systemClock });
    this.#proxy = proxy;
    const hasRules = async (): Promise<void> => {
      expect(proxy.exit, await readFile(logFile, "utf8")).toBeUndefined();
      // The Service `kubernetes` always exists.
      expect(machine.run("iptables-save -t nat"), await readFile(logFile, "utf8")).toContain("-d 10.96.0.1/32");
    };
    await eventually(hasRules, { timeoutMs: 180_000, intervalMs: 500, describe: `kube-proxy of ${name} to write its rules` });
  }

  /**
   * Simulates a power failure and reboot: every process ends at once, and all kernel state is lost (mounts, control groups, interfaces,
   * firewall rules, files below /run). Then everything starts at the same time, as at boot.
   */
  async reboot(): Promise<void> {
    const { machine, engine, directory } = this.#parts;
    await Promise.all([this.killProgram(), this.#proxy?.kill()]);
    await engine.losePower();
    unmountAll(directory);
    machine.forgetRules();
    this.startProgram();
    await Promise.all([engine.startDaemon(), this.startProxy()]);
  }

  get #config(): string {
    return join(this.#parts.directory, "docker.json");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.killProgram(), this.#proxy?.stop()]);
  }
}
