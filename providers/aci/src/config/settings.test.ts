import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { credentialKind } from "../azure/credential.ts";
import { configOf, settingsOf } from "../test-support/pods.ts";
import { aciConfigSchema } from "./schema.ts";
import { readAuthorities } from "./setting-file.ts";
import { readSettings } from "./settings.ts";

let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "aci-config-"));
});

afterAll(() => rm(folder, { recursive: true }));

async function fileWith(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

const auth = { clientId: "app", clientSecret: "hunter22", tenantId: "tenant", subscriptionId: "sub-2", userIdentityClientId: "identity" };
const littleEndian = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(JSON.stringify(auth), "utf16le")]);

test.for([
  ["UTF-8", Buffer.from(JSON.stringify(auth))],
  ["UTF-8 with a byte order mark", Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(JSON.stringify(auth))])],
  ["UTF-16, as PowerShell writes it", littleEndian],
  ["UTF-16 without a byte order mark", littleEndian.subarray(2)],
  ["UTF-16, big-endian", Buffer.from(littleEndian).swap16()],
] as const)("the file of AZURE_AUTH_LOCATION is read in %s", async ([, content]) => {
  const authFile = await fileWith("auth.json", content);
  const settings = readSettings({ ...configOf(), subscriptionId: undefined, authFile });

  expect(settings).toMatchObject({ subscriptionId: "sub-2", tenantId: "tenant", clientId: "app", clientSecret: "hunter22" });
});

test("AKS's azure.json gives credentials, place and network, and the configuration overrides it", async () => {
  const aksFile = await fileWith(
    "azure.json",
    JSON.stringify({
      cloud: "AzureUSGovernmentCloud",
      tenantId: "tenant",
      subscriptionId: "sub-3",
      aadClientId: "msi",
      aadClientSecret: "msi",
      resourceGroup: "MC_group",
      location: "usgovvirginia",
      vnetName: "aks-vnet",
      vnetResourceGroup: "net",
      userAssignedIdentityID: "identity-1",
    }),
  );
  const settings = readSettings({ ...configOf({ aksFile, subnetName: "pods" }), subscriptionId: undefined, region: undefined });

  expect(settings).toMatchObject({
    subscriptionId: "sub-3",
    region: "usgovvirginia",
    resourceGroups: ["pods"],
    cloud: { endpoint: "https://management.usgovcloudapi.net", authorityHost: "https://login.microsoftonline.us" },
    subnet: { id: "/subscriptions/sub-3/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/aks-vnet/subnets/pods" },
    clientId: undefined,
    managedIdentityClientId: "identity-1",
  });
  expect(credentialKind(settings)).toBe("managedIdentity");
});

test("a file that is not JSON is refused without showing its content", async () => {
  const authFile = await fileWith("broken.json", "hunter22 {");

  expect(() => settingsOf({ authFile })).toThrow(
    expect.objectContaining({ code: "VK_INVALID_INPUT", message: expect.not.stringContaining("hunter22") }),
  );
});

test("an unknown cloud is refused with those that are known", async () => {
  const aksFile = await fileWith("cloud.json", JSON.stringify({ cloud: "AzureStackCloud" }));

  expect(() => settingsOf({ aksFile })).toThrow(/expected AzurePublicCloud, AzureUSGovernmentCloud, AzureChinaCloud/);
});

test("the original provider's TOML keys are accepted, and present ones take precedence", () => {
  const original = { ResourceGroup: "old", Region: "westus", OperatingSystem: "Windows", CPU: "40", Memory: "80Gi", Pods: "30" };
  const parsed = aciConfigSchema.safeParse({ ...original, region: "eastus" });

  expect(parsed).toMatchObject({
    success: true,
    data: { resourceGroup: "old", region: "eastus", operatingSystem: "Windows", cpu: "40", memory: "80Gi", pods: "30" },
  });
});

test("the original provider's environment variables are in the schema", () => {
  const text = JSON.stringify(aciConfigSchema.toJSONSchema?.());
  const variables = [
    [
      "AZURE_AUTH_LOCATION",
      "AKS_CREDENTIAL_LOCATION",
      "AZURE_CLIENT_ID",
      "AZURE_CLIENT_SECRET",
      "AZURE_TENANT_ID",
      "AZURE_SUBSCRIPTION_ID",
    ],
    ["VIRTUALNODE_USER_IDENTITY_CLIENTID", "ACI_RESOURCE_GROUP", "ACI_REGION", "ACI_VNET_SUBSCRIPTION_ID", "ACI_VNET_NAME"],
    ["ACI_VNET_RESOURCE_GROUP", "ACI_SUBNET_NAME", "ACI_SUBNET_CIDR", "KUBE_DNS_IP", "MASTER_URI", "CLUSTER_CIDR"],
    ["ENABLE_REAL_TIME_METRICS", "LOG_ANALYTICS_AUTH_LOCATION", "LOG_ANALYTICS_ID", "LOG_ANALYTICS_KEY", "CLUSTER_RESOURCE_ID"],
    ["ACI_EXTRA_USER_AGENT", "ACI_QUOTA_CPU", "ACI_QUOTA_MEMORY", "ACI_QUOTA_POD", "ACI_QUOTA_GPU"],
  ].flat();

  expect(variables.filter((name) => !text.includes(`"env":"${name}"`))).toEqual([]);
});

