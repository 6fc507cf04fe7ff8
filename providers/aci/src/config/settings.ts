import { tryDurationMs } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { LogAnalytics } from "../azure/container-group.ts";
import type { AciConfig, CloudName } from "./aci-config.ts";
import { readAksFile, readAnalyticsFile, readAuthFile, type AzureFileValues } from "./azure-files.ts";

/** Addresses of an Azure cloud. */
interface Cloud {
  readonly endpoint: string;
  readonly authorityHost: string;
  /** Scope of tokens for Azure Resource Manager. */
  readonly scope: string;
}

const clouds: Readonly<Record<CloudName, Cloud>> = {
  AzurePublicCloud: {
    endpoint: "https://management.azure.com",
    authorityHost: "https://login.microsoftonline.com",
    scope: "https://management.azure.com/.default",
  },
  AzureUSGovernmentCloud: {
    endpoint: "https://management.usgovcloudapi.net",
    authorityHost: "https://login.microsoftonline.us",
    scope: "https://management.usgovcloudapi.net/.default",
  },
  AzureChinaCloud: {
    endpoint: "https://management.chinacloudapi.cn",
    authorityHost: "https://login.chinacloudapi.cn",
    scope: "https://management.chinacloudapi.cn/.default",
  },
};

/** The subnet of the pods. */
export interface SubnetSettings {
  /** Resource id. */
  readonly id: string;
  /** Range with which the subnet is created; `undefined`: it must exist and be delegated. */
  readonly cidr: string | undefined;
}

/** Metadata of the workspace's records; set with Container Insights. */
interface InsightsSettings {
  readonly clusterResourceId: string;
}

/** Configuration after its files were read, with defaults of the cloud. */
export interface AciSettings {
  readonly config: AciConfig;
  readonly cloud: Cloud;
  readonly subscriptionId: string;
  readonly region: string;
  /** Resource groups of this node, the default one first. */
  readonly resourceGroups: readonly [string, ...string[]];
  readonly subnet: SubnetSettings | undefined;
  readonly logAnalytics: LogAnalytics | undefined;
  readonly insights: InsightsSettings | undefined;
  readonly tenantId: string | undefined;
  readonly clientId: string | undefined;
  /** From the configuration or from authFile or aksFile. It is a secret. */
  readonly clientSecret: string | undefined;
  readonly managedIdentityClientId: string | undefined;
  /** Milliseconds between two lists while nothing changes. */
  readonly pollIntervalMs: number;
}

/**
 * Reads the files that the configuration names, and completes it. A value of the configuration takes precedence over aksFile's, and aksFile's
 * over authFile's, as with the original provider.
 *
 * @throws InvalidInputError naming the settings
 */
export function readSettings(config: AciConfig): AciSettings {
  const files: AzureFileValues = {
    ...(config.authFile !== undefined && defined(readAuthFile(config.authFile))),
    ...(config.aksFile !== undefined && defined(readAksFile(config.aksFile))),
  };
  const missing: string[] = [];
  const need = (value: string | undefined, setting: string, variable: string): string => {
    if (value === undefined) missing.push(`set ${setting} (or ${variable})`);
    return value ?? "";
  };
  const subscriptionId = need(config.subscriptionId ?? files.subscriptionId, "subscriptionId", "AZURE_SUBSCRIPTION_ID");
  const resourceGroup = need(config.resourceGroup ?? files.resourceGroup, "resourceGroup", "ACI_RESOURCE_GROUP");
  const region = need(config.region ?? files.region, "region", "ACI_REGION");
  if (missing.length > 0) throw new InvalidInputError(`${missing.join(", ")} in the provider's configuration`);
  return {
    config,
    cloud: cloudOf(config, files),
    subscriptionId,
    region,
    resourceGroups: [resourceGroup, ...config.otherResourceGroups],
    subnet: subnetOf(config, files, { subscriptionId, resourceGroup }),
    ...analyticsOf(config),
    tenantId: config.tenantId ?? files.tenantId,
    clientId: config.clientId ?? files.clientId,
    clientSecret: config.clientSecret ?? files.clientSecret,
    managedIdentityClientId: config.managedIdentityClientId ?? files.managedIdentityClientId,
    pollIntervalMs: durationMs(config.pollInterval),
  };
}

