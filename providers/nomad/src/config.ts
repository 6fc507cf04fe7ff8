import { podPolicySchema, tryDurationMs, type PodPolicy, type PodRef } from "@virtual-kubelet/core";
import { z } from "zod";
import { policyAnnotations } from "./job/annotations.ts";

/** Files of certificates. */
export interface NomadTlsConfig {
  /** Path of the certificates of those that may have signed Nomad's, PEM. */
  readonly ca?: string | undefined;
  /** Path of our own certificate, PEM. */
  readonly certificate?: string | undefined;
  /** Path of its key, PEM. */
  readonly key?: string | undefined;
  /** Name that Nomad's certificate has to have; default: the address's. */
  readonly serverName?: string | undefined;
  /** Take every certificate. */
  readonly insecureSkipVerify: boolean;
}

/** The drivers that the provider can write tasks for. */
export type NomadDriver = "docker" | "exec" | "raw_exec";

/** Volume of Nomad that a persistent volume claim stands for. */
export interface NomadVolumeConfig {
  /** A host volume of the clients, or a CSI volume. */
  readonly type: "host" | "csi";
  /** The volume's name in Nomad. */
  readonly source: string;
  /** Of a CSI volume; default `single-node-writer`. */
  readonly accessMode?: string | undefined;
  /** Of a CSI volume; default `file-system`. */
  readonly attachmentMode?: string | undefined;
}

/** Constraint on the clients that a job may run on. */
export interface NomadConstraintConfig {
  /** Such as `${attr.kernel.name}`. */
  readonly attribute: string;
  /** As Nomad writes it: `=`, `!=`, `regexp`, … */
  readonly operator: string;
  /** What the attribute is compared with. */
  readonly value: string;
}

/** What the node offers. Amounts are quantities; those that are absent follow from the clients. */
export interface NomadCapacityConfig {
  /** CPUs. */
  readonly cpu?: string | undefined;
  /** Bytes of memory. */
  readonly memory?: string | undefined;
  /** Bytes of disk. */
  readonly ephemeralStorage?: string | undefined;
  /** Pods it takes. */
  readonly pods: string;
  /** Part of what the clients have that Kubernetes may use; over 0, up to 1. */
  readonly fraction: number;
}

/** Restart policy of failed containers. Durations are milliseconds. */
export interface NomadRestartConfig {
  /** Restarts in one interval. */
  readonly attempts: number;
  /** Its length. */
  readonly interval: number;
  /** Wait before each; Nomad adds up to a quarter. */
  readonly delay: number;
}

/** What is kept of a container's output. */
export interface NomadLogsConfig {
  /** Files for each of its outputs. */
  readonly maxFiles: number;
  /** Size of each, in MiB. */
  readonly maxFileSizeMB: number;
}

/** Choice between request and limit as the amount that Nomad reserves. */
export interface NomadReserveConfig {
  /** `auto`: the request where Nomad lets a task use more than that (memory oversubscription), else the limit. */
  readonly memory: "auto" | "request" | "limit";
  readonly cpu: "request" | "limit";
}

