import { isNotFound, NotFoundError } from "@virtual-kubelet/errdefs";
import type { DockerEngine } from "../engine/docker-engine.ts";
import type { EngineFacts } from "../engine/engine-facts.ts";

/** What {@link findNetwork} looks at. */
export interface NetworkToFind {
  readonly engine: Pick<DockerEngine, "json">;
  readonly facts: Pick<EngineFacts, "isPodman">;
  /** Name or id. */
  readonly network: string;
  /** Milliseconds that the engine may take. */
  readonly timeoutMs: number;
}

/** A network of the engine. */
export interface EngineNetwork {
  /** As it was asked for. */
  readonly name: string;
  /** Such as `bridge` or `macvlan`. */
  readonly driver: string;
  /** Whether its containers get IPv6 addresses besides. */
  readonly hasIPv6: boolean;
}

/**
 * The engine's network that pods are on: without it no sandbox can be made. What is said of one that is not there is a kubelet's
 * (updateRuntimeUp in pkg/kubelet/kubelet.go), with the words that cri-dockerd has for it.
 *
 * @throws NotFoundError if it is not there; what the engine says else
 */
export async function findNetwork({ engine, facts, network, timeoutMs }: NetworkToFind, signal: AbortSignal): Promise<EngineNetwork> {
  // Podman's bridge is a mode, of whatever network is its default.
  if (facts.isPodman) return { name: network, driver: "bridge", hasIPv6: false };
  const what = `look for the pods' network ${JSON.stringify(network)}`;
  try {
    const found: unknown = await engine.json({ method: "GET", path: `/networks/${encodeURIComponent(network)}`, what, timeoutMs }, signal);
    const { Driver, EnableIPv6 } = Object(found) as { readonly Driver?: unknown; readonly EnableIPv6?: unknown };
    return { name: network, driver: typeof Driver === "string" ? Driver : "", hasIPv6: EnableIPv6 === true };
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
    const why = `the engine has no network ${JSON.stringify(network)}; docker network create makes it, "network" of the provider's configuration names another`;
    throw new NotFoundError(
      `container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:docker: network plugin is not ready: ${why}`,
      { cause },
    );
  }
}
