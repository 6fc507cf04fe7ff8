import type { PodPolicy } from "@virtual-kubelet/core";
import type { Encryption } from "../azure/container-group.ts";

/** An Azure cloud, by the name that AKS uses. */
export type CloudName = "AzurePublicCloud" | "AzureUSGovernmentCloud" | "AzureChinaCloud";

/** Credentials and endpoints as configured, before files are read. */
export interface AciAuthConfig {
  readonly subscriptionId?: string | undefined;
  readonly resourceGroup?: string | undefined;
  readonly region?: string | undefined;
  readonly cloud?: CloudName | undefined;
  readonly endpoint?: string | undefined;
  readonly caFile?: string | undefined;
  readonly credential: "auto" | "clientSecret" | "clientCertificate" | "workloadIdentity" | "managedIdentity" | "azureCli" | "token";
  readonly tenantId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly clientSecretFile?: string | undefined;
  readonly clientCertificateFile?: string | undefined;
  readonly federatedTokenFile?: string | undefined;
  readonly managedIdentityClientId?: string | undefined;
  readonly authorityHost?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly authFile?: string | undefined;
  readonly aksFile?: string | undefined;
  readonly vnetSubscriptionId?: string | undefined;
  readonly vnetResourceGroup?: string | undefined;
  readonly vnetName?: string | undefined;
}

/** Settings of Azure's kube-proxy extension. */
export interface KubeProxyConfig {
  readonly enabled: boolean;
  readonly kubeconfigFile?: string | undefined;
  readonly server: string;
  readonly clusterCidr: string;
  readonly kubeVersion: string;
}

/** Workspace that receives the containers' output. */
export interface LogAnalyticsConfig {
  readonly workspaceId?: string | undefined;
  readonly workspaceKey?: string | undefined;
  readonly file?: string | undefined;
  readonly workspaceResourceId?: string | undefined;
  readonly clusterResourceId?: string | undefined;
  readonly logType?: "ContainerInsights" | "ContainerInstanceLogs" | undefined;
}

/** Configuration of the provider, as its schema returns it. */
export interface AciConfig extends AciAuthConfig {
  readonly otherResourceGroups: readonly string[];
  readonly operatingSystem: "Linux" | "Windows";
  readonly cpu: string;
  readonly memory: string;
  readonly pods: string;
  readonly gpus: string;
  readonly gpuSkus: readonly string[];
  readonly subnetName?: string | undefined;
  readonly subnetCidr?: string | undefined;
  readonly subnetId?: string | undefined;
  readonly publicAddress: "ports" | "never";
  readonly kubeDnsIp?: string | undefined;
  readonly identities: readonly string[];
  readonly systemIdentity: boolean;
  /** Resource id of a managed identity, by the registry's host name. */
  readonly registryIdentities: Readonly<Record<string, string>>;
  readonly serviceAccountToken: boolean;
  readonly realTimeMetrics: boolean;
  readonly azureMonitorMetrics: boolean;
  readonly kubeProxy: KubeProxyConfig;
  readonly logAnalytics: LogAnalyticsConfig;
  readonly encryption?: Encryption | undefined;
  readonly zones: readonly string[];
  readonly exec: "shell" | "direct";
  /** Duration, such as `30s`. */
  readonly pollInterval: string;
  readonly userAgent?: string | undefined;
  readonly policy: PodPolicy;
}
