import type { PodOptions, ResolvedNodeOptions } from "@virtual-kubelet/core";
import type { LoadedSettings } from "../config/load-settings.ts";
import { toNodeOptions, toPodOptions } from "../config/node-options.ts";
import type { Context } from "../context.ts";
import { defaultNodeAddress } from "../kubelet-server/node-address.ts";
import { setUpProvider, type ProviderSetup } from "../providers/provider-setup.ts";
import { kubeletVersionOf, versionInfo } from "../version-info.ts";

/** A node that is ready to be created. */
export interface PlannedNode {
  readonly setup: ProviderSetup;
  readonly options: ResolvedNodeOptions;
  readonly pods: PodOptions;
}

/** Loads the providers of all nodes and checks their configuration. @throws ConfigError with one line for each problem */
export async function planNodes(loaded: LoadedSettings, context: Context): Promise<PlannedNode[]> {
  const { settings } = loaded;
  const { hostName } = context;
  const defaultAddress = defaultNodeAddress(settings.kubelet.address, context)?.address;
  const { virtualKubelet } = versionInfo();
  const planned: PlannedNode[] = [];
  for (const [index, node] of settings.nodes.entries()) {
    const setup = await setUpProvider(loaded, index, context);
    const options = toNodeOptions(node, settings, { provider: setup.definition, hostName, defaultAddress });
    planned.push({
      setup,
      options: { ...options, kubeletVersionOf: (kubernetes) => kubeletVersionOf(kubernetes, virtualKubelet) },
      pods: toPodOptions(node),
    });
  }
  return planned;
}
