/** Body of `PUT containerGroups`. Source: TypeSpec of Microsoft.ContainerInstance 2025-09-01; names are the wire's. */
export interface ContainerGroupBody {
  readonly location: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly zones?: readonly string[] | undefined;
  readonly identity?: GroupIdentity | undefined;
  readonly properties: GroupProperties;
}

export interface GroupIdentity {
  readonly type: "SystemAssigned" | "UserAssigned" | "SystemAssigned, UserAssigned";
  /** By resource id. */
  readonly userAssignedIdentities?: Readonly<Record<string, Readonly<Record<string, never>>>> | undefined;
}

export interface GroupProperties {
  readonly osType: "Linux" | "Windows";
  readonly restartPolicy: "Always" | "OnFailure" | "Never";
  readonly sku?: "Standard" | "Dedicated" | "Confidential" | undefined;
  readonly priority?: "Regular" | "Spot" | undefined;
  readonly containers: readonly GroupContainer[];
  readonly initContainers?: readonly GroupInitContainer[] | undefined;
  readonly volumes?: readonly GroupVolume[] | undefined;
  readonly imageRegistryCredentials?: readonly RegistryCredential[] | undefined;
  readonly subnetIds?: readonly { readonly id: string }[] | undefined;
  readonly dnsConfig?: GroupDns | undefined;
  readonly ipAddress?: GroupAddress | undefined;
  readonly extensions?: readonly GroupExtension[] | undefined;
  readonly diagnostics?: { readonly logAnalytics: LogAnalytics } | undefined;
  readonly confidentialComputeProperties?: { readonly ccePolicy: string } | undefined;
  readonly encryptionProperties?: Encryption | undefined;
  readonly standbyPoolProfile?: { readonly id: string } | undefined;
  readonly containerGroupProfile?: { readonly id: string; readonly revision?: number | undefined } | undefined;
}

export interface GroupContainer {
  readonly name: string;
  readonly properties: GroupContainerProperties;
}

interface AnyContainerProperties {
  readonly image: string;
  /** Replaces entry point and arguments of the image; empty or absent: the image's own. */
  readonly command?: readonly string[] | undefined;
  readonly environmentVariables?: readonly GroupEnvVar[] | undefined;
  readonly volumeMounts?: readonly GroupVolumeMount[] | undefined;
  readonly securityContext?: GroupSecurityContext | undefined;
}

interface GroupContainerProperties extends AnyContainerProperties {
  readonly ports?: readonly GroupPort[] | undefined;
  readonly resources: GroupResources;
  readonly livenessProbe?: GroupProbe | undefined;
  readonly readinessProbe?: GroupProbe | undefined;
}

export interface GroupInitContainer {
  readonly name: string;
  readonly properties: AnyContainerProperties;
}

export interface GroupPort {
  readonly port: number;
  readonly protocol: "TCP" | "UDP";
}

/** Exactly one of `value` and `secureValue` is set. Azure never returns a `secureValue`. */
export interface GroupEnvVar {
  readonly name: string;
  readonly value?: string | undefined;
  readonly secureValue?: string | undefined;
}

export interface GroupVolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean | undefined;
}

export interface GroupResources {
  readonly requests: ResourceAmounts;
  readonly limits?: Partial<ResourceAmounts> | undefined;
}

export interface ResourceAmounts {
  /** Cores, in steps of 0.01. */
  readonly cpu: number;
  /** Gigabytes of 1,000,000,000 bytes, in steps of 0.1. */
  readonly memoryInGB: number;
  readonly gpu?: { readonly count: number; readonly sku: string } | undefined;
}

export interface GroupProbe {
  readonly exec?: { readonly command: readonly string[] } | undefined;
  readonly httpGet?:
    | {
        readonly path?: string | undefined;
        readonly port: number;
        readonly scheme: "http" | "https";
        readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[] | undefined;
      }
    | undefined;
  readonly initialDelaySeconds?: number | undefined;
  readonly periodSeconds?: number | undefined;
  readonly failureThreshold?: number | undefined;
  readonly successThreshold?: number | undefined;
  readonly timeoutSeconds?: number | undefined;
}

export interface GroupSecurityContext {
  readonly privileged?: boolean | undefined;
  readonly allowPrivilegeEscalation?: boolean | undefined;
  readonly capabilities?: { readonly add?: readonly string[] | undefined; readonly drop?: readonly string[] | undefined } | undefined;
  readonly runAsUser?: number | undefined;
  readonly runAsGroup?: number | undefined;
}

/** Exactly one source is set. */
export interface GroupVolume {
  readonly name: string;
  readonly azureFile?:
    | {
        readonly shareName: string;
        readonly storageAccountName: string;
        readonly storageAccountKey: string;
        readonly readOnly?: boolean | undefined;
      }
    | undefined;
  readonly emptyDir?: Readonly<Record<string, never>> | undefined;
  readonly gitRepo?:
    | { readonly repository: string; readonly directory?: string | undefined; readonly revision?: string | undefined }
    | undefined;
  /** Content of files in base64, by file name. */
  readonly secret?: Readonly<Record<string, string>> | undefined;
}

/** Either `username` and `password`, or an identity. */
export interface RegistryCredential {
  readonly server: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Resource id of a managed identity that may pull from the registry. */
  readonly identity?: string | undefined;
}

export interface GroupDns {
  readonly nameServers: readonly string[];
  /** Joined by spaces. */
  readonly searchDomains?: string | undefined;
  /** Joined by spaces. */
  readonly options?: string | undefined;
}

export interface GroupAddress {
  readonly type: "Public" | "Private";
  readonly ports: readonly GroupPort[];
  readonly dnsNameLabel?: string | undefined;
  readonly autoGeneratedDomainNameLabelScope?: string | undefined;
}

export interface GroupExtension {
  readonly name: string;
  readonly properties: {
    readonly extensionType: string;
    readonly version: string;
    readonly settings: Readonly<Record<string, string>>;
    readonly protectedSettings: Readonly<Record<string, string>>;
  };
}

export interface LogAnalytics {
  readonly workspaceId: string;
  readonly workspaceKey: string;
  readonly workspaceResourceId?: string | undefined;
  readonly logType?: "ContainerInsights" | "ContainerInstanceLogs" | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** Key of a vault with which Azure encrypts the container groups. */
export interface Encryption {
  readonly vaultBaseUrl: string;
  readonly keyName: string;
  readonly keyVersion: string;
  readonly identity?: string | undefined;
}
