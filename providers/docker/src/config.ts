import { podPolicySchema, tryDurationMs, type ConfigSchema, type PodPolicy } from "@virtual-kubelet/core";
import { defaultEvictionHard, evictionRules, evictionSignals, type EvictionRules, type SignalAmounts } from "@virtual-kubelet/pod-runtime";
import { z } from "zod";
import type { CniSettings } from "./network/cni/cni-network.ts";
import type { DeviceSettings } from "./runtime-settings.ts";
import { isNetworkName, networkAnnotation, policyAnnotations } from "./network/network-annotation.ts";

/** The parsed configuration, with its defaults. */
export interface DockerConfig {
  /** `unix:///path` or `tcp://host:port`. Default: from {@link context}, else the usual sockets. */
  readonly host?: string | undefined;
  /** A context of the docker command. */
  readonly context?: string | undefined;
  /** Folder with `ca.pem`, `cert.pem` and `key.pem` for a TCP host. */
  readonly certPath?: string | undefined;
  /** Whether to verify the certificate of a TCP host. */
  readonly tlsVerify?: boolean | undefined;
  /** Folder of the docker command's settings. Default: `.docker` in the home folder. */
  readonly configFolder?: string | undefined;
  readonly sandboxImage: string;
  /** Folder of volumes and other files of pods: an absolute path. */
  readonly rootDirectory: string;
  /** The engine's network for pods. */
  readonly network: string;
  /** Network plugins in place of the engine's networks. Default: none. */
  readonly cni?: CniSettings | undefined;
  readonly clusterDNS: readonly string[];
  /** The node's `resolv.conf`. Default: `/etc/resolv.conf`. */
  readonly resolvConf?: string | undefined;
  readonly policy: PodPolicy;
  /** Provisioner of volumes in a folder of the machine. Default: none. */
  readonly localPath?: DockerLocalPathConfig | undefined;
  /** Volume drivers of the engine that PersistentVolumes and StorageClasses may name. */
  readonly volumeDrivers: readonly string[];
  /** Whether each pod has a cgroup of its own. */
  readonly cgroupsPerQOS: boolean;
  /** Parent of the pods' cgroups; without {@link cgroupsPerQOS}, of all containers. Default: `/vkpods`, or the engine's. */
  readonly cgroupParent?: string | undefined;
  /** Control group of the engine. Default: that of the process in its file `docker.pid`. */
  readonly runtimeCgroups?: string | undefined;
  /** Control group of the machine's other services. */
  readonly systemCgroups?: string | undefined;
  /** Maximum number of processes in a container. Default: no maximum. */
  readonly pidsLimit?: number | undefined;
  readonly namePrefix: string;
  readonly log: DockerLogConfig;
  readonly runtimeClasses: Readonly<Record<string, string>>;
  readonly devices: Readonly<Record<string, DeviceSettings>>;
  /** Ids of the GPUs for pods; `auto`: all that the NVIDIA driver reports. */
  readonly gpus: "auto" | readonly string[];
  /** Folder of seccomp profiles. Default: `seccomp` in {@link rootDirectory}. */
  readonly seccompFolder?: string | undefined;
  readonly pulls: DockerPullConfig;
  /** Maximum number of sandboxes that are created at once. */
  readonly sandboxesAtOnce: number;
  /** A `config.json` with the node's registry credentials. */
  readonly registryConfig?: string | undefined;
  /** When unused images are removed. Default: never. */
  readonly imageCollection?: DockerImageCollectionConfig | undefined;
  /** Quantities by resource that are reserved for this program and the engine. */
  readonly kubeReserved: Readonly<Record<string, string>>;
  /** Quantities by resource that are reserved for the rest of the machine. */
  readonly systemReserved: Readonly<Record<string, string>>;
  /** `pods`: limit all pods together to what is allocatable. */
  readonly enforceNodeAllocatable: readonly "pods"[];
  readonly evictionHard: SignalAmounts;
  readonly evictionSoft: SignalAmounts;
  /** Durations by signal. */
  readonly evictionSoftGracePeriod: SignalAmounts;
  readonly evictionMinimumReclaim: SignalAmounts;
  /** A duration. */
  readonly evictionPressureTransitionPeriod: string;
  /** Seconds. */
  readonly evictionMaxPodGracePeriod: number;
  /** Quantities by resource that replace those of the engine. */
  readonly capacity: Readonly<Record<string, string>>;
}

