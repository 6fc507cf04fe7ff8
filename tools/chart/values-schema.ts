import { z } from "zod";
import { configJsonSchema } from "../../packages/cli/src/config/schema.ts";

/** A value whose fields Kubernetes checks. */
const kubernetesObject = z.record(z.string(), z.unknown());
const kubernetesList = z.array(kubernetesObject);
const textMap = z.record(z.string(), z.string());
/** Beginning, or whole, of objects' names. */
const objectName = z
  .string()
  .regex(/^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$/)
  .default("");
const namespaceName = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);

/** The user that the image names; any other number but 0 works, too. */
const userId = 65_532;

/** Values of the chart, in the order of values.yaml. Descriptions become its comments. */
const values = z.strictObject({
  nameOverride: objectName.describe("Replaces the chart's name in the names of objects."),
  fullnameOverride: objectName.describe("Replaces the whole name of the objects."),
  image: z
    .strictObject({
      repository: z.string().min(1).default("virtual-kubelet").describe("Name of the image without its tag."),
      tag: z.string().default("").describe("Tag of the image. If empty, the chart's appVersion."),
      digest: z
        .string()
        .regex(/^(sha256:[0-9a-f]{64})?$/)
        .default("")
        .describe("Digest of the image, such as sha256:…, which is used instead of the tag."),
      pullPolicy: z.enum(["Always", "IfNotPresent", "Never"]).default("IfNotPresent").describe("When the image is pulled."),
      pullSecrets: z
        .array(z.strictObject({ name: z.string().min(1) }))
        .default([])
        .describe("Secrets with credentials of the image's registry."),
    })
    .prefault({})
    .describe("Container image of the program."),
  replicas: z
    .int()
    .min(0)
    .default(1)
    .describe(
      "Copies of the program. One runs the nodes, the others stand by and take over when it is gone. " +
        "Two are enough for high availability.",
    ),
  config: z
    .record(z.string(), z.unknown())
    .default({ nodes: [{ name: "virtual-kubelet", provider: "mock" }] })
    .describe(
      "Configuration of the program: the content of its configuration file, which becomes a ConfigMap. The list nodes says which nodes it " +
        "runs, and with which provider. `virtual-kubelet config schema` and docs/guides/configuration.md describe every field. The chart " +
        "sets instance and health itself. Do not write secrets here: use providerSecret or env.",
    ),
  providerSecret: z
    .string()
    .default("")
    .describe(
      "Existing Secret with provider configurations that contain secrets. Its keys become files beside the " +
        "configuration, which a node names: providerConfigFile: KEY.",
    ),
  env: kubernetesList
    .default([])
    .describe("Environment variables of the container, such as a provider's token from a Secret (valueFrom.secretKeyRef)."),
  envFrom: kubernetesList.default([]).describe("Secrets and ConfigMaps whose keys all become environment variables."),
  volumes: kubernetesList.default([]).describe("Further volumes of the pod, such as the socket of a Docker engine."),
  volumeMounts: kubernetesList.default([]).describe("Where the container mounts these volumes."),
  hostNetwork: z
    .boolean()
    .default(false)
    .describe("Use the machine's network. The machine's own kubelet has port 10250 there, so give the nodes another kubeletPort."),
  healthPort: z.int().min(1).max(65_535).default(10_248).describe("Port of /livez and /readyz, which the probes ask."),
  serviceAccount: z
    .strictObject({
      create: z.boolean().default(true).describe("Create the service account that the program runs as."),
      name: z.string().default("").describe("Its name. If empty, the name of the other objects, or default if none is created."),
      annotations: textMap.default({}).describe("Annotations of the service account, such as a cloud's role."),
    })
    .prefault({})
    .describe("Identity of the program in the cluster."),
  rbac: z
    .strictObject({
      create: z.boolean().default(true).describe("Create roles with the rights that the configuration needs, and bind them."),
      namespaces: z
        .array(namespaceName)
        .min(1)
        .meta({ uniqueItems: true })
        .nullable()
        .default(null)
        .describe(
          "Namespaces whose Secrets the program may read, and whose pods it may change. null is all namespaces. With a list, keep pods of " +
            "other namespaces off the nodes. The namespaces must exist.",
        ),
      provisionsVolumes: z
        .boolean()
        .default(false)
        .describe(
          "Also grant the rights to create and delete PersistentVolumes, which localPath and volumeDrivers of the Docker provider, and claims " +
            "of the Kubernetes provider, need.",
        ),
      discoversNodes: z
        .boolean()
        .default(false)
        .describe(
          "Also grant the rights to create, change and delete Nodes of any name, which node.each of the Kubernetes provider needs.",
        ),
      extra: z
        .array(
          z.strictObject({
            namespace: namespaceName.optional().describe("Namespace of the rules. If absent, the whole cluster."),
            rules: kubernetesList.min(1).describe("Rules as in a Role."),
          }),
        )
        .default([])
        .describe(
          "Further rights, such as those for Services that the Kubernetes provider mirrors: virtual-kubelet manifests rbac " +
            "--run-as=service-account prints what a configuration needs.",
        ),
    })
    .prefault({})
    .describe("Rights of the program in the cluster."),
  podAnnotations: textMap.default({}).describe("Further annotations of the pods."),
  podLabels: textMap.default({}).describe("Further labels of the pods."),
  podSecurityContext: kubernetesObject
    .default({ runAsNonRoot: true, runAsUser: userId, runAsGroup: userId, fsGroup: userId, seccompProfile: { type: "RuntimeDefault" } })
    .describe("Security context of the pods. To use a Docker socket, add its group to supplementalGroups."),
  securityContext: kubernetesObject
    .default({ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } })
    .describe("Security context of the container. The program writes only to /var/lib/virtual-kubelet, which is an emptyDir."),
  resources: kubernetesObject
    .default({ requests: { cpu: "50m", memory: "128Mi" } })
    .describe("Requests and limits of the container. Memory grows with the number of pods on the nodes."),
  livenessProbe: kubernetesObject
    .default({ periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 })
    .describe("Times of the probe of /livez, which succeeds while the process answers."),
  readinessProbe: kubernetesObject
    .default({ periodSeconds: 5, timeoutSeconds: 5 })
    .describe(
      "Times of the probe of /readyz, which succeeds while every node is registered and its provider answers, or while the copy stands by.",
    ),
  terminationGracePeriodSeconds: z
    .int()
    .min(1)
    .default(60)
    .describe("Time for a graceful stop; must be longer than config.shutdownTimeout, whose default is 30s."),
  priorityClassName: z.string().default("").describe("Priority class of the pods, such as system-cluster-critical."),
  nodeSelector: textMap.default({}).describe("Labels of the machines that the pods may run on."),
  avoidVirtualNodes: z
    .boolean()
    .default(true)
    .describe(
      "Keep the pods off nodes with the label type=virtual-kubelet, even if they tolerate their taint. Added to affinity.nodeAffinity.",
    ),
  affinity: kubernetesObject.default({}).describe("Affinity of the pods. A nodeAffinity of your own replaces that of avoidVirtualNodes."),
  tolerations: kubernetesList.default([]).describe("Taints that the pods tolerate."),
  topologySpreadConstraints: kubernetesList
    .nullable()
    .default(null)
    .describe("How the copies are spread. null prefers different machines; the chart adds labelSelector where it is missing."),
  podDisruptionBudget: z
    .strictObject({
      create: z.boolean().default(true).describe("Create a budget if there are two or more replicas."),
      maxUnavailable: z
        .union([z.int().min(0), z.string().regex(/^\d+%$/)])
        .default(1)
        .describe("Copies that may be evicted at the same time."),
    })
    .prefault({})
    .describe("Keeps a drain of machines from ending all copies at once."),
  networkPolicy: z
    .strictObject({
      create: z.boolean().default(false).describe("Admit only what is listed here."),
      kubeletFrom: kubernetesList
        .default([])
        .describe("Peers that may connect to the ports of the kubelet's API: the API server and Prometheus. Empty admits everybody."),
      healthFrom: kubernetesList
        .default([])
        .describe("Peers that may ask for health; most network plugins always admit a machine's kubelet. Empty admits everybody."),
      egress: kubernetesList
        .nullable()
        .default(null)
        .describe("Rules for outgoing connections: API server, DNS and the provider's back end. null allows all."),
    })
    .prefault({})
    .describe("NetworkPolicy of the pods."),
  serviceMonitor: z
    .strictObject({
      create: z.boolean().default(false).describe("Create a headless Service and a ServiceMonitor (Prometheus operator)."),
      namespace: z.string().default("").describe("Namespace of the ServiceMonitor. If empty, that of the release."),
      labels: textMap.default({}).describe("Labels that your Prometheus selects, such as release: prometheus."),
      interval: z.string().default("30s").describe("Interval of scrapes."),
      scrapeTimeout: z.string().default("10s").describe("Time-out of a scrape."),
      authorization: kubernetesObject
        .default({})
        .describe("Credentials of the scrapes. If empty, the token of Prometheus' own service account, which needs get on nodes/metrics."),
      tlsConfig: kubernetesObject
        .default({ insecureSkipVerify: true })
        .describe("How the certificate is checked; it is self-signed until a CertificateSigningRequest is approved."),
    })
    .prefault({})
    .describe("Scrapes of the program's own metrics."),
});

