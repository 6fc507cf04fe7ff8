import type { ProviderHost } from "@virtual-kubelet/core";
import { InvalidInputError, isForbidden, isInvalidInput, messageOf } from "@virtual-kubelet/errdefs";
import { backoffMs } from "@virtual-kubelet/kube-client";
import type { KubernetesConfig } from "../config.ts";
import { matchesAny } from "../config/pattern.ts";
import type { FarCluster } from "../far/far-cluster.ts";
import { farMetrics } from "../far/far-metrics.ts";
import type { NamespaceMap } from "../identity/namespaces.ts";
import { addressMap } from "../status/address-map.ts";
import { checkHome, type ConnectHome } from "./home-connection.ts";
import { removeSwitchedOff } from "./remove-switched-off.ts";
import { ServiceMirror } from "./service-mirror.ts";

/** A virtual node whose configuration may ask for mirrored Services. */
export interface MirroringNode {
  readonly host: Pick<ProviderHost, "nodeName" | "clusterId" | "logger" | "metrics" | "clock" | "random" | "recordNodeEvent">;
  readonly config: KubernetesConfig;
  readonly namespaces: NamespaceMap;
  readonly far: Pick<FarCluster, "connection" | "history" | "ownerReference">;
}

interface Entry {
  readonly nodeNames: Set<string>;
  readonly end: AbortController;
  readonly running: Promise<void>;
  mirror: ServiceMirror | undefined;
}

const retry = { initialMs: 1_000, maxMs: 300_000 };

/**
 * Checks what the option needs of other sections.
 *
 * @throws InvalidInputError naming both fields
 */
export function checkServicesConfig({ services, network }: Pick<KubernetesConfig, "services" | "network">): void {
  if (services.namespaces.length > 0 && services.direction !== "toFar" && network.podIPs === "none")
    throw new InvalidInputError(
      `services.direction is ${services.direction}, but with network.podIPs none home cannot reach endpoints of the far cluster: set services.direction to toFar, or network.podIPs to same or to ranges`,
    );
}

/**
 * The mirrors of a process: one for each pair of clusters and configuration, however many nodes have it. A mirror starts with its first node and
 * ends with its last.
 */
export class ServiceMirrors {
  readonly #connectHome: ConnectHome;
  readonly #entries = new Map<MirroringNode["far"], Map<string, Entry>>();

  constructor(connectHome: ConnectHome) {
    this.#connectHome = connectHome;
  }

  /**
   * Mirrors the Services that the node's configuration names; without any, removes what an earlier configuration has left. To be called when the
   * node's lease is ours, so that a copy of the program that stands by mirrors nothing.
   *
   * @returns handle that ends it for this node
   */
  start(node: MirroringNode): AsyncDisposable {
    const { host, config, far } = node;
    const entries = this.#entries.get(far) ?? new Map<string, Entry>();
    this.#entries.set(far, entries);
    const key = JSON.stringify([host.clusterId, config.services, config.namespaces, config.network.podIPs, config.carry.labels]);
    // Without namespaces each node looks for what it has left itself.
    const ownKey = config.services.namespaces.length === 0 ? `${key} ${host.nodeName}` : key;
    const entry = entries.get(ownKey) ?? this.#open(node);
    entries.set(ownKey, entry);
    entry.nodeNames.add(host.nodeName);
    entry.mirror?.lookForLeftovers();
    return {
      [Symbol.asyncDispose]: async () => {
        entry.nodeNames.delete(host.nodeName);
        if (entry.nodeNames.size > 0) return;
        entries.delete(ownKey);
        if (entries.size === 0) this.#entries.delete(far);
        entry.end.abort(new Error("the node ends"));
        await entry.running;
      },
    };
  }

  #open(node: MirroringNode): Entry {
    const end = new AbortController();
    const started = Promise.withResolvers<void>();
    const entry: Entry = {
      nodeNames: new Set([node.host.nodeName]),
      end,
      running: started.promise.then(() => this.#run(node, entry, end.signal)),
      mirror: undefined,
    };
    started.resolve();
    return entry;
  }

  /** Never rejects. */
  async #run(node: MirroringNode, entry: Entry, signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = node.host;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        if (node.config.services.namespaces.length === 0) return await this.#clear(node, signal);
        await this.#mirror(node, entry, signal);
      } catch (error) {
        if (signal.aborted) return;
        const delayMs = backoffMs(retry, failures, random);
        const fields = { err: messageOf(error), delayMs: Math.round(delayMs) };
        if (node.config.services.namespaces.length > 0) logger.error(fields, "services cannot be mirrored; trying again");
        else logger.warn(fields, "copies of Services that are not mirrored any more cannot be looked for; trying again");
        if (failures === 1 && (isInvalidInput(error) || isForbidden(error)))
          node.host.recordNodeEvent?.({ type: "Warning", reason: "ServiceNotMirrored", message: messageOf(error) });
        await clock.sleep(delayMs, signal).catch(() => {});
      }
    }
  }

  async #mirror(node: MirroringNode, entry: Entry, signal: AbortSignal): Promise<void> {
    const { host, config, namespaces, far } = node;
    const { exclude } = config.carry.labels;
    await using home = await this.#connectHome(config.services.home, host);
    await checkHome(home, host.nodeName, signal);
    entry.mirror = new ServiceMirror({
      ...host,
      nodeNames: entry.nodeNames,
      services: config.services,
      carriesLabel: (key) => !matchesAny(exclude, key),
      namespaces,
      addresses: addressMap(config.network.podIPs),
      home: home.client,
      far,
      logger: host.logger.child({ part: "services" }),
      farMetrics: farMetrics(host.metrics),
    });
    try {
      await entry.mirror.run(signal);
    } finally {
      entry.mirror = undefined;
    }
  }

  async #clear({ host, config, namespaces, far }: MirroringNode, signal: AbortSignal): Promise<void> {
    const connectHome = () => this.#connectHome(config.services.home, host);
    await removeSwitchedOff({ ...host, namespace: namespaces.only, far: far.connection.client, connectHome }, signal);
  }
}
