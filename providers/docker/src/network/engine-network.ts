import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import { isNotFound, NotFoundError } from "@virtual-kubelet/errdefs";
import type { DockerEngine } from "../engine/docker-engine.ts";
import type { EngineFacts } from "../engine/engine-facts.ts";
import { podNetwork } from "./network-annotation.ts";
import type { NetworkFacts, PodNetwork } from "./pod-network.ts";

/** Deadline for an inspection of a network, in milliseconds. */
const timeoutMs = 5_000;

export interface EngineNetworkOptions {
  readonly engine: Pick<DockerEngine, "json">;
  readonly facts: (signal: AbortSignal) => Promise<Pick<EngineFacts, "isPodman">>;
  /** Name or id, for pods that choose none. */
  readonly network: string;
}

/** A network of the engine, which is part of a sandbox's body. */
export class EngineNetwork implements PodNetwork {
  readonly #options: EngineNetworkOptions;

  constructor(options: EngineNetworkOptions) {
    this.#options = options;
  }

  /**
   * As `PodNetwork.find`. What is said of a network that is not there is a kubelet's (updateRuntimeUp in pkg/kubelet/kubelet.go), with the
   * words that cri-dockerd has for it.
   */
  async find(signal: AbortSignal): Promise<NetworkFacts> {
    const { engine, facts, network } = this.#options;
    // podman's bridge is a mode for its default network, whatever its name.
    if ((await facts(signal)).isPodman) return { name: network, driver: "bridge", hasIPv6: false };
    const what = `look for the pods' network ${JSON.stringify(network)}`;
    try {
      const path = `/networks/${encodeURIComponent(network)}`;
      const found: unknown = await engine.json({ method: "GET", path, what, timeoutMs }, signal);
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

  /** As `PodNetwork.mode`. */
  mode(pod: DeepReadonly<Pod>): string {
    return podNetwork(pod, this.#options);
  }

  /** As `PodNetwork.connect`: the engine has done it. */
  async connect(): Promise<void> {}

  /** As `PodNetwork.disconnect`: the engine does it. */
  async disconnect(): Promise<void> {}
}
