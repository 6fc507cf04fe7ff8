import { podPolicySchema, tryDurationMs, type ConfigSchema, type PodPolicy } from "@virtual-kubelet/core";
import { z } from "zod";
import { policyAnnotations } from "../pod/annotations.ts";
import { policyVolumes } from "../pod/pod-volumes.ts";

/** Kind of Zun object for a pod; see the README. */
export type ZunMode = "auto" | "container" | "capsule";

/** Configured credentials and endpoints, before clouds.yaml is read. */
export interface ZunAuthConfig {
  readonly cloud?: string | undefined;
  readonly cloudsFile?: string | undefined;
  readonly authUrl?: string | undefined;
  readonly username?: string | undefined;
  readonly userId?: string | undefined;
  readonly password?: string | undefined;
  readonly projectName?: string | undefined;
  readonly projectId?: string | undefined;
  readonly domainName?: string | undefined;
  readonly domainId?: string | undefined;
  readonly userDomainName?: string | undefined;
  readonly userDomainId?: string | undefined;
  readonly projectDomainName?: string | undefined;
  readonly projectDomainId?: string | undefined;
  readonly applicationCredentialId?: string | undefined;
  readonly applicationCredentialName?: string | undefined;
  readonly applicationCredentialSecret?: string | undefined;
  readonly token?: string | undefined;
  readonly region?: string | undefined;
  readonly interface?: string | undefined;
  readonly caCert?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly insecure?: boolean | undefined;
  readonly containerEndpoint?: string | undefined;
  readonly networkEndpoint?: string | undefined;
}

/** Configuration of the provider. */
export interface ZunConfig extends ZunAuthConfig {
  /** What pods may ask for, which values their annotations may have, and which Cinder volumes each namespace may mount. */
  readonly policy: PodPolicy;
  readonly mode: ZunMode;
  /** Networks, by name or id, that a container is connected to. If empty, Zun uses the project's oldest. */
  readonly networks: readonly string[];
  /** Subnets, by name or id. A port is created on each. */
  readonly subnets: readonly string[];
  readonly securityGroups: readonly string[];
  /** Network of the floating IPs, by name or id. */
  readonly floatingNetwork?: string | undefined;
  readonly assignFloatingIp: boolean;
  readonly availabilityZone?: string | undefined;
  /** Name or id of a registry in Zun, whose credentials are used to pull images. */
  readonly registry?: string | undefined;
  readonly runtime?: string | undefined;
  /** Send the pod's imagePullPolicy, which Zun's default policy accepts only from administrators. */
  readonly sendImagePullPolicy: boolean;
  /** How an emptyDir is implemented. */
  readonly emptyDir: "directory" | "cinder";
  /** Give pods their service account's token as a file, which is never renewed. */
  readonly serviceAccountToken: boolean;
  readonly cpu: string;
  readonly memory: string;
  readonly pods: string;
  /** Milliseconds between two lists. */
  readonly pollIntervalMs: number;
  /** Milliseconds between two readings of a container's processor time, each of which runs a command in it. 0 turns them off. */
  readonly cpuIntervalMs: number;
  /** Whether the program can reach pods' addresses. */
  readonly reachablePods: boolean;
  /** Base URL of Zun's websocket proxy, for use if the address that Zun reports cannot be reached. */
  readonly websocketUrl?: string | undefined;
}

const quantityPattern = /^(\d+\.?\d*|\.\d+)(m|k|[MGTPE]|[KMGTPE]i|[eE][+-]?\d+)?$/;
const notAQuantity = { error: "expected a quantity such as 20, 500m or 100Gi" };
const quantity = z
  .union([z.string().regex(quantityPattern, notAQuantity), z.number().nonnegative(notAQuantity)], notAQuantity)
  .transform(String);
const text = (about: string, env?: string): z.ZodOptional<z.ZodString> =>
  z
    .string()
    .min(1)
    .optional()
    .meta({ description: about, ...(env !== undefined && { env }) });
const names = (about: string, env: string): z.ZodDefault<z.ZodArray<z.ZodString>> =>
  z.array(z.string().min(1)).default([]).meta({ description: about, env });
const flag = (about: string, env?: string): z.ZodDefault<z.ZodBoolean> =>
  z
    .boolean()
    .default(false)
    .meta({ description: about, ...(env !== undefined && { env }) });
const url = (about: string, env?: string): z.ZodOptional<z.ZodString> =>
  z
    .string()
    .regex(/^(https?|wss?):\/\/\S+$/, { error: "expected a URL such as https://cloud.example.com:5000/v3" })
    .optional()
    .meta({ description: about, ...(env !== undefined && { env }) });
const minPollMs = 100;
const minCpuMs = 1_000;