/** The parsed configuration. Durations are milliseconds. */
export interface NomadConfig {
  /** URL of an agent, or `unix:///PATH` of its socket. */
  readonly address: string;
  /** Region of the jobs; default: the agent's. */
  readonly region?: string | undefined;
  /** Nomad's namespace of the jobs whose pods {@link namespaces} does not name. */
  readonly namespace: string;
  /** Nomad's namespaces, by the namespaces of Kubernetes whose pods' jobs go there. */
  readonly namespaces: Readonly<Record<string, string>>;
  /** ACL token. It is a secret. */
  readonly token?: string | undefined;
  /** File with the ACL token; goes before `token`, and is read anew when the token is refused. */
  readonly tokenFile?: string | undefined;
  /** `USER:PASSWORD` for a proxy before Nomad. It is a secret. */
  readonly httpAuth?: string | undefined;
  /** Certificates. */
  readonly tls: NomadTlsConfig;
  /** Datacenters that jobs may go to; they may have stars. */
  readonly datacenters: readonly string[];
  /** Node pool of the jobs; default: Nomad's `default`. */
  readonly nodePool?: string | undefined;
  /** Constraints of all jobs. */
  readonly constraints: readonly NomadConstraintConfig[];
  /** Task driver. */
  readonly driver: NomadDriver;
  /** `bridge`, `host`, `none`, `cni/NAME`, or `task`: each container its own. */
  readonly network: string;
  /** Where the contents of secrets and config maps go. */
  readonly secrets: "variables" | "inline";
  /** Volumes of Nomad for claims, by `NAMESPACE/CLAIM` or `CLAIM`. */
  readonly volumes: Readonly<Record<string, NomadVolumeConfig>>;
  /** What pods may ask of the clients, and which values their annotations may have. */
  readonly policy: PodPolicy;
  /** Treatment of `imagePullSecrets` with the docker driver. */
  readonly imagePullSecrets: "refuse" | "ignore" | "use";
  /** How failed containers are started again. */
  readonly restart: NomadRestartConfig;
  /** How long a client may be away before its pods are lost; default: Nomad's heartbeat grace. */
  readonly disconnectGrace?: number | undefined;
  /** Quantity for a container that requests none. */
  readonly defaultCpu: string;
  /** Quantity for a container that names none. */
  readonly defaultMemory: string;
  /** What is reserved for a container that names a request and a limit. */
  readonly reserve: NomadReserveConfig;
  /** MHz that one CPU of Kubernetes is; default: that of the clients. */
  readonly mhzPerCore?: number | undefined;
  /** What is kept of a container's output. */
  readonly logs: NomadLogsConfig;
  /** How long the job of a deleted pod stays after its end. */
  readonly purgeAfter: number;
  /** Interval between full lists. */
  readonly relist: number;
  /** Follow the event stream; `false`: use blocking queries. */
  readonly stream: boolean;
  /** What the node offers. */
  readonly capacity: NomadCapacityConfig;
  /** Connections for short requests at once. */
  readonly maxSockets: number;
  /** Connections that Nomad takes from one address: what {@link maxSockets} leaves of them is for logs and commands. */
  readonly maxConnections: number;
}

const durationError = { error: "expected a duration such as 500ms, 10s or 5m" };
const duration = z
  .string(durationError)
  .refine((text) => tryDurationMs(text) !== undefined, durationError)
  .transform((text) => tryDurationMs(text) ?? 0);

const quantityError = { error: "expected a quantity such as 2, 500m or 16Gi" };
const quantity = z
  .union(
    [z.string().regex(/^(\d+\.?\d*|\.\d+)(m|k|[MGTPE]|[KMGTPE]i)?$/, quantityError), z.number().nonnegative(quantityError)],
    quantityError,
  )
  .transform(String);

const tls = z.strictObject({
  ca: z.string().optional().meta({ env: "NOMAD_CACERT" }).describe("File with the certificates of the authorities for Nomad's certificate"),
  certificate: z.string().optional().meta({ env: "NOMAD_CLIENT_CERT" }).describe("File with the client certificate"),
  key: z.string().optional().meta({ env: "NOMAD_CLIENT_KEY" }).describe("File with the client certificate's key"),
  serverName: z
    .string()
    .optional()
    .meta({ env: "NOMAD_TLS_SERVER_NAME" })
    .describe("Name that Nomad's certificate must have, such as server.global.nomad"),
  insecureSkipVerify: z.boolean().default(false).meta({ env: "NOMAD_SKIP_VERIFY" }).describe("Accept any certificate; for tests only"),
});

const volume = z.strictObject({
  type: z.enum(["host", "csi"]).describe("A host volume of the clients, or a CSI volume"),
  source: z.string().min(1).describe("The volume's name in Nomad"),
  accessMode: z.string().optional().describe("Access mode of a CSI volume, such as single-node-writer"),
  attachmentMode: z.string().optional().describe("Attachment mode of a CSI volume, such as file-system"),
});

const constraint = z.strictObject({
  attribute: z.string().min(1).describe("Such as ${attr.kernel.name}"),
  operator: z.string().default("=").describe("Operator of a Nomad constraint, such as = or regexp"),
  value: z.string().describe("Value that the attribute is compared with"),
});

const restart = z
  .strictObject({
    attempts: z.int().min(1).default(10).describe("Restarts in one interval; then the container waits for the next"),
    interval: duration.prefault("5m").describe("Length of the interval, at least 5s; default 5m"),
    delay: duration.prefault("10s").describe("Wait before a restart; Nomad adds up to a quarter; default 10s"),
  })
  .refine(({ interval }) => interval >= 5000, { path: ["interval"], error: "expected 5s or more" })
  .refine(({ attempts, delay, interval }) => attempts * delay <= interval, {
    path: ["delay"],
    error: "attempts times delay must fit into interval",
  });