/** Provisioner of volumes in a folder of the machine. */
export interface DockerLocalPathConfig {
  /** Folder of the volumes. Default: `local-path` in the provider's root directory. */
  readonly root?: string | undefined;
  /** Name in StorageClasses. */
  readonly provisioner: string;
}

/** Amount and place of containers' logs. */
export interface DockerLogConfig {
  /** Such as `10m`. */
  readonly maxSize: string;
  /** Number of files, counting the current one. */
  readonly maxFiles: number;
  /** Whether to link logs in {@link folder}. Default: if it can be written. */
  readonly links?: boolean | undefined;
  /** Folder that log shippers read, with `pods/` and `containers/`. */
  readonly folder: string;
}

/** How images are pulled. */
export interface DockerPullConfig {
  /** Maximum number of pulls at once. */
  readonly parallel: number;
  /** Time without progress after which a pull fails. */
  readonly progressTimeoutSeconds: number;
}

/** When unused images are removed. */
export interface DockerImageCollectionConfig {
  /** Disk usage that starts a collection, in percent. */
  readonly highThresholdPercent: number;
  /** Disk usage at which a collection stops, in percent. */
  readonly lowThresholdPercent: number;
  /** Minimum age of an image since it was first seen. */
  readonly minAgeSeconds: number;
}

const absolutePath = z.string().regex(/^\/(?!.*(^|\/)\.\.(\/|$))/, "expected an absolute path");
const quantity = z
  .union([
    z.string().regex(/^(\d+\.?\d*|\.\d+)(m|k|[MGTPE]|[KMGTPE]i)?$/, "expected a quantity such as 20, 500m or 100Gi"),
    z.number().nonnegative(),
  ])
  .transform(String);
const signal = z.enum(evictionSignals);
const amountOfSignal = z
  .string()
  .regex(/^(\d+(\.\d+)?%|(\d+\.?\d*|\.\d+)(m|k|[MGTPE]|[KMGTPE]i)?)$/, "expected a quantity such as 100Mi, or a percentage such as 10%");
const duration = z.string().refine((text) => tryDurationMs(text) !== undefined, { error: "expected a duration such as 1m30s" });
const notANetwork = "expected the name of a network of the engine, and neither host nor none";
const networkName = z.string().refine(isNetworkName, { error: notANetwork });

const policySchema = podPolicySchema(policyAnnotations).superRefine(({ annotations }, context) => {
  for (const [index, name] of (annotations?.[networkAnnotation] ?? []).entries())
    if (name !== "*" && !isNetworkName(name))
      context.addIssue({ code: "custom", path: ["annotations", networkAnnotation, index], message: notANetwork, input: name });
});