/** A JSON Schema, as far as the chart's files are derived from it. */
export interface ValueSchema {
  readonly description?: string;
  readonly default?: unknown;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, ValueSchema>>;
  readonly [keyword: string]: unknown;
}

/** Sections of the configuration that the chart sets. */
const ownSections = ["apiVersion", "kind", "instance", "health"];

/** Schema of the program's configuration as the chart takes it. */
function configSchema(described: ValueSchema): ValueSchema {
  const { $schema: _, title: _title, required: _required, properties = {}, ...schema } = configJsonSchema() as ValueSchema;
  const left = Object.entries(properties).filter(([name]) => !ownSections.includes(name));
  return {
    ...schema,
    ...described,
    type: "object",
    properties: Object.fromEntries(left),
    required: ["nodes"],
    additionalProperties: false,
  };
}

/** JSON Schema of the chart's values. `config` has the schema of the program's configuration file. */
export function valuesJsonSchema(): ValueSchema {
  const schema = z.toJSONSchema(values, { io: "input" }) as ValueSchema;
  const { config, ...others } = schema.properties ?? {};
  if (config === undefined) throw new Error("the chart's values have no config");
  const { description, default: example } = config;
  const properties = Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, value]) => [
      name,
      name === "config" ? configSchema({ ...(description !== undefined && { description }), default: example }) : (others[name] ?? value),
    ]),
  );
  // Helm passes the values of a parent chart, too.
  return { ...schema, title: "Values of the chart virtual-kubelet", properties: { global: { type: "object" }, ...properties } };
}
