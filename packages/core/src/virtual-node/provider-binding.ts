import type { Logger } from "@virtual-kubelet/kube-client";
import { InvalidInputError, messageOf, NotFoundError } from "@virtual-kubelet/errdefs";
import type { NodeProvider } from "../provider/node-provider.ts";
import type { Provider } from "../provider/provider.ts";
import type { VirtualNodeOptions } from "./options.ts";

/**
 * A provider without `ping` always answers.
 *
 * @param counterpartProblem - as in the options of a VirtualNode
 */
export function bindNodeProvider(provider: Provider, counterpartProblem: () => string | undefined): NodeProvider {
  return {
    async ping(signal) {
      const problem = counterpartProblem();
      // It is not tolerated, unlike a back end that is away.
      if (problem !== undefined) throw new NotFoundError(problem);
      await provider.ping?.(signal);
    },
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

/**
 * Removes what is left of a node at its back end. A failure is logged: the back end's own garbage collection, or an administrator, has to
 * remove the rest.
 */
export async function removeAtBackEnd(provider: Provider, logger: Logger, signal: AbortSignal): Promise<void> {
  try {
    await provider.removeNode?.(signal);
  } catch (error) {
    logger.warn({ err: messageOf(error) }, "the provider could not remove what is left of the node at its back end");
  }
}
