import { UnavailableError } from "@virtual-kubelet/errdefs";
import { isIP } from "node:net";
import { z } from "zod";
import { isVersionAtLeast, type NetworkList, type PluginConfig } from "./network-lists.ts";
import type { PluginCommand, RunPlugin } from "./run-plugin.ts";

/** A port of the host that leads into a pod, in the form of the plugin `portmap`. Source: CNI conventions, portMappings. */
export interface PortMapping {
  readonly hostPort: number;
  readonly containerPort: number;
  /** `tcp`, `udp` or `sctp`. */
  readonly protocol: string;
  /** Default: every address of the host. */
  readonly hostIP?: string | undefined;
}

/** A sandbox, with the arguments for its plugins. */
export interface ChainTarget {
  readonly list: NetworkList;
  readonly binDirs: readonly string[];
  readonly containerId: string;
  /** Path of the network namespace; empty if it is gone, which only DEL accepts. */
  readonly namespace: string;
  /** Pairs for `CNI_ARGS`. */
  readonly args: readonly (readonly [name: string, value: string])[];
  /** Arguments for plugins that declare the capability. */
  readonly capabilityArgs: Readonly<Record<string, unknown>>;
}

/** Name of the interface in a pod's namespace, as with all container runtimes of kubelets. */
const interfaceName = "eth0";

/** Result of ADD. Unknown fields are passed on unchanged. Source: CNI specification 1.0.0, section 5, Success. */
export interface PluginResult {
  /** Interfaces of the pod have its namespace as `sandbox`. */
  readonly interfaces?: readonly { readonly name: string; readonly sandbox?: string | undefined }[] | undefined;
  /** Addresses with prefix lengths, such as `10.1.0.2/24`, and the index of their interface. */
  readonly ips?: readonly { readonly address: string; readonly interface?: number | undefined }[] | undefined;
}

const resultSchema: z.ZodType<PluginResult> = z.looseObject({
  interfaces: z.array(z.looseObject({ name: z.string(), sandbox: z.string().optional() })).optional(),
  ips: z.array(z.looseObject({ address: z.string(), interface: z.number().optional() })).optional(),
});

/**
 * Connects a sandbox: calls ADD of each plugin with the result of the one before.
 *
 * @throws UnavailableError or NotFoundError with a plugin's message; the caller undoes a partial connection by {@link chainDel}
 */
export async function chainAdd(target: ChainTarget, run: RunPlugin, signal: AbortSignal): Promise<PluginResult> {
  let result: PluginResult | undefined;
  for (const plugin of target.list.plugins) {
    const answer = await callPlugin("ADD", plugin, target, result, { run, signal });
    result = parseResult(plugin.type, answer);
  }
  return result ?? {};
}

/**
 * Disconnects a sandbox: calls DEL of each plugin, in reverse order, also after a failure.
 *
 * @throws UnavailableError with the message of the first failure
 */
export async function chainDel(target: ChainTarget, result: PluginResult | undefined, run: RunPlugin, signal: AbortSignal): Promise<void> {
  const failures: unknown[] = [];
  for (const plugin of target.list.plugins.toReversed())
    await callPlugin("DEL", plugin, target, result, { run, signal }).catch((error: unknown) => {
      signal.throwIfAborted();
      failures.push(error);
    });
  if (failures.length > 0) throw failures[0];
}

/**
 * Calls CHECK of each plugin. Does nothing for versions before 0.4.0, and for lists that forbid it.
 *
 * @throws UnavailableError with a plugin's message if the connection is not in order
 */
export async function chainCheck(target: ChainTarget, result: PluginResult, run: RunPlugin, signal: AbortSignal): Promise<void> {
  const { list } = target;
  if (list.disableCheck || !isVersionAtLeast(list.cniVersion, "0.4.0")) return;
  for (const plugin of list.plugins) await callPlugin("CHECK", plugin, target, result, { run, signal });
}

/** Checks whether plugins are ready for ADD. Does nothing for versions before 1.1.0. @throws UnavailableError with a plugin's message */
export async function chainStatus(
  { list, binDirs }: Pick<ChainTarget, "list" | "binDirs">,
  run: RunPlugin,
  signal: AbortSignal,
): Promise<void> {
  if (!isVersionAtLeast(list.cniVersion, "1.1.0")) return;
  for (const plugin of list.plugins) {
    const config = { ...withoutCapabilities(plugin), name: list.name, cniVersion: list.cniVersion };
    await run({ command: "STATUS", type: plugin.type, binDirs, config, parameters: {} }, signal);
  }
}

/** Capabilities that a network's plugins declare. */
export function capabilitiesOf({ plugins }: NetworkList): ReadonlySet<string> {
  return new Set(plugins.flatMap(({ capabilities = {} }) => Object.keys(capabilities).filter((name) => capabilities[name] === true)));
}

/**
 * The pod's addresses in a result: those of the interface in its namespace, in the plugins' order.
 *
 * @throws UnavailableError if there are none
 */
export function addressesIn({ ips = [], interfaces = [] }: PluginResult): readonly string[] {
  const isPods = (index: number | undefined): boolean => {
    const of = index === undefined ? undefined : interfaces[index];
    return of === undefined || (of.name === interfaceName && (of.sandbox ?? "") !== "");
  };
  const addresses = ips.filter((ip) => isPods(ip.interface)).map(({ address }) => address.split("/", 1)[0] ?? "");
  if (addresses.length === 0 || addresses.some((address) => isIP(address) === 0))
    throw new UnavailableError(`the network plugins gave the pod no address: ${JSON.stringify({ ips, interfaces }).slice(0, 500)}`);
  return addresses;
}

interface Calling {
  readonly run: RunPlugin;
  readonly signal: AbortSignal;
}

function callPlugin(
  command: PluginCommand,
  plugin: PluginConfig,
  { list, binDirs, containerId, namespace, args, capabilityArgs }: ChainTarget,
  previous: PluginResult | undefined,
  { run, signal }: Calling,
): Promise<string> {
  const wanted = Object.entries(capabilityArgs).filter(([name]) => plugin.capabilities?.[name] === true);
  const config = {
    ...withoutCapabilities(plugin),
    name: list.name,
    cniVersion: list.cniVersion,
    ...(wanted.length > 0 && { runtimeConfig: Object.fromEntries(wanted) }),
    // Before 0.4.0 DEL does not get the result of ADD.
    ...(previous !== undefined && (command === "ADD" || isVersionAtLeast(list.cniVersion, "0.4.0")) && { prevResult: previous }),
  };
  const parameters = {
    CNI_CONTAINERID: containerId,
    CNI_NETNS: namespace,
    CNI_IFNAME: interfaceName,
    CNI_ARGS: args.map(([name, value]) => `${name}=${value}`).join(";"),
  };
  return run({ command, type: plugin.type, binDirs, config, parameters }, signal);
}

function withoutCapabilities({ capabilities: _, ...plugin }: PluginConfig): object {
  return plugin;
}

function parseResult(type: string, text: string): PluginResult {
  try {
    return resultSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new UnavailableError(`network plugin ${type}, ADD: its output is not a result: ${text.trim().slice(0, 500) || "empty"}`, {
      cause,
    });
  }
}
