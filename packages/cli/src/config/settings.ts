/** A taint as the node object has it. */
export interface TaintSettings {
  readonly key: string;
  readonly value?: string | undefined;
  readonly effect: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
}

/** The taint every node has unless it is left out. */
export interface OwnTaintSettings {
  readonly disable: boolean;
  readonly key: string;
  /** Default: the provider's name. */
  readonly value?: string | undefined;
  readonly effect: TaintSettings["effect"];
}

/** What becomes of pods that need more than the provider can do. */
export interface UnsupportedSettings {
  readonly default: "wait" | "fail";
  /** Paths of fields, such as `spec.containers[*].livenessProbe`. */
  readonly ignore: readonly string[];
}

/** How orphans at the back end are removed. Durations are text. */
export interface OrphanSettings {
  readonly enabled?: boolean | undefined;
  readonly grace?: string | undefined;
  readonly interval?: string | undefined;
  readonly maxPerSweep?: number | undefined;
}

/** One node. Durations are text, such as `30s`; what is absent has core's default. */
export interface NodeSettings {
  readonly name: string;
  readonly provider: string;
  /** The provider's configuration itself; not together with {@link providerConfigFile}. */
  readonly providerConfig?: unknown;
  readonly providerConfigFile?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly taint: OwnTaintSettings;
  /** Besides {@link taint}. */
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
 * The nodes' HTTPS server, in the words of a KubeletConfiguration. Durations are text. Paths start where they were
 * written: at the file, or at the working directory.
 */
export interface KubeletSettings {
  /** IP address it listens on. */
  readonly address: string;
  /** Default: what the cluster publishes. */
  readonly clientCAFile?: string | undefined;
  /** Together with {@link tlsPrivateKeyFile}. Default: a certificate of its own making. */
  readonly tlsCertFile?: string | undefined;
  readonly tlsPrivateKeyFile?: string | undefined;
  readonly serverTLSBootstrap: boolean;
  /** Default: the node's folder in root's or the user's state. */
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

/** Levels of log records, the least important first. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** The program's configuration, complete. */
export interface Settings {
  readonly cluster: {
    readonly kubeconfig?: string | undefined;
    readonly context?: string | undefined;
    readonly id?: string | undefined;
    readonly domain: string;
    /** Where pods outside the cluster's network reach the API server. */
    readonly apiServerForPods?: { readonly host: string; readonly port?: number | undefined } | undefined;
  };
  readonly log: { readonly level: LogLevel; readonly format: "auto" | "text" | "json" };
  /** `off` is nowhere. */
  readonly health: { readonly address: string };
  readonly kubelet: KubeletSettings;
  readonly instance: { readonly identity?: string | undefined; readonly standby: boolean };
  readonly startupTimeout: string;
  readonly shutdownTimeout: string;
  readonly nodes: readonly NodeSettings[];
}
