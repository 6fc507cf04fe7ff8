import { InvalidInputError, messageOf } from "@virtual-kubelet/errdefs";
import { z } from "zod";
import type { CloudName } from "./aci-config.ts";
import { readSettingFile } from "./setting-file.ts";

/** Values of a file that Azure's tools write. */
export interface AzureFileValues {
  readonly cloud?: CloudName | undefined;
  readonly subscriptionId?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly managedIdentityClientId?: string | undefined;
  readonly resourceGroup?: string | undefined;
  readonly region?: string | undefined;
  readonly vnetName?: string | undefined;
  readonly vnetResourceGroup?: string | undefined;
}

const value = z
  .string()
  .nullish()
  .transform((text) => text || undefined);

const authFileSchema = z.looseObject({
  clientId: value,
  clientSecret: value,
  tenantId: value,
  subscriptionId: value,
  userIdentityClientId: value,
});

const clouds: readonly CloudName[] = ["AzurePublicCloud", "AzureUSGovernmentCloud", "AzureChinaCloud"];

const aksFileSchema = z.looseObject({
  cloud: value,
  tenantId: value,
  subscriptionId: value,
  aadClientId: value,
  aadClientSecret: value,
  resourceGroup: value,
  location: value,
  vnetName: value,
  vnetResourceGroup: value,
  userAssignedIdentityID: value,
});

/**
 * Reads the file of `AZURE_AUTH_LOCATION`, in UTF-8 or UTF-16 and with or without a byte order mark, as `az ad sp create-for-rbac --sdk-auth`
 * writes it. Source: azure-aci v1.6.4 pkg/auth/authentication.go.
 *
 * @throws InvalidInputError naming the setting and the file, without its content
 */
export function readAuthFile(path: string): AzureFileValues {
  const { clientId, clientSecret, tenantId, subscriptionId, userIdentityClientId } = read("authFile", path, authFileSchema);
  return { clientId, clientSecret, tenantId, subscriptionId, managedIdentityClientId: userIdentityClientId };
}

/**
 * Reads the `azure.json` of an AKS node. The client id `msi` stands for the managed identity.
 *
 * @throws as {@link readAuthFile}
 */
export function readAksFile(path: string): AzureFileValues {
  const file = read("aksFile", path, aksFileSchema);
  const cloud = clouds.find((name) => name.toLowerCase() === file.cloud?.toLowerCase());
  if (file.cloud !== undefined && cloud === undefined)
    throw new InvalidInputError(`aksFile: "${path}": cloud "${file.cloud}" is unknown; expected ${clouds.join(", ")}`);
  const isManaged = file.aadClientId?.toLowerCase() === "msi";
  return {
    cloud,
    tenantId: file.tenantId,
    subscriptionId: file.subscriptionId,
    clientId: isManaged ? undefined : file.aadClientId,
    clientSecret: isManaged ? undefined : file.aadClientSecret,
    managedIdentityClientId: file.userAssignedIdentityID,
    resourceGroup: file.resourceGroup,
    region: file.location,
    vnetName: file.vnetName,
    vnetResourceGroup: file.vnetResourceGroup,
  };
}

const analyticsFileSchema = z.looseObject({ workspaceId: value, workspaceKey: value });

/** Reads the file of `LOG_ANALYTICS_AUTH_LOCATION`. @throws as {@link readAuthFile} */
export function readAnalyticsFile(path: string): { readonly workspaceId?: string | undefined; readonly workspaceKey?: string | undefined } {
  const { workspaceId, workspaceKey } = read("logAnalytics.file", path, analyticsFileSchema);
  return { workspaceId, workspaceKey };
}

function read<Values>(setting: string, path: string, schema: z.ZodType<Values>): Values {
  const text = decode(readSettingFile(setting, path));
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    // JSON.parse quotes what it could not read: that may be a secret.
    if (error instanceof SyntaxError) throw new InvalidInputError(`${setting}: "${path}": expected JSON in UTF-8 or UTF-16`);
    throw error;
  }
  const parsed = schema.safeParse(content);
  if (!parsed.success) throw new InvalidInputError(`${setting}: "${path}": ${messageOf(z.prettifyError(parsed.error))}`);
  return parsed.data;
}

/** Decodes text by its byte order mark; UTF-16 is also recognized by the zero byte of its first character. */
function decode(bytes: Uint8Array): string {
  const [first, second] = bytes;
  const isBigEndian = (first === 0xfe && second === 0xff) || (first === 0 && second !== 0);
  const isLittleEndian = (first === 0xff && second === 0xfe) || (first !== 0 && second === 0);
  return new TextDecoder(isBigEndian ? "utf-16be" : isLittleEndian ? "utf-16le" : "utf-8").decode(bytes);
}
