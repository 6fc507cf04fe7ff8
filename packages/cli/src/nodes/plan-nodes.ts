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
  readonly setup: ProviderSetup;
  readonly options: ResolvedNodeOptions;
  readonly pods: PodOptions;
}

/** Loads the providers of all nodes and checks their configuration. @throws ConfigError with one line for each problem */
export async function planNodes(loaded: LoadedSettings, context: Context): Promise<PlannedNode[]> {
  const planned: PlannedNode[] = [];
  for (const index of loaded.settings.nodes.keys()) planned.push(await planNode(loaded, index, context));
  checkNames(planned);
  return planned;
}

/**
 * The name of a node whose nodes are discovered is the beginning of theirs.
 *
 * @throws ConfigError if another node's name begins like that, so that two nodes could have one name
 */
function checkNames(planned: readonly PlannedNode[]): void {
  for (const { options, setup } of planned) {
    if (!discoversNodes(setup)) continue;
    const other = planned.find((each) => each.options.name.startsWith(`${options.name}-`));
    if (!other) continue;
    throw new ConfigError(
      `node ${other.options.name}: its name begins with ${options.name}-, like those of the nodes that node ${options.name} finds at its back end: choose another name`,
    );
  }
}

/**
 * Loads the provider of one node and checks its configuration.
 *
 * @param index - index of the node in the settings
 * @throws ConfigError with one line for each problem
 */
export async function planNode(loaded: LoadedSettings, index: number, context: Context): Promise<PlannedNode> {
  const { settings } = loaded;
  const node = settings.nodes[index];
  if (!node) throw new RangeError(`the settings have no node ${index}`);
  const { hostName } = context;
  const defaultAddress = defaultNodeAddress(settings.kubelet.address, context)?.address;
  const { virtualKubelet } = versionInfo();
  const setup = await setUpProvider(loaded, index, context);
  const options = toNodeOptions(node, settings, { provider: setup.definition, hostName, defaultAddress });
  return {
    setup,
    options: { ...options, kubeletVersionOf: (kubernetes) => kubeletVersionOf(kubernetes, virtualKubelet) },
    pods: toPodOptions(node),
  };
}
