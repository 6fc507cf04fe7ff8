import { isUnavailable, messageOf, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";
import { labelNames, type SandboxSpec } from "@virtual-kubelet/pod-runtime";
import { hostPorts } from "../../sandbox/host-ports.ts";
import type { NetworkFacts, PodNetwork } from "../pod-network.ts";
import { Attachments, type Attachment } from "./attachments.ts";
import { hasIPv6Range, readNetworkList, type NetworkList } from "./network-lists.ts";
import { addressesIn, capabilitiesOf, chainAdd, chainCheck, chainDel, chainStatus, type PortMapping } from "./plugin-chain.ts";
import type { RunPlugin } from "./run-plugin.ts";

/** Places of a node's network plugins. */
export interface CniSettings {
  /** Folder of configurations. The first valid one by name is used. */
  readonly confDir: string;
  /** Folders of the plugins' programs. */
  readonly binDirs: readonly string[];
}

export interface CniNetworkOptions {
  /** `undefined`: new sandboxes are not connected, but earlier ones are still disconnected. */
  readonly settings: CniSettings | undefined;
  /** Folder of the records of connections. */
  readonly folder: string;
  readonly run: RunPlugin;
  /** Path of a sandbox's network namespace; `undefined` if the sandbox does not run or is gone. */
  readonly namespaceOf: (sandboxId: string, signal: AbortSignal) => Promise<string | undefined>;
}

/** Plugins' parameter for the pod's UID. */
const uidArg = "K8S_POD_UID";

/** Capability of plugins that open ports of the host. Source: CNI conventions. */
const portCapability = "portMappings";

/** The machine's network plugins, according to the CNI specification up to version 1.1.0. The engine gives sandboxes no network. */
export class CniNetwork implements PodNetwork {
  readonly #options: CniNetworkOptions;
  readonly #attachments: Attachments;

  constructor(options: CniNetworkOptions) {
    this.#options = options;
    this.#attachments = new Attachments(options.folder);
  }

  /** As `PodNetwork.find`, with containerd's words. Plugins of version 1.1.0 are asked whether they are ready. */
  async find(signal: AbortSignal): Promise<NetworkFacts> {
    try {
      const list = await this.#list();
      await chainStatus({ list, binDirs: this.#settings.binDirs }, this.#options.run, signal);
      const [first] = list.plugins;
      return { name: list.name, driver: first?.type ?? "", hasIPv6: hasIPv6Range(list) };
    } catch (cause) {
      signal.throwIfAborted();
      throw new NotFoundError(
        `container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: ${messageOf(cause)}`,
        { cause },
      );
    }
  }

  /** As `PodNetwork.mode`. */
  mode(): string {
    return "none";
  }

  /** As `PodNetwork.connect`: ADD, unless it was done before. */
  async connect(sandboxId: string, spec: SandboxSpec, signal: AbortSignal): Promise<void> {
    const before = await this.#attachments.get(sandboxId);
    if (before?.result !== undefined) return;
    if (before !== undefined) await this.disconnect(sandboxId, signal);
    await this.#freeFormer(sandboxId, spec, signal);
    const list = await this.#list();
    const namespace = await this.#options.namespaceOf(sandboxId, signal);
    if (namespace === undefined) throw new UnavailableError(`connect sandbox ${sandboxId} by network plugins: it does not run`);
    const { binDirs } = this.#settings;
    const attachment: Attachment = { list, binDirs, args: argsOf(sandboxId, spec), capabilityArgs: portArgs(spec, list) };
    await this.#attachments.set(sandboxId, attachment);
    try {
      const result = await chainAdd({ ...attachment, containerId: sandboxId, namespace }, this.#options.run, signal);
      addressesIn(result);
      await this.#attachments.set(sandboxId, { ...attachment, result });
    } catch (error) {
      // Also when aborted, so that nothing is left behind. If it fails, the sandbox's removal or the collection repeats it.
      await this.disconnect(sandboxId, new AbortController().signal).catch(() => {});
      throw error;
    }
  }

  /** As `PodNetwork.disconnect`: DEL with what ADD was called with. */
  async disconnect(sandboxId: string, signal: AbortSignal): Promise<void> {
    const attachment = await this.#attachments.get(sandboxId);
    if (attachment === undefined) return;
    const namespace = (await this.#options.namespaceOf(sandboxId, signal)) ?? "";
    const target = { ...attachment, containerId: sandboxId, namespace };
    try {
      await chainDel(target, attachment.result, this.#options.run, signal);
    } catch (cause) {
      signal.throwIfAborted();
      // NotFoundError would mean a missing sandbox, not a missing plugin.
      throw new UnavailableError(`disconnect sandbox ${sandboxId} by network plugins: ${messageOf(cause)}`, { cause });
    }
    await this.#attachments.delete(sandboxId);
  }

  /** Addresses that plugins have assigned to a sandbox; empty if there are none yet, or if its record is damaged. */
  async addresses(sandboxId: string): Promise<readonly string[]> {
    const result = (await this.#undamaged(sandboxId))?.result;
    return result === undefined ? [] : addressesIn(result);
  }

  /** Ids of all sandboxes whose connection by plugins was started. */
  async connected(): Promise<readonly string[]> {
    return await this.#attachments.ids();
  }

  /** CHECK: verifies a sandbox's connection. @throws UnavailableError with a plugin's message if it is not in order */
  async check(sandboxId: string, signal: AbortSignal): Promise<void> {
    const attachment = await this.#attachments.get(sandboxId);
    const namespace = attachment?.result && (await this.#options.namespaceOf(sandboxId, signal));
    if (attachment?.result === undefined || namespace === undefined) return;
    await chainCheck({ ...attachment, containerId: sandboxId, namespace }, attachment.result, this.#options.run, signal);
  }

  /** Frees resources of the pod's ended sandboxes, such as ports of the host. The sandboxes may be kept for their containers' logs. */
  async #freeFormer(sandboxId: string, { labels }: SandboxSpec, signal: AbortSignal): Promise<void> {
    for (const id of await this.#attachments.ids()) {
      const isPods = (await this.#undamaged(id))?.args.some(([name, value]) => name === uidArg && value === labels[labelNames.podUid]);
      if (id !== sandboxId && isPods && (await this.#options.namespaceOf(id, signal)) === undefined) await this.disconnect(id, signal);
    }
  }

  /** A sandbox's record; `undefined` also if it is damaged, which only {@link disconnect} reports, so that it concerns no other sandbox. */
  async #undamaged(sandboxId: string): Promise<Attachment | undefined> {
    return this.#attachments.get(sandboxId).catch((error: unknown) => {
      if (!isUnavailable(error)) throw error;
      return undefined;
    });
  }

  get #settings(): CniSettings {
    const { settings } = this.#options;
    if (settings === undefined) throw new UnavailableError("connect a sandbox by network plugins: the configuration has no cni");
    return settings;
  }

  #list(): Promise<NetworkList> {
    return readNetworkList(this.#settings.confDir);
  }
}

/** Source: the arguments of containerd, CRI-O and cri-dockerd. Plugins such as Calico and Multus read them. */
function argsOf(id: string, { labels }: SandboxSpec): Attachment["args"] {
  return [
    ["IgnoreUnknown", "1"],
    ["K8S_POD_NAMESPACE", labels[labelNames.podNamespace] ?? ""],
    ["K8S_POD_NAME", labels[labelNames.podName] ?? ""],
    ["K8S_POD_INFRA_CONTAINER_ID", id],
    [uidArg, labels[labelNames.podUid] ?? ""],
  ];
}

/** @throws UnavailableError for ports if no plugin of the network opens ports */
function portArgs({ pod }: SandboxSpec, list: NetworkList): Readonly<Record<string, readonly PortMapping[]>> {
  const ports = hostPorts(pod);
  if (ports.length === 0) return {};
  if (!capabilitiesOf(list).has(portCapability))
    throw new UnavailableError(
      `open port ${ports[0]?.hostPort} of the host: no plugin of the network ${JSON.stringify(list.name)} has the capability ${portCapability}; add { "type": "portmap", "capabilities": { "${portCapability}": true } } to its plugins`,
    );
  return {
    [portCapability]: ports.map(({ hostPort, containerPort, protocol, hostIP }) => ({
      hostPort,
      containerPort,
      protocol,
      ...(hostIP !== "" && { hostIP }),
    })),
  };
}
