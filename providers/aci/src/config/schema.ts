import { podPolicySchema, tryDurationMs, type ConfigSchema } from "@virtual-kubelet/core";
import { z } from "zod";
import { policyAnnotations } from "../group/annotations.ts";
import type { AciConfig } from "./aci-config.ts";
import { withOriginalKeys, withOriginalPaths } from "./original-keys.ts";

function isRange(text: string): boolean {
  return z.cidrv4().safeParse(text).success || z.cidrv6().safeParse(text).success;
}

const quantityPattern = /^(\d+\.?\d*|\.\d+)(m|k|[MGTPE]|[KMGTPE]i|[eE][+-]?\d+)?$/;
const notAQuantity = { error: "expected a quantity such as 20, 500m or 100Gi" };
const quantity = z
  .union([z.string().regex(quantityPattern, notAQuantity), z.number().nonnegative(notAQuantity)], notAQuantity)
  .transform(String);

const text = (description: string, env?: string): z.ZodOptional<z.ZodString> =>
  z
    .string()
    .min(1)
    .optional()
    .meta({ description, ...(env !== undefined && { env }) });

/** A part of a resource id. */
const segment = (description: string, example: string, env: string): z.ZodOptional<z.ZodString> =>
  z
    .string()
    .regex(/^[^/?#\s]+$/, { error: `expected a name without slashes and spaces, such as ${example}` })
    .optional()
    .meta({ description, env });

const texts = (description: string, env?: string): z.ZodDefault<z.ZodArray<z.ZodString>> =>
  z
    .array(z.string().min(1))
    .default([])
    .meta({ description, ...(env !== undefined && { env }) });

const flag = (description: string, env?: string): z.ZodDefault<z.ZodBoolean> =>
  z
    .boolean()
    .default(false)
    .meta({ description, ...(env !== undefined && { env }) });

const url = (description: string, env?: string): z.ZodOptional<z.ZodString> =>
  z
    .string()
    .regex(/^https?:\/\/[^/\s]+\/?$/, { error: "expected an address such as https://management.azure.com" })
    .optional()
    .meta({ description, ...(env !== undefined && { env }) });

const cidr = z.string().refine(isRange, { error: "expected a range such as 10.241.0.0/16" });

const resourceId = (kind: string): z.ZodString =>
  z
    .string()
    .regex(/^\/subscriptions\/[^/\s]+\/resourceGroups\/[^/\s]+\/providers\/\S+$/i, { error: `expected the resource id of ${kind}` });

const minPollMs = 1_000;

const credentialKinds = ["auto", "clientSecret", "clientCertificate", "workloadIdentity", "managedIdentity", "azureCli", "token"] as const;

const schema = z.strictObject({
  subscriptionId: segment(
    "Subscription of the container groups; default: from authFile or aksFile",
    "00000000-0000-0000-0000-000000000000",
    "AZURE_SUBSCRIPTION_ID",
  ),
  resourceGroup: segment("Resource group of the container groups; default: from aksFile", "pods", "ACI_RESOURCE_GROUP"),
  otherResourceGroups: texts("Further resource groups of this node, for pods that choose one by annotation"),
  region: text("Azure region, such as westeurope; default: from aksFile", "ACI_REGION"),
  cloud: z
    .enum(["AzurePublicCloud", "AzureUSGovernmentCloud", "AzureChinaCloud"])
    .optional()
    .meta({ description: "Azure cloud; default: from aksFile, otherwise AzurePublicCloud", env: "AZURE_ENVIRONMENT" }),
  endpoint: url("Address of Azure Resource Manager; default: the cloud's", "AZURE_RESOURCE_MANAGER_ENDPOINT"),
  caFile: text("Additional certificate authorities of the endpoint, PEM"),
  credential: z
    .enum(credentialKinds)
    .default("auto")
    .describe(
      "Kind of credential; auto: the first of clientSecret, clientCertificate, workloadIdentity and managedIdentity that is configured",
    ),
  tenantId: text("Tenant", "AZURE_TENANT_ID"),
  clientId: text("Application (client) id of a service principal or of a workload identity", "AZURE_CLIENT_ID"),
  clientSecret: text("Secret of the service principal", "AZURE_CLIENT_SECRET"),
  clientSecretFile: text("File that holds the secret of the service principal; read again when the secret is refused"),
  clientCertificateFile: text("Certificate and key of the service principal, PEM", "AZURE_CLIENT_CERTIFICATE_PATH"),
  federatedTokenFile: text("Token of a workload identity, read for each sign-in", "AZURE_FEDERATED_TOKEN_FILE"),
  managedIdentityClientId: text("Client id of a user-assigned managed identity", "VIRTUALNODE_USER_IDENTITY_CLIENTID"),
  authorityHost: url("Address of Microsoft Entra ID; default: the cloud's", "AZURE_AUTHORITY_HOST"),
  tokenFile: text("File that holds an access token, for credential token; read for each request"),
  authFile: text("JSON file with clientId, clientSecret, tenantId, subscriptionId and userIdentityClientId", "AZURE_AUTH_LOCATION"),
  aksFile: text("azure.json of an AKS node", "AKS_CREDENTIAL_LOCATION"),
  operatingSystem: z.enum(["Linux", "Windows"]).default("Linux").describe("Operating system of the pods"),
  cpu: quantity.default("10000").meta({ description: "CPUs of the node; default 10000", env: "ACI_QUOTA_CPU" }),
  memory: quantity.default("4Ti").meta({ description: "Memory of the node; default 4Ti", env: "ACI_QUOTA_MEMORY" }),
  pods: quantity.default("5000").meta({ description: "Pods of the node; default 5000", env: "ACI_QUOTA_POD" }),
  gpus: quantity.default("100").meta({ description: "GPUs of the node, if gpuSkus is set; default 100", env: "ACI_QUOTA_GPU" }),
  gpuSkus: z
    .array(z.enum(["K80", "P100", "V100"]))
    .default([])
    .describe("GPU models of the region; pods get the first one unless they choose another; Azure retired all models on 2025-07-14"),
  vnetSubscriptionId: segment(
    "Subscription of the virtual network; default: subscriptionId",
    "00000000-0000-0000-0000-000000000000",
    "ACI_VNET_SUBSCRIPTION_ID",
  ),
  vnetResourceGroup: segment(
    "Resource group of the virtual network; default: from aksFile, otherwise resourceGroup",
    "network",
    "ACI_VNET_RESOURCE_GROUP",
  ),
  vnetName: segment("Virtual network; default: from aksFile", "vnet-1", "ACI_VNET_NAME"),
  subnetName: segment(
    "Subnet of the pods, delegated to Microsoft.ContainerInstance/containerGroups; none: no network of one's own",
    "pods",
    "ACI_SUBNET_NAME",
  ),
  subnetCidr: cidr
    .optional()
    .meta({ description: "Range of the subnet; if set, the subnet is created or delegated when necessary", env: "ACI_SUBNET_CIDR" }),
  subnetId: resourceId("a subnet").optional().describe("Resource id of the subnet, instead of vnetName and subnetName"),
  publicAddress: z
    .enum(["ports", "never"])
    .default("ports")
    .describe("Public addresses: for pods without a subnet that declare ports, which are then open to the Internet; or never"),
  kubeDnsIp: z
    .ipv4({ error: "expected an IPv4 address such as 10.0.0.10" })
    .optional()
    .meta({ description: "Address of the cluster's DNS service, for pods in a subnet", env: "KUBE_DNS_IP" }),
  identities: z.array(resourceId("a managed identity")).default([]).describe("User-assigned managed identities of each pod"),
  systemIdentity: flag("Gives each pod a system-assigned managed identity"),
  registryIdentities: z
    .record(z.string().min(1), resourceId("a managed identity"))
    .default({})
    .describe("Managed identity that pulls from a registry, by the registry's host name"),
  serviceAccountToken: flag("Gives pods their service account's token, which is never renewed in a running pod"),
  realTimeMetrics: flag(
    "Measures pods by Azure's realtime-metrics extension, which this program reads from the pods' addresses; only for Linux pods in a subnet",
    "ENABLE_REAL_TIME_METRICS",
  ),
  azureMonitorMetrics: z.boolean().default(true).describe("Measures other pods by Azure Monitor, whose figures are a minute old"),
  kubeProxy: z
    .strictObject({
      enabled: flag("Adds Azure's kube-proxy extension to each pod, which is then able to reach Services; only for Linux pods in a subnet"),
      kubeconfigFile: text("Kubeconfig for the extension; default: the service account of this program"),
      server: z.string().min(1).default("https://10.0.0.1").meta({ description: "API server, without kubeconfigFile", env: "MASTER_URI" }),
      clusterCidr: cidr.default("10.240.0.0/16").meta({ description: "Range of the cluster's pods", env: "CLUSTER_CIDR" }),
      kubeVersion: z.string().min(1).default("v1.9.10").describe("Version of kube-proxy; the extension knows v1.9.10"),
    })
    .prefault({})
    .describe("Azure's kube-proxy extension"),
  logAnalytics: z
    .strictObject({
      workspaceId: text("Id of the workspace", "LOG_ANALYTICS_ID"),
      workspaceKey: text("Key of the workspace", "LOG_ANALYTICS_KEY"),
      file: text("JSON file with workspaceId and workspaceKey, for values that are not set here", "LOG_ANALYTICS_AUTH_LOCATION"),
      workspaceResourceId: resourceId("a workspace").optional().describe("Resource id of the workspace"),
      clusterResourceId: text("Resource id of the AKS cluster, which turns Container Insights on", "CLUSTER_RESOURCE_ID"),
      logType: z.enum(["ContainerInsights", "ContainerInstanceLogs"]).optional().describe("Kind of the logs"),
    })
    .prefault({})
    .describe("Azure Monitor Logs workspace that receives the containers' output"),
  encryption: z
    .strictObject({
      vaultBaseUrl: z.url({ protocol: /^https$/, error: "expected an address such as https://NAME.vault.azure.net" }).describe("Key vault"),
      keyName: z.string().min(1).describe("Name of the key"),
      keyVersion: z.string().min(1).describe("Version of the key"),
      identity: resourceId("a managed identity").optional().describe("Managed identity that may use the key"),
    })
    .optional()
    .describe("Own key for the encryption of the pods' data"),
  zones: texts("Availability zones of the pods"),
  exec: z
    .enum(["shell", "direct"])
    .default("shell")
    .describe(
      "How commands are run; shell: by the image's sh, with arguments, separate errors and exit codes; direct: as Azure does, which takes no arguments and reports no exit code",
    ),
  pollInterval: z
    .string()
    .refine((text) => (tryDurationMs(text) ?? 0) >= minPollMs, { error: "expected a duration of 1s or more, such as 30s" })
    .default("30s")
    .describe(
      "Time between two lists while nothing changes, such as 30s; six times as often while something does, and running pods are read half as often",
    ),
  userAgent: text("Text added to the User-Agent of all requests", "ACI_EXTRA_USER_AGENT"),
  policy: podPolicySchema(policyAnnotations).default({}).describe("What pods may ask of the subscription; everything else is refused"),
});

/** Parses the configuration. The original provider's environment variables and TOML keys are accepted. */
export const aciConfigSchema: ConfigSchema<AciConfig> = {
  safeParse: (input) => withOriginalPaths(schema.safeParse(withOriginalKeys(input ?? {})), input),
  toJSONSchema: () => z.toJSONSchema(schema, { io: "input" }),
};