const schema = z
  .strictObject({
    cloud: text("Name of a cloud in clouds.yaml; only its credentials are used", "OS_CLOUD"),
    cloudsFile: text("Path of clouds.yaml; default ./, ~/.config/openstack or /etc/openstack", "OS_CLIENT_CONFIG_FILE"),
    authUrl: url("URL of Keystone, with or without /v3", "OS_AUTH_URL"),
    username: text("User's name", "OS_USERNAME"),
    userId: text("User's id, instead of name and domain", "OS_USER_ID"),
    password: text("User's password", "OS_PASSWORD"),
    projectName: text("Project's name", "OS_PROJECT_NAME"),
    projectId: text("Project's id, instead of name and domain", "OS_PROJECT_ID"),
    domainName: text("Domain of user and project, if they have no separate ones", "OS_DOMAIN_NAME"),
    domainId: text("The same, by id", "OS_DOMAIN_ID"),
    userDomainName: text("User's domain", "OS_USER_DOMAIN_NAME"),
    userDomainId: text("The same, by id", "OS_USER_DOMAIN_ID"),
    projectDomainName: text("Project's domain", "OS_PROJECT_DOMAIN_NAME"),
    projectDomainId: text("The same, by id", "OS_PROJECT_DOMAIN_ID"),
    applicationCredentialId: text("Id of an application credential, instead of user and project", "OS_APPLICATION_CREDENTIAL_ID"),
    applicationCredentialName: text("Name of an application credential; needs the user as well", "OS_APPLICATION_CREDENTIAL_NAME"),
    applicationCredentialSecret: text("Secret of the application credential", "OS_APPLICATION_CREDENTIAL_SECRET"),
    token: text("A Keystone token; it cannot be renewed, so the node becomes NotReady when it expires", "OS_TOKEN"),
    region: text("Region; default the first in the catalogue", "OS_REGION_NAME"),
    interface: text("Kind of endpoints: public, internal or admin; default public", "OS_INTERFACE"),
    caCert: text("Path of additional certificate authorities, PEM", "OS_CACERT"),
    cert: text("Path of a client certificate, PEM", "OS_CERT"),
    key: text("Path of the client certificate's key, PEM", "OS_KEY"),
    insecure: z.boolean().optional().meta({ description: "Accept any certificate of the cloud; default false", env: "OS_INSECURE" }),
    containerEndpoint: url("Zun's URL; default from the catalogue", "OS_CONTAINER_ENDPOINT_OVERRIDE"),
    networkEndpoint: url("Neutron's URL; default from the catalogue", "OS_NETWORK_ENDPOINT_OVERRIDE"),
    mode: z.enum(["auto", "container", "capsule"]).default("auto").meta({
      description: "Kind of Zun object for a pod; auto: a container if the pod has one container, otherwise a capsule",
      env: "ZUN_MODE",
    }),
    policy: podPolicySchema(policyAnnotations, policyVolumes)
      .default({})
      .describe("What pods may ask of the project; everything else is refused"),
    networks: names("Networks of a container, by name or id; none: the project's oldest", "ZUN_NETWORKS"),
    subnets: names("Subnets of a container, by name or id; it gets a port on each", "ZUN_SUBNETS"),
    securityGroups: names("Security groups, by name or id", "ZUN_SECURITY_GROUPS"),
    floatingNetwork: text("Network that floating IPs come from, by name or id; default the only external one", "ZUN_FLOATING_NETWORK"),
    assignFloatingIp: flag("Give every pod a floating IP", "ZUN_FLOATING_IP"),
    availabilityZone: text("Availability zone", "ZUN_AVAILABILITY_ZONE"),
    registry: text("Registry known to Zun, by name or id, whose credentials pull the images; containers only"),
    runtime: text("Container runtime, such as kata; only for administrators, unless Zun's policy says otherwise"),
    sendImagePullPolicy: flag("Send imagePullPolicy; only for administrators, unless Zun's policy says otherwise"),
    emptyDir: z
      .enum(["directory", "cinder"])
      .default("directory")
      .describe("How an emptyDir is implemented: a directory in the container, or a Cinder volume that is deleted with the pod"),
    serviceAccountToken: flag("Give pods their service account's token as a file, which is never renewed"),
    cpu: quantity.default("20").describe("CPUs of the node, fewer if the project's quota is less; default 20"),
    memory: quantity.default("100Gi").describe("Memory of the node, less if the project's quota is less; default 100Gi"),
    pods: quantity.default("20").describe("Pods of the node, fewer if the project's quota is less; default 20"),
    pollInterval: z.string().default("10s").describe("Time between two lists while nothing changes, such as 10s"),
    cpuInterval: z
      .string()
      .default("60s")
      .describe(
        "Time between two readings of a container's processor time, each of which runs a command in the container; 0s turns the readings off",
      ),
    reachablePods: flag("Pods' addresses can be reached from this program, so HTTP, TCP and gRPC probes are run", "ZUN_REACHABLE_PODS"),
    websocketUrl: url("URL of Zun's websocket proxy, if the address that Zun reports cannot be reached: wss://cloud.example.com:6784/"),
  })
  .transform(({ pollInterval, cpuInterval, ...config }, context): ZunConfig => {
    const durationMs = (field: string, text: string, isAllowed: (ms: number) => boolean, expected: string): number => {
      const ms = tryDurationMs(text);
      if (ms !== undefined && isAllowed(ms)) return ms;
      context.addIssue({ code: "custom", path: [field], message: `expected ${expected}`, input: text });
      return 0;
    };
    return {
      ...config,
      pollIntervalMs: durationMs("pollInterval", pollInterval, (ms) => ms >= minPollMs, "a duration of 100ms or more, such as 10s"),
      cpuIntervalMs: durationMs(
        "cpuInterval",
        cpuInterval,
        (ms) => ms === 0 || ms >= minCpuMs,
        "0s, or a duration of 1s or more, such as 60s",
      ),
    };
  });

/** Parses the configuration. Its environment variables are OpenStack's own and, for settings without such a variable, `ZUN_*`. */
export const zunConfigSchema: ConfigSchema<ZunConfig> = {
  safeParse: (input) => schema.safeParse(input ?? {}),
  toJSONSchema: () => z.toJSONSchema(schema, { io: "input" }),
};