/**
 * Returns the addresses in use.
 *
 * @throws InvalidInputError if a token would be sent unencrypted without an explicit choice
 */
function cloudOf(config: AciConfig, files: AzureFileValues): Cloud {
  const cloud = clouds[config.cloud ?? files.cloud ?? "AzurePublicCloud"];
  const withoutSlash = (address: string): string => address.replace(/\/$/, "");
  const endpoint = withoutSlash(config.endpoint ?? cloud.endpoint);
  if (endpoint.startsWith("http://") && config.credential !== "token")
    throw new InvalidInputError(
      `endpoint ${endpoint}: tokens of credential ${config.credential} are sent by https only; set caFile for own certificates`,
    );
  return { ...cloud, endpoint, authorityHost: withoutSlash(config.authorityHost ?? cloud.authorityHost) };
}

function subnetOf(
  config: AciConfig,
  files: AzureFileValues,
  own: { readonly subscriptionId: string; readonly resourceGroup: string },
): SubnetSettings | undefined {
  const { subnetId, subnetName, subnetCidr: cidr } = config;
  if (subnetId !== undefined) return { id: subnetId, cidr };
  if (subnetName === undefined) {
    if (cidr !== undefined)
      throw new InvalidInputError("subnetCidr is set, but no subnetName (or ACI_SUBNET_NAME), in the provider's configuration");
    return undefined;
  }
  const vnetName = config.vnetName ?? files.vnetName;
  if (vnetName === undefined)
    throw new InvalidInputError("subnetName is set, but no vnetName (or ACI_VNET_NAME), in the provider's configuration");
  const group = config.vnetResourceGroup ?? files.vnetResourceGroup ?? own.resourceGroup;
  const subscription = config.vnetSubscriptionId ?? own.subscriptionId;
  const vnet = `/subscriptions/${subscription}/resourceGroups/${group}/providers/Microsoft.Network/virtualNetworks/${vnetName}`;
  return { id: `${vnet}/subnets/${subnetName}`, cidr };
}

function analyticsOf({ logAnalytics: own }: AciConfig): Pick<AciSettings, "logAnalytics" | "insights"> {
  const file = own.file === undefined ? {} : readAnalyticsFile(own.file);
  const workspaceId = own.workspaceId ?? file.workspaceId;
  const workspaceKey = own.workspaceKey ?? file.workspaceKey;
  if (workspaceId === undefined && workspaceKey === undefined) return { logAnalytics: undefined, insights: undefined };
  if (workspaceId === undefined || workspaceKey === undefined)
    throw new InvalidInputError("logAnalytics: expected both workspaceId and workspaceKey (LOG_ANALYTICS_ID, LOG_ANALYTICS_KEY)");
  const logType = own.logType ?? (own.clusterResourceId === undefined ? undefined : "ContainerInsights");
  return {
    logAnalytics: {
      workspaceId,
      workspaceKey,
      ...(own.workspaceResourceId !== undefined && { workspaceResourceId: own.workspaceResourceId }),
      ...(logType !== undefined && { logType }),
    },
    insights: own.clusterResourceId === undefined ? undefined : { clusterResourceId: own.clusterResourceId },
  };
}

/** Returns the milliseconds of a duration that the schema has accepted. */
function durationMs(text: string): number {
  const ms = tryDurationMs(text);
  if (ms === undefined) throw new InvalidInputError(`pollInterval: "${text}" is no duration`);
  return ms;
}

function defined(values: AzureFileValues): AzureFileValues {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
