interface TaintSettings {
  readonly key: string;
  readonly value?: string | undefined;
  readonly effect: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
}

/** Taint that every node has by default. */
interface OwnTaintSettings {
  readonly disable: boolean;
  readonly key: string;
  /** Default: the provider's name. */
  readonly value?: string | undefined;
  readonly effect: TaintSettings["effect"];
}

/** What happens to pods that need more than the provider supports. */
interface UnsupportedSettings {
  readonly default: "wait" | "fail";
  /** Paths of fields, such as `spec.containers[*].livenessProbe`. */
  readonly ignore: readonly string[];
}

/** How orphans at the back end are removed. Durations are text. */
interface OrphanSettings {
  readonly enabled?: boolean | undefined;
  readonly grace?: string | undefined;
  readonly interval?: string | undefined;
  readonly maxPerSweep?: number | undefined;
}

/** Settings of a node. Durations are text, such as `30s`. Absent fields have core's defaults. */
export interface NodeSettings {
  readonly name: string;
  /** Number of nodes that an entry of the file stands for; absent for one, and in {@link Settings.nodes}. */
  readonly count?: number | undefined;
  readonly provider: string;
  /** The provider's configuration; mutually exclusive with {@link providerConfigFile}. */
  readonly providerConfig?: unknown;
  readonly providerConfigFile?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly taint: OwnTaintSettings;
  /** In addition to {@link taint}. */
  readonly taints?: readonly TaintSettings[] | undefined;
  readonly address?: string | undefined;
  readonly kubeletPort: number;
  readonly capacity?: Readonly<Record<string, string>> | undefined;
  readonly operatingSystem?: "linux" | "windows" | undefined;
  readonly architecture?: string | undefined;
  readonly kubeletVersion?: string | undefined;
  readonly leaseDuration?: string | undefined;
  readonly pingInterval?: string | undefined;
  readonly pingTimeout?: string | undefined;
  readonly pingTolerance?: string | undefined;
  readonly statusInterval?: string | undefined;
  readonly onProviderDown: "notReady" | "condition";
  readonly onShutdown: "keep" | "cordon" | "drain" | "delete";
  readonly onUnsupported: "wait" | "fail" | UnsupportedSettings;
  readonly daemonSets: "run" | "ignore" | "reject";
  readonly apiAccessVolume: "drop" | "require";
  readonly workers: number;
  readonly providerTimeout?: string | undefined;
  readonly pollInterval?: string | undefined;
  readonly orphans?: OrphanSettings | undefined;
}

/**
 * Settings of the nodes' HTTPS server, with the names of KubeletConfiguration. Durations are text. Paths are relative to the file that sets
 * them, or to the working directory.
 */
interface KubeletSettings {
  /** IP address to listen on. */
  readonly address: string;
  /** Default: the CA that the cluster publishes. */
  readonly clientCAFile?: string | undefined;
  /** Used together with {@link tlsPrivateKeyFile}. Default: a self-made certificate. */
  readonly tlsCertFile?: string | undefined;
  readonly tlsPrivateKeyFile?: string | undefined;
  readonly serverTLSBootstrap: boolean;
  readonly rotateCertificates: boolean;
  /** Default: a folder of the node in the state directory of root or of the user. */
  readonly certDirectory?: string | undefined;
  readonly anonymousAuth: boolean;
  readonly authorizationMode: "Webhook" | "AlwaysAllow";
  readonly authenticationTokenWebhook: boolean;
  readonly authenticationTokenWebhookCacheTTL: string;
  readonly authorizationWebhookCacheAuthorizedTTL: string;
  readonly authorizationWebhookCacheUnauthorizedTTL: string;
  readonly streamingConnectionIdleTimeout: string;
  readonly streamCreationTimeout: string;
  readonly tlsCipherSuites?: readonly string[] | undefined;
  readonly tlsMinVersion: "VersionTLS12" | "VersionTLS13";
  readonly maxStreams: number;
  readonly auditCommands: "program" | "full";
  readonly auditUserHeader?: string | undefined;
  readonly extendWebSockets: boolean;
}

/** Log levels, from the least to the most important. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** The program's configuration with defaults applied. */
export interface Settings {
  readonly cluster: {
    readonly kubeconfig?: string | undefined;
    readonly context?: string | undefined;
    readonly id?: string | undefined;
    readonly domain: string;
    /** Address of the API server for pods outside the cluster's network. */
    readonly apiServerForPods?: { readonly host: string; readonly port?: number | undefined } | undefined;
  };
  readonly log: { readonly level: LogLevel; readonly format: "auto" | "text" | "json" };
  /** `off` disables the health server. */
  readonly health: { readonly address: string };
  /** Address of the page with the program's state, on loopback; `off` disables it. */
  readonly debug: { readonly address: string };
  readonly kubelet: KubeletSettings;
  readonly instance: {
    readonly identity?: string | undefined;
    readonly standby: boolean;
    /** Name of the group of instances that share the nodes. */
    readonly group?: string | undefined;
  };
  readonly startupTimeout: string;
  readonly shutdownTimeout: string;
  /** One for each node: an entry with a count is expanded. */
  readonly nodes: readonly NodeSettings[];
}