const reserve = z.strictObject({
  memory: z
    .enum(["auto", "request", "limit"])
    .default("auto")
    .describe(
      "Amount of memory reserved for a container that has both a request and a limit. request: the container may use more, up to its limit; this needs memory oversubscription, without which Nomad limits a container to the reserved amount. auto: the request if the token can read that oversubscription is on, otherwise the limit",
    ),
  cpu: z
    .enum(["request", "limit"])
    .default("request")
    .describe(
      "Amount of CPU reserved for a container that has both a request and a limit. With docker, a reserved limit is never exceeded",
    ),
});

const logs = z.strictObject({
  maxFiles: z.int().min(1).default(2).describe("Number of files kept of a container's output"),
  maxFileSizeMB: z.int().min(1).default(5).describe("Size of each file in MiB"),
});

const capacity = z.strictObject({
  cpu: quantity.optional().describe("CPUs of the node; default those of the ready clients"),
  memory: quantity.optional().describe("Memory of the node; default that of the ready clients"),
  ephemeralStorage: quantity.optional().describe("Disk of the node; default that of the ready clients"),
  pods: quantity.prefault("1000").describe("Number of pods that the node accepts; default 1000"),
  fraction: z.number().gt(0).max(1).default(1).describe("Fraction of the clients' resources that Kubernetes may use"),
});

/** Minimum number of connections for users' logs and commands. */
const minStreams = 4;
/** Connections of the node itself besides those of its namespaces. */
const spareStreams = 3;

/** Source: Nomad, `validNamespaceName`. */
const nomadNamespace = z.string().regex(/^[a-zA-Z0-9-]{1,128}$/, {
  error: "expected the name of one namespace of Nomad: letters, digits and -, 128 at most",
});

const kubernetesNamespace = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

const namespaces = z.record(z.string(), nomadNamespace).superRefine((record, context) => {
  const message = "expected the name of a namespace of Kubernetes before the colon: lower-case letters, digits and -, 63 at most";
  for (const name of Object.keys(record)) if (!kubernetesNamespace.test(name)) context.addIssue({ code: "custom", path: [name], message });
});

