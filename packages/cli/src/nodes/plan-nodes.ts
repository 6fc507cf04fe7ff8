import type { PodOptions, ResolvedNodeOptions } from "@virtual-kubelet/core";
import type { LoadedSettings } from "../config/load-settings.ts";
import { toNodeOptions, toPodOptions } from "../config/node-options.ts";
import { ConfigError } from "../program-error.ts";
import type { Context } from "../context.ts";
import { defaultNodeAddress } from "../kubelet-server/node-address.ts";
import { discoversNodes, setUpProvider, type ProviderSetup } from "../providers/provider-setup.ts";
import { kubeletVersionOf, versionInfo } from "../version-info.ts";

/** A node that is ready to be created. */
export interface PlannedNode {
  /** Name of the entry in the configuration that the node comes from; that of the node if the entry has no count. */
  readonly configured: string;
  readonly setup: ProviderSetup;
  readonly options: ResolvedNodeOptions;
  readonly pods: PodOptions;
}

/** The first node of each entry in the configuration: its folder has the lock and the socket of all nodes of the entry. */
export function firstOfEachEntry(planned: readonly PlannedNode[]): PlannedNode[] {
  return [...Map.groupBy(planned, ({ configured }) => configured).values()].flatMap((nodes) => nodes.slice(0, 1));
}

/** Loads the providers of all nodes and checks their configuration. @throws ConfigError with one line for each problem */
export async function planNodes(loaded: LoadedSettings, context: Context): Promise<PlannedNode[]> {
  const planned: PlannedNode[] = [];
  // Nodes of one entry have one provider configuration.
  const setups = new Map<number, ProviderSetup>();
  for (const index of loaded.settings.nodes.keys()) {
    const entry = loaded.entryOf(index).index;
    const setup = setups.get(entry) ?? (await setUpProvider(loaded, index, context));
    setups.set(entry, setup);
    planned.push(planWith(setup, loaded, index, context));
  }
  const discovering = [...setups.values()].filter(discoversNodes);
  checkNames(planned, discovering);
  checkShared(planned, discovering, loaded);
  return planned;
}

/**
 * The name of a node whose nodes are discovered is the beginning of theirs.
 *
 * @throws ConfigError if another node's name begins like that, so that two nodes could have one name
 */
function checkNames(planned: readonly PlannedNode[], discovering: readonly ProviderSetup[]): void {
  for (const { options, setup } of planned) {
    if (!discovering.includes(setup)) continue;
    const other = planned.find((each) => each.options.name.startsWith(`${options.name}-`));
    if (!other) continue;
    throw new ConfigError(
      `node ${other.options.name}: its name begins with ${options.name}-, like those of the nodes that node ${options.name} finds at its back end: choose another name`,
    );
  }
}

/** @throws ConfigError if nodes that are found at a back end would be shared */
function checkShared(planned: readonly PlannedNode[], discovering: readonly ProviderSetup[], { settings, nameOf }: LoadedSettings): void {
  const { group } = settings.instance;
  const found = planned.find(({ setup }) => discovering.includes(setup));
  if (group === undefined || !found) return;
  throw new ConfigError(
    `${nameOf(["instance", "group"])}: ${JSON.stringify(group)}: expected no group, because node ${found.options.name} stands for nodes that are ` +
      "found at its back end, which cannot be shared: leave the group out, or run that node by a program of its own",
  );
}

/**
 * Loads the provider of one node and checks its configuration.
 *
 * @param index - index of the node in the settings
 * @throws ConfigError with one line for each problem
 */
export async function planNode(loaded: LoadedSettings, index: number, context: Context): Promise<PlannedNode> {
  return planWith(await setUpProvider(loaded, index, context), loaded, index, context);
}

function planWith(setup: ProviderSetup, loaded: LoadedSettings, index: number, context: Context): PlannedNode {
  const { settings } = loaded;
  const node = settings.nodes[index];
  if (!node) throw new RangeError(`the settings have no node ${index}`);
  const { hostName } = context;
  const defaultAddress = defaultNodeAddress(settings.kubelet.address, context)?.address;
  const { virtualKubelet } = versionInfo();
  const options = toNodeOptions(node, settings, { provider: setup.definition, hostName, defaultAddress });
  return {
    configured: loaded.entryOf(index).name,
    setup,
    options: { ...options, kubeletVersionOf: (kubernetes) => kubeletVersionOf(kubernetes, virtualKubelet) },
    pods: toPodOptions(node),
  };
}