test.for([
  ["resourceGroup", { resourceGroup: undefined }, /set resourceGroup \(or ACI_RESOURCE_GROUP\)/],
  ["region", { region: undefined }, /set region \(or ACI_REGION\)/],
  ["the virtual network", { subnetName: "pods" }, /no vnetName/],
  ["the subnet", { subnetCidr: "10.241.0.0/16" }, /no subnetName/],
  ["the workspace's key", { logAnalytics: { workspaceId: "w" } }, /both workspaceId and workspaceKey/],
] as const)("a configuration without %s is refused by its name", ([, fields, message]) => {
  expect(() => readSettings({ ...configOf(), ...fields })).toThrow(message);
});

test("lists are read every 30 s while nothing changes, or as often as pollInterval says", () => {
  expect(settingsOf().pollIntervalMs).toBe(30_000);
  expect(settingsOf({ pollInterval: "1m30s" }).pollIntervalMs).toBe(90_000);
  expect(() => configOf({ pollInterval: "500ms" })).toThrow(/a duration of 1s or more/);
  expect(() => configOf({ pollInterval: "30" })).toThrow(/a duration of 1s or more/);
});

test("a token is sent unencrypted only by an explicit choice", () => {
  expect(() => settingsOf({ endpoint: "http://127.0.0.1:1" })).toThrow(/by https only/);
  expect(settingsOf({ endpoint: "http://127.0.0.1:1/", credential: "token", tokenFile: "/t" }).cloud.endpoint).toBe("http://127.0.0.1:1");
});

test.for([
  ["clientSecret", { clientId: "a", clientSecret: "s", tenantId: "t" }],
  ["clientSecret", { clientId: "a", clientSecretFile: "/s", tenantId: "t" }],
  ["clientCertificate", { clientId: "a", clientCertificateFile: "/c", tenantId: "t" }],
  ["workloadIdentity", { clientId: "a", federatedTokenFile: "/f", tenantId: "t" }],
  ["managedIdentity", {}],
  ["managedIdentity", { managedIdentityClientId: "m" }],
  ["azureCli", { credential: "azureCli" }],
] as const)("credential %s is chosen by %j", ([kind, fields]) => {
  expect(credentialKind(settingsOf(fields))).toBe(kind);
});

test("a chosen credential names what it lacks", () => {
  expect(() => credentialKind(settingsOf({ credential: "workloadIdentity", clientId: "a" }))).toThrow(
    /set tenantId \(or AZURE_TENANT_ID\), federatedTokenFile \(or/,
  );
});

test("Container Insights comes with the cluster's id", () => {
  const settings = settingsOf({ logAnalytics: { workspaceId: "w", workspaceKey: "k", clusterResourceId: "/aks" } });

  expect(settings).toMatchObject({ logAnalytics: { logType: "ContainerInsights" }, insights: { clusterResourceId: "/aks" } });
});

test("all settings that are missing are named at once", () => {
  expect(() => readSettings({ ...configOf(), subscriptionId: undefined, resourceGroup: undefined, region: undefined })).toThrow(
    "set subscriptionId (or AZURE_SUBSCRIPTION_ID), set resourceGroup (or ACI_RESOURCE_GROUP), set region (or ACI_REGION) in the provider's configuration",
  );
});

test.for([
  ["authFile", { authFile: "/does/not/exist" }, /^authFile: "\/does\/not\/exist": not there, expected a readable file$/],
  ["aksFile", { aksFile: tmpdir() }, /^aksFile: ".*": a folder, expected a readable file$/],
  ["logAnalytics.file", { logAnalytics: { file: "/does/not/exist" } }, /^logAnalytics\.file: ".*": not there/],
] as const)("a file of %s that cannot be read is told with the setting", ([, fields, message]) => {
  expect(() => settingsOf(fields)).toThrow(expect.objectContaining({ code: "VK_INVALID_INPUT", message: expect.stringMatching(message) }));
});

test("certificate authorities are added to those of Node.js", async () => {
  const caFile = await fileWith("ca.pem", rootCertificates[0] ?? "");
  const text = await fileWith("ca.txt", "no certificate");

  expect(readAuthorities(caFile)).toEqual([...rootCertificates, rootCertificates[0]]);
  expect(readAuthorities(undefined)).toBeUndefined();
  expect(() => readAuthorities(text)).toThrow(`caFile: "${text}": expected certificates in PEM`);
  expect(() => readAuthorities("/does/not/exist")).toThrow('caFile: "/does/not/exist": not there');
});

test.for([
  ["subscriptionId", "a/b", /slashes and spaces/],
  ["resourceGroup", "a/../b", /slashes and spaces/],
  ["subnetName", "my subnet", /slashes and spaces/],
  ["subnetCidr", "10.0.0.0/99", /10\.241\.0\.0\/16/],
  ["subnetCidr", "999.0.0.0/8", /10\.241\.0\.0\/16/],
  ["kubeDnsIp", "10.0.0", /expected an IPv4 address such as 10\.0\.0\.10/],
] as const)("a value of %s that Azure could not take, %s, is refused with the expected form", ([field, value, message]) => {
  const parsed = aciConfigSchema.safeParse({ [field]: value });

  expect(parsed.success ? [] : parsed.error.issues).toMatchObject([{ path: [field], message: expect.stringMatching(message) }]);
});

test("a problem of the original provider's key is told with that key", () => {
  const parsed = aciConfigSchema.safeParse({ OperatingSystem: "BeOS", Pods: "many", cpu: "much" });

  expect(parsed.success ? [] : parsed.error.issues.map(({ path }) => path)).toEqual([["OperatingSystem"], ["cpu"], ["Pods"]]);
});

test("a secret without a client id is told, and not left out for a managed identity", () => {
  expect(() => credentialKind(settingsOf({ clientSecret: "s" }))).toThrow(
    "credential clientSecret: set tenantId (or AZURE_TENANT_ID), clientId (or AZURE_CLIENT_ID) in the provider's configuration",
  );
});
