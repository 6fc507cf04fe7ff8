/** Body of a create, which the schema has accepted. */
export interface ContainerGroupBody {
  readonly location: string;
  readonly tags?: Readonly<Record<string, string>> | undefined;
  readonly zones?: readonly string[] | undefined;
  readonly identity?: object | undefined;
  readonly properties: GroupProperties;
}

export interface GroupProperties {
  readonly osType?: string;
  readonly restartPolicy?: string;
  readonly sku?: string;
  readonly priority?: string;
  readonly containers: readonly ContainerBody[];
  readonly initContainers?: readonly ContainerBody[];
  readonly volumes?: readonly VolumeBody[];
  readonly subnetIds?: readonly { readonly id: string }[];
  readonly ipAddress?: IpAddressBody;
  readonly imageRegistryCredentials?: readonly Readonly<Record<string, string>>[];
  readonly extensions?: readonly ExtensionBody[];
  readonly diagnostics?: { readonly logAnalytics?: Readonly<Record<string, unknown>> };
}

interface IpAddressBody {
  readonly type: string;
  readonly ports: readonly { readonly port: number; readonly protocol?: string }[];
  readonly dnsNameLabel?: string;
  readonly ip?: string;
}

interface ExtensionBody {
  readonly name: string;
  readonly properties?: {
    readonly extensionType: string;
    readonly version: string;
    readonly settings?: unknown;
    readonly protectedSettings?: unknown;
  };
}

export interface ContainerBody {
  readonly name: string;
  readonly properties: ContainerProperties;
}

interface ContainerProperties {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly environmentVariables?: readonly VariableBody[];
  readonly ports?: readonly { readonly port: number; readonly protocol?: string }[];
  readonly resources?: { readonly requests: ResourceBody; readonly limits?: Partial<ResourceBody> };
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
  readonly livenessProbe?: ProbeBody;
  readonly readinessProbe?: ProbeBody;
  readonly securityContext?: { readonly runAsUser?: number; readonly runAsGroup?: number };
}

interface VariableBody {
  readonly name: string;
  readonly value?: string;
  readonly secureValue?: string;
  readonly secureValueReference?: string;
}

interface ResourceBody {
  readonly cpu: number;
  readonly memoryInGB: number;
  readonly gpu?: { readonly count: number; readonly sku: string };
}

export interface ProbeBody {
  readonly exec?: { readonly command?: readonly string[] };
  readonly httpGet?: { readonly path?: string; readonly port: number; readonly scheme?: string };
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly failureThreshold?: number;
  readonly successThreshold?: number;
  readonly timeoutSeconds?: number;
}

export interface VolumeBody {
  readonly name: string;
  readonly azureFile?: { readonly shareName: string; readonly storageAccountName: string; readonly readOnly?: boolean };
  readonly emptyDir?: object;
  readonly secret?: Readonly<Record<string, string>>;
  readonly gitRepo?: { readonly repository: string; readonly directory?: string; readonly revision?: string };
}