/** Schema of the configuration; `env` in its metadata names the variable that fills a field in. */
export const nomadConfigSchema: z.ZodType<NomadConfig> = z
  .strictObject({
    address: z
      .string()
      .min(1)
      .default("http://127.0.0.1:4646")
      .meta({ env: "NOMAD_ADDR" })
      .describe("URL of an agent, or unix:///PATH of its socket; HOST:PORT alone means http://"),
    region: z.string().optional().meta({ env: "NOMAD_REGION" }).describe("Region of the jobs; default the agent's"),
    namespace: nomadNamespace
      .default("default")
      .meta({ env: "NOMAD_NAMESPACE" })
      .describe("Nomad namespace for jobs of pods whose Kubernetes namespace is not in namespaces; it must exist"),
    namespaces: namespaces.default({}).describe("Nomad namespaces for jobs, by Kubernetes namespace; they must exist"),
    token: z.string().optional().meta({ env: "NOMAD_TOKEN" }).describe("ACL token"),
    tokenFile: z.string().optional().describe("File with the ACL token; overrides token, and is read again when the token is refused"),
    httpAuth: z.string().optional().meta({ env: "NOMAD_HTTP_AUTH" }).describe("USER:PASSWORD for a proxy in front of Nomad"),
    tls: tls.prefault({}).describe("Certificates"),
    datacenters: z.array(z.string().min(1)).min(1).default(["*"]).describe("Datacenters in which jobs may be placed"),
    nodePool: z.string().optional().describe("Node pool of the jobs; default Nomad's default"),
    constraints: z.array(constraint).default([]).describe("Constraints on the clients on which jobs may be placed"),
    driver: z
      .enum(["docker", "exec", "raw_exec"])
      .default("docker")
      .describe("Task driver; the annotation nomad.hashicorp.com/driver sets it for one pod, if policy.annotations allows it"),
    network: z
      .string()
      .regex(/^(bridge|host|none|task|cni\/[\w-]+)$/, { error: "expected bridge, host, none, task or cni/NAME" })
      .default("bridge")
      .describe(
        "Network of a pod: bridge (needs the CNI plugins on the clients), host, none, cni/NAME, or task (each container has its own network; only for pods with one container)",
      ),
    secrets: z
      .enum(["variables", "inline"])
      .default("variables")
      .describe(
        "Where the contents of secrets and config maps are stored: in Nomad Variables, or, if ACLs forbid those, readably in the job",
      ),
    volumes: z
      .record(z.string(), volume)
      .default({})
      .describe("Volumes of Nomad for persistent volume claims, by NAMESPACE/CLAIM or CLAIM"),
    policy: podPolicySchema(policyAnnotations).default({}).describe("What pods may ask of the clients; everything else is refused"),
    imagePullSecrets: z
      .enum(["refuse", "ignore", "use"])
      .default("refuse")
      .describe(
        "How pods with imagePullSecrets are treated. refuse: they stay Pending; ignore: images are pulled with the clients' credentials; use: images are pulled with the pod's secrets, which its containers can then read",
      ),
    restart: restart.prefault({}).describe("How failed containers are restarted"),
    disconnectGrace: duration
      .optional()
      .describe("How long a client may be unreachable before its pods are lost; default Nomad's heartbeat grace"),
    defaultCpu: quantity.prefault("100m").describe("CPU request of a container without one; default 100m"),
    defaultMemory: quantity
      .prefault("256Mi")
      .describe("Memory of a container without a request or limit, because Nomad always limits it; default 256Mi"),
    reserve: reserve.prefault({}).describe("Whether Nomad reserves a container's requests or its limits"),
    mhzPerCore: z.number().positive().optional().describe("MHz that correspond to one CPU of Kubernetes; default that of the clients"),
    logs: logs.prefault({}).describe("How much of a container's output is kept"),
    purgeAfter: duration.prefault("60s").describe("How long the job and the logs of a deleted pod are kept; default 60s"),
    relist: duration
      .prefault("60s")
      .refine((ms) => ms >= 1000, { error: "expected 1s or more" })
      .describe("How often everything is listed again, in addition to the event stream; default 60s"),
    stream: z.boolean().default(true).describe("Follow the event stream; if false, blocking queries are used instead"),
    capacity: capacity.prefault({}).describe("What the node offers"),
    maxSockets: z.int().min(2).max(1000).default(32).describe("Maximum number of connections for short requests"),
    maxConnections: z
      .int()
      .min(16)
      .default(100)
      .describe(
        "Connections that Nomad accepts from one address (http_max_conns_per_client). maxConnections minus maxSockets are for logs and commands: an eighth of these for commands of probes, whose last quarter is reserved for Kubernetes namespaces without such a connection; the last quarter of the others is reserved for namespaces with fewer than two",
      ),
  })
  .refine((config) => streamShares(config).users >= minStreams, {
    path: ["maxSockets"],
    error: `expected maxConnections to be ${minStreams + spareStreams} more than maxSockets, and one more for each namespace of Nomad`,
  });

type NamespaceConfig = Pick<NomadConfig, "namespace" | "namespaces">;

/** Nomad's namespace of a pod's job. Only the configuration says it: no pod may choose. */
export function nomadNamespaceOf({ namespace, namespaces }: NamespaceConfig, pod: Pick<PodRef, "namespace">): string {
  return (Object.hasOwn(namespaces, pod.namespace) ? namespaces[pod.namespace] : undefined) ?? namespace;
}

/** All namespaces of Nomad that the node's jobs may be in, each once. */
export function nomadNamespacesOf({ namespace, namespaces }: NamespaceConfig): readonly string[] {
  return [...new Set([namespace, ...Object.values(namespaces)])];
}

/**
 * How many connections are left for users' logs and commands, and how many for commands of probes: an eighth. In each namespace an event
 * stream, or a blocking query, takes one.
 */
export function streamShares({
  maxSockets,
  maxConnections,
  ...config
}: NamespaceConfig & Pick<NomadConfig, "maxSockets" | "maxConnections">): {
  readonly users: number;
  readonly probes: number;
} {
  const left = maxConnections - maxSockets - nomadNamespacesOf(config).length - spareStreams;
  const probes = Math.max(1, Math.floor(left / 8));
  return { users: left - probes, probes };
}
