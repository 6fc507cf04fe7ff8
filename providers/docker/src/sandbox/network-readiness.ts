import { isNotFound, NotFoundError } from "@virtual-kubelet/errdefs";
import type { DockerEngine } from "../engine/docker-engine.ts";
import type { EngineFacts } from "../engine/engine-facts.ts";

/** What {@link checkNetwork} looks at. */
export interface NetworkToCheck {
  readonly engine: Pick<DockerEngine, "json">;
  readonly facts: Pick<EngineFacts, "isPodman">;
  /** Name or id. */
  readonly network: string;
  /** Milliseconds that the engine may take. */
  readonly timeoutMs: number;
}

/**
 * Whether the engine has the network that pods are on: without it no sandbox can be made. What is said of one that has not
 * is a kubelet's (updateRuntimeUp in pkg/kubelet/kubelet.go), with the words that cri-dockerd has for it.
 *
 * @throws NotFoundError if it is not there; what the engine says else
 */
export async function checkNetwork({ engine, facts, network, timeoutMs }: NetworkToCheck, signal: AbortSignal): Promise<void> {
  // Podman's bridge is a mode, of whatever network is its default.
  if (facts.isPodman) return;
  const what = `look for the pods' network ${JSON.stringify(network)}`;
  try {
    await engine.json({ method: "GET", path: `/networks/${encodeURIComponent(network)}`, what, timeoutMs }, signal);
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
    const why = `the engine has no network ${JSON.stringify(network)}; docker network create makes it, "network" of the provider's configuration names another`;
    throw new NotFoundError(
      `container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:docker: network plugin is not ready: ${why}`,
      { cause },
    );
  }
}