const schema: z.ZodType<DockerConfig> = z.strictObject({
  host: z
    .string()
    .regex(
      /^(unix:\/\/\/|tcp:\/\/|https?:\/\/)/,
      "expected unix:///path or tcp://host:port; ssh:// and npipe:// are engines of other machines",
    )
    .optional()
    .meta({
      env: "DOCKER_HOST",
      description: "Where the engine answers: unix:///path or tcp://host:port; default: the context's, else the first usual socket",
    }),
  context: z.string().optional().meta({ env: "DOCKER_CONTEXT", description: "A context of the docker command; default: its current one" }),
  certPath: absolutePath
    .optional()
    .meta({ env: "DOCKER_CERT_PATH", description: "Folder with ca.pem, cert.pem and key.pem, for tcp:// with TLS" }),
  tlsVerify: z
    .boolean()
    .optional()
    .meta({ env: "DOCKER_TLS_VERIFY", description: "Uses TLS for tcp://, and checks the engine's certificate" }),
  configFolder: absolutePath
    .optional()
    .meta({ env: "DOCKER_CONFIG", description: "The docker command's own settings, with its contexts; default ~/.docker" }),
  sandboxImage: z
    .string()
    .min(1)
    .default("registry.k8s.io/pause:3.10")
    .describe("Image of the container that holds a pod's network; its program is PID 1 in pods with shareProcessNamespace"),
  rootDirectory: absolutePath
    .default("/var/lib/virtual-kubelet/docker")
    .describe("Folder for volumes and other files of pods; the engine must see it under the same path. Each node needs its own"),
  network: networkName.default("bridge").describe("The engine's network that pods are connected to"),
  cni: z
    .strictObject({
      confDir: absolutePath.default("/etc/cni/net.d").describe("Folder of network configurations; the first one by name is used"),
      binDirs: z.array(absolutePath).min(1).default(["/opt/cni/bin"]).describe("Folders of the plugins' programs"),
    })
    .optional()
    .describe("Connects pods with network plugins (CNI) instead of the engine's networks; {} uses the usual folders; default: none"),
  clusterDNS: z
    .array(z.union([z.ipv4(), z.ipv6()], "expected an IP address"))
    .default([])
    .describe("Addresses of the cluster's DNS; if empty, pods use the machine's"),
  resolvConf: absolutePath.optional().describe("File with the machine's DNS configuration; default /etc/resolv.conf"),
  policy: policySchema.default({}).describe("What pods may ask of the machine; everything else is refused"),
  localPath: z
    .strictObject({
      root: absolutePath
        .optional()
        .describe("Folder of the volumes, which stay when pods are deleted; default: local-path in rootDirectory"),
      provisioner: z
        .string()
        .regex(
          /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/,
          "expected a name such as example.com/local-path",
        )
        .default("virtual-kubelet.io/local-path")
        .describe("Name of the provisioner in StorageClasses"),
    })
    .optional()
    .describe(
      "Creates volumes for claims as folders of the machine, and removes them with their claims; {} uses the defaults; default: off",
    ),
  volumeDrivers: z
    .array(z.string().min(1))
    .default([])
    .describe("Volume drivers of the engine that PersistentVolumes and StorageClasses may name, such as local; default: none"),
  cgroupsPerQOS: z.boolean().default(true).describe("Gives each pod its own cgroup, with limits for the pod as a whole"),
  cgroupParent: z
    .string()
    .regex(
      /^\/?[A-Za-z0-9_:@][A-Za-z0-9_.:@-]*(\/[A-Za-z0-9_:@][A-Za-z0-9_.:@-]*)*$/,
      "expected a path such as /vkpods, or a slice such as vkpods.slice",
    )
    .optional()
    .describe(
      "Parent of the pods' cgroups: a path, or a slice with the systemd driver; default vkpods, or without cgroupsPerQOS the engine's own",
    ),
  runtimeCgroups: absolutePath
    .optional()
    .describe("The engine's control group, whose usage is reported; default: that of the process in docker.pid beside the engine's socket"),
  systemCgroups: absolutePath
    .optional()
    .describe("Control group of the machine's other processes, such as /system.slice, whose usage is reported"),
  pidsLimit: z.int().positive().optional().describe("Maximum number of processes of a container; default: any number"),
  namePrefix: z
    .string()
    .regex(/^[a-zA-Z0-9][a-zA-Z0-9.-]*$/, "expected letters, digits, dots and dashes")
    .default("vk")
    .describe("Prefix of container names in the engine; k8s is not allowed, because other kubelets use it for their containers"),
  log: z
    .strictObject({
      maxSize: z
        .string()
        .regex(/^[1-9]\d*[kmg]$/, "expected a size such as 10m")
        .default("10m")
        .describe("Size at which a container's log is rotated"),
      maxFiles: z.int().positive().default(5).describe("Number of log files kept of a container, including the current one"),
      links: z
        .boolean()
        .optional()
        .describe(
          "Creates links to logs where log shippers look, in pods/ and containers/ of log.folder; default: if that folder can be written",
        ),
      folder: absolutePath.default("/var/log").describe("Folder in which log shippers look for pods/ and containers/"),
    })
    .prefault({})
    .describe("How much of containers' output is kept, and where it can be found"),
  runtimeClasses: z
    .record(z.string(), z.string())
    .default({})
    .describe("OCI runtimes of the engine by runtimeClassName; default: the runtime of that name"),
  devices: z
    .record(
      z.string().regex(/^[^/\s]+\/[^/\s]+$/, "expected a resource such as example.com/fuse"),
      z.strictObject({
        paths: z.array(absolutePath).min(1).describe("Devices that a container with the resource gets"),
        count: z.int().positive().optional().describe("Amount of the resource that the node offers; default 100"),
      }),
    )
    .default({})
    .describe("Devices of the machine by extended resource; all containers that request the resource share them"),
  gpus: z
    .union([z.literal("auto"), z.array(z.string().min(1))], "expected auto, or a list of GPU ids")
    .default("auto")
    .describe("Ids of the NVIDIA GPUs that pods may use, each by one container at a time; auto offers all"),
  seccompFolder: absolutePath.optional().describe("Folder of seccomp profiles for type Localhost; default: seccomp in rootDirectory"),
  pulls: z
    .strictObject({
      parallel: z.int().positive().default(5).describe("Images pulled at once"),
      progressTimeoutSeconds: z.int().positive().default(300).describe("A pull fails if it makes no progress for this long"),
    })
    .prefault({})
    .describe("How images are pulled"),
  sandboxesAtOnce: z
    .int()
    .positive()
    .default(4)
    .describe(
      "Number of pods whose networks are set up at once; the engine sets up one at a time, so higher numbers only make them wait for each other",
    ),
  registryConfig: absolutePath
    .optional()
    .describe("A Docker config.json with the node's own registry credentials, in addition to the pods' imagePullSecrets"),
  imageCollection: z
    .strictObject({
      highThresholdPercent: z.int().min(1).max(100).default(85).describe("Disk usage in percent from which images are removed"),
      lowThresholdPercent: z.int().min(0).max(99).default(80).describe("Disk usage in percent at which the removal stops"),
      minAgeSeconds: z.int().nonnegative().default(120).describe("How long an image is kept at least after it was first seen"),
    })
    .refine(({ highThresholdPercent, lowThresholdPercent }) => lowThresholdPercent < highThresholdPercent, {
      path: ["lowThresholdPercent"],
      error: "expected less than highThresholdPercent",
    })
    .optional()
    .describe(
      "Removes unused images, including those that virtual-kubelet did not pull, when the engine's disk is full; {} uses a kubelet's thresholds; default: images stay",
    ),
  kubeReserved: z
    .record(z.string(), quantity)
    .default({})
    .describe("Resources of the node that are reserved for this program and the engine, and not available to pods"),
  systemReserved: z.record(z.string(), quantity).default({}).describe("The same for everything else on the machine"),
  enforceNodeAllocatable: z
    .array(z.enum(["pods"]))
    .default(["pods"])
    .describe("Limits all pods together to capacity less the reserved amounts, if cgroupsPerQOS is on; []: no limit"),
  evictionHard: z
    .partialRecord(signal, amountOfSignal)
    .default(defaultEvictionHard)
    .describe("Pods are evicted at once when less than this is available: a quantity, or a percentage; {}: never. Default: a kubelet's"),
  evictionSoft: z
    .partialRecord(signal, amountOfSignal)
    .default({})
    .describe("Pods are evicted when less than this has been available for evictionSoftGracePeriod"),
  evictionSoftGracePeriod: z
    .partialRecord(signal, duration)
    .default({})
    .describe("For each signal of evictionSoft, how long the shortage must last, such as 1m30s"),
  evictionMinimumReclaim: z
    .partialRecord(signal, amountOfSignal)
    .default({})
    .describe("How much more than the threshold must be available before eviction ends"),
  evictionPressureTransitionPeriod: duration
    .default("5m")
    .describe("How long a condition such as MemoryPressure stays after its cause has ended"),
  evictionMaxPodGracePeriod: z
    .int()
    .nonnegative()
    .default(0)
    .describe("Maximum grace period in seconds of a pod that is evicted because of evictionSoft"),
  capacity: z.record(z.string(), quantity).default({}).describe("Capacity of the node by resource, which overrides the engine's values"),
});

/** The eviction thresholds. @throws InvalidInputError for settings that contradict each other */
export function dockerEvictionRules(config: DockerConfig): EvictionRules {
  const isAllocatableEnforced = config.cgroupsPerQOS && config.enforceNodeAllocatable.includes("pods");
  return evictionRules(config, { isAllocatableEnforced });
}

/** Pods that plugins connect have no network of the engine. */
const checkedSchema = schema.superRefine(({ cni, network, policy }, context) => {
  if (cni === undefined) return;
  const message = "expected nothing where cni is set: network plugins connect all pods; leave out one of the two";
  if (network !== "bridge") context.addIssue({ code: "custom", path: ["network"], message, input: network });
  const networks = policy.annotations?.[networkAnnotation];
  if (networks !== undefined)
    context.addIssue({ code: "custom", path: ["policy", "annotations", networkAnnotation], message, input: networks });
});

/** Schema of the provider's configuration. */
export const dockerConfigSchema: ConfigSchema<DockerConfig> = {
  safeParse: (input) => checkedSchema.safeParse(input ?? {}),
  toJSONSchema: () => z.toJSONSchema(schema, { io: "input" }),
};
