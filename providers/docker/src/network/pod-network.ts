import type { DeepReadonly, Pod } from "@virtual-kubelet/core";
import type { SandboxSpec } from "@virtual-kubelet/pod-runtime";

/** What is known of the network that pods are on. */
export interface NetworkFacts {
  /** As people know it. */
  readonly name: string;
  /** Such as `bridge` or `macvlan`: a driver of the engine, or the first plugin of a CNI network. */
  readonly driver: string;
  /** Whether its pods get IPv6 addresses besides, as far as that is known. */
  readonly hasIPv6: boolean;
}

/** What connects sandboxes: a network of the engine, or the machine's network plugins. Pods on the host's network have none. */
export interface PodNetwork {
  /**
   * Looks whether sandboxes can be connected.
   *
   * @throws NotFoundError or UnavailableError in a kubelet's words if they cannot be
   */
  find(signal: AbortSignal): Promise<NetworkFacts>;
  /** The engine's network mode for a pod's sandbox; with `none` the engine connects nothing, and opens no ports. @throws UnsupportedError */
  mode(pod: DeepReadonly<Pod>): string;
  /** Connects a sandbox that runs; idempotent. Leaves nothing behind when it fails. @throws UnavailableError */
  connect(sandboxId: string, spec: SandboxSpec, signal: AbortSignal): Promise<void>;
  /** Frees what a sandbox has of the network; idempotent, also for one that is gone. @throws UnavailableError */
  disconnect(sandboxId: string, signal: AbortSignal): Promise<void>;
}
