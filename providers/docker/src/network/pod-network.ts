import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import type { SandboxSpec } from "@virtual-kubelet/pod-runtime";

/** Facts about the network of pods. */
export interface NetworkFacts {
  /** Name for messages. */
  readonly name: string;
  /** Such as `bridge` or `macvlan`: a driver of the engine, or the first plugin of a CNI network. */
  readonly driver: string;
  /** Whether its pods are known to get IPv6 addresses, too. */
  readonly hasIPv6: boolean;
}

/** Connects sandboxes: a network of the engine, or network plugins. Pods on the host's network are not connected. */
export interface PodNetwork {
  /**
   * Checks whether sandboxes can be connected.
   *
   * @throws NotFoundError or UnavailableError in a kubelet's words if not
   */
  find(signal: AbortSignal): Promise<NetworkFacts>;
  /**
   * The engine's network mode for a pod's sandbox. With `none` the engine connects nothing, and opens no ports. @throws UnsupportedError
   */
  mode(pod: DeepReadonly<Pod>): string;
  /** Connects a running sandbox. Idempotent; leaves nothing behind on failure. @throws UnavailableError */
  connect(sandboxId: string, spec: SandboxSpec, signal: AbortSignal): Promise<void>;
  /** Frees a sandbox's network resources. Idempotent, also for a sandbox that is gone. @throws UnavailableError */
  disconnect(sandboxId: string, signal: AbortSignal): Promise<void>;
}
