/** An image on the node. */
export interface NodeImage {
  readonly names: readonly string[];
  readonly sizeBytes: number;
}

/** A provider's description of the node; absent fields stay as configured. */
export interface NodeDescription {
  /** Quantities by resource name: `cpu`, `memory`, `pods`, `ephemeral-storage`, `nvidia.com/gpu`, … */
  readonly capacity?: Readonly<Record<string, string>> | undefined;
  /** Default: the capacity. */
  readonly allocatable?: Readonly<Record<string, string>> | undefined;
  readonly addresses?: readonly { readonly type: string; readonly address: string }[] | undefined;
  readonly operatingSystem?: "linux" | "windows" | undefined;
  /** Go's name of the architecture: `amd64`, `arm64`, … */
  readonly architecture?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  /**
   * Taints in addition to those of the node's options, such as those of a machine that the node stands for. With the credentials of a node's
   * own user they cannot change after the node was created, because NodeRestriction forbids it.
   */
  readonly taints?: readonly { readonly key: string; readonly value?: string | undefined; readonly effect: string }[] | undefined;
  /** Conditions other than Ready, such as MemoryPressure. */
  readonly conditions?:
    | readonly { readonly type: string; readonly status: "True" | "False" | "Unknown"; readonly reason: string; readonly message: string }[]
    | undefined;
  readonly providerID?: string | undefined;
  /** Such as `docker://28.2.2`. */
  readonly containerRuntimeVersion?: string | undefined;
  /** The machine's operating system as it names itself, such as `Debian GNU/Linux 12 (bookworm)`. */
  readonly osImage?: string | undefined;
  /** Such as `6.1.0-18-amd64`. */
  readonly kernelVersion?: string | undefined;
  /** Ids of the machine, of its firmware and of this boot. */
  readonly machineID?: string | undefined;
  readonly systemUUID?: string | undefined;
  readonly bootID?: string | undefined;
  /** Images on the node, each with all its names. The node's status shows the largest 50, each with 5 names. */
  readonly images?: readonly NodeImage[] | undefined;
  /** Names of node features for the node's status, in addition to those of the node's options. */
  readonly declaredFeatures?: readonly string[] | undefined;
}

/** Methods of a provider that concern its node. All are optional except {@link ping}. */
export interface NodeProvider {
  /** Checks that the back end answers. Must be cheap; called every ping interval, never twice at once. @throws if it does not answer */
  ping(signal: AbortSignal): Promise<void>;
  /**
   * Checks that the back end answers and accepts the credentials, like {@link ping}, but only reads, at the back end and on this machine.
   * `virtual-kubelet doctor` calls it beside a running program. Default: {@link ping}.
   *
   * @returns what does not work, or is dangerous, although the node runs: one sentence each, with the remedy
   * @throws the reason why the node cannot run
   */
  checkAccess?(signal: AbortSignal): Promise<readonly string[]>;
  /**
   * Milliseconds since the last successful ping during which the node stays Ready while the back end cannot be reached. Set it when pods
   * continue to run while the back end restarts. Only UnavailableError and DeadlineExceededError are tolerated. Default: 0.
   */
  readonly pingToleranceMs?: number | undefined;
  /** Describes the node. Called before registration, and again after each {@link notifyNodeStatus}. */
  configureNode?(signal: AbortSignal): Promise<NodeDescription>;
  /** Called once, before registration. A call of the listener requests another {@link configureNode} soon. */
  notifyNodeStatus?(listener: () => void): void;
  /**
   * Removes what the node as a whole owns at the back end. Called last, after all pods have left and the Node object is deleted, and only
   * for a node of {@link NodeDiscovery} whose counterpart is gone. Must be idempotent. Default: nothing is left.
   */
  removeNode?(signal: AbortSignal): Promise<void>;
}

/** A {@link NodeProvider} whose back end always answers. */
export class NaiveNodeProvider implements NodeProvider {
  ping(): Promise<void> {
    return Promise.resolve();
  }
}
