import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { NodeProvider } from "../provider/node-provider.ts";
import type { Provider } from "../provider/provider.ts";
import type { VirtualNodeOptions } from "./options.ts";

/** A provider without `ping` always answers. */
export function bindNodeProvider(provider: Provider): NodeProvider {
  return {
    ping: async (signal) => provider.ping?.(signal),
    pingToleranceMs: provider.pingToleranceMs,
    ...(provider.configureNode && { configureNode: provider.configureNode.bind(provider) }),
    ...(provider.notifyNodeStatus && { notifyNodeStatus: provider.notifyNodeStatus.bind(provider) }),
  };
}

/** The configuration as its schema has it. @throws InvalidInputError naming each field that does not fit */
export function parseProviderConfig({ provider, providerConfig }: VirtualNodeOptions): unknown {
  const parsed = provider.configSchema.safeParse(providerConfig);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => (path.length > 0 ? `${path.join(".")}: ${message}` : message));
  throw new InvalidInputError(`configuration of provider ${provider.name}: ${issues.join("; ")}`);
}
