import { providerTaintKey, tryDurationMs } from "@virtual-kubelet/core";
import { knownCipherSuites } from "@virtual-kubelet/kubelet-api";
import { isLabelValue, isQualifiedName } from "@virtual-kubelet/kubernetes";
import { isIP } from "node:net";
import { z } from "zod";
import { helpOf } from "../command-line/flags.ts";
import { isDebugAddress, isHealthAddress, isNodeAddress } from "./addresses.ts";
import { defaults } from "./defaults.ts";
import { maxNodeCount, nameProblems } from "./node-names.ts";
import { labelKeyError, labelValueError, subdomain } from "./label-rules.ts";
import type { NodeSettings, Settings } from "./settings.ts";
import { unsupportedPolicySchema } from "./unsupported-schema.ts";

export const configApiVersion = "virtual-kubelet.io/v1alpha1";

export const configKind = "VirtualKubelet";

const quantity = /^(\d+\.?\d*|\.\d+)(m|k|[MGTPE]|[KMGTPE]i|[eE][+-]?\d+)?$/;
const kubeletVersion = /^v\d+\.\d+\.\d+([-+].*)?$/;
const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"] as const;

// A setting without a default has an example in its metadata, for the reference of settings and for editors: `examples`, or `example` where
// zod drops the former because the schema transforms its input.

/** A text for which `holds` is true. `expected` goes into the error and, as a keyword, into the JSON Schema. */
const checked = (expected: string, holds: (value: string) => boolean): z.ZodString =>
  z
    .string()
    .refine(holds, { error: `expected ${expected}` })
    .meta({ expected });
const text = (): z.ZodString => z.string().min(1, { error: "expected some text" });
const duration = (): z.ZodString => checked("a duration such as 500ms, 30s or 1h30m", (value) => tryDurationMs(value) !== undefined);
const positiveDuration = (): z.ZodString =>
  checked("a duration above 0, such as 500ms, 30s or 1h30m", (value) => (tryDurationMs(value) ?? 0) > 0);
const textMap = (): z.ZodRecord<z.ZodString, z.ZodString> => z.record(z.string(), z.string());
const quantities = z
  .record(
    z.string(),
    z
      .union([z.string().regex(quantity, { error: "expected a quantity such as 20, 500m or 100Gi" }), z.number().nonnegative()], {
        error: "expected a quantity such as 20, 500m or 100Gi",
      })
      .transform(String),
  )
  .meta({ expected: "quantities such as 20, 500m or 100Gi" });

const nodeSchema = z
  .strictObject({
    name: z
      .string()
      .max(253, { error: "expected at most 253 characters" })
      .regex(subdomain, { error: "expected lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit" })
      .meta({ expected: "lower-case letters, digits, '-' and '.', at most 253 characters" })
      .default(defaults.nodeName)
      .describe(helpOf("nodes[].name")),
    count: z
      .int()
      .min(1)
      .max(maxNodeCount)
      .optional()
      .meta({ examples: [1000] })
      .describe("number of nodes that this entry stands for: NAME-0, NAME-1 and so on; default: one node, NAME"),
    provider: z
      .string({ error: "expected a provider's name, such as mock" })
      .min(1, { error: "expected a provider's name, such as mock" })
      .describe(helpOf("nodes[].provider")),
    providerConfig: z
      .unknown()
      .optional()
      .meta({ examples: [{ pods: "500" }] })
      .describe("the provider's configuration itself"),
    providerConfigFile: text()
      .optional()
      .meta({ examples: ["mock.toml"] })
      .describe(`${helpOf("nodes[].providerConfigFile")}; relative to this file`),
    labels: textMap()
      .superRefine((labels, { addIssue }) => {
        for (const [key, value] of Object.entries(labels)) {
          if (!isQualifiedName(key))
            addIssue({ code: "custom", path: [key], message: `${labelKeyError}; the key is ${JSON.stringify(key)}` });
          else if (!isLabelValue(value)) addIssue({ code: "custom", path: [key], message: labelValueError });
        }
      })
      .optional()
      .meta({ examples: [{ "example.com/team": "a" }] })
      .describe("labels of the node"),
    annotations: textMap()
      .optional()
      .meta({ examples: [{ "example.com/contact": "team-a" }] })
      .describe("annotations of the node"),
    taint: z
      .strictObject({
        disable: z.boolean().default(false).describe(helpOf("nodes[].taint.disable")),
        key: text().refine(isQualifiedName, { error: labelKeyError }).default(providerTaintKey).describe(helpOf("nodes[].taint.key")),
        value: z
          .string()
          .refine(isLabelValue, { error: labelValueError })
          .optional()
          .meta({ examples: ["mock"] })
          .describe(helpOf("nodes[].taint.value")),
        effect: z.enum(effects).default(defaults.taintEffect).describe(helpOf("nodes[].taint.effect")),
      })
      .prefault({})
      .describe("taint that keeps ordinary pods away"),
    taints: z
      .array(
        z.strictObject({
          key: text().refine(isQualifiedName, { error: labelKeyError }).describe("key of the taint"),
          value: z.string().refine(isLabelValue, { error: labelValueError }).optional().describe("value of the taint; default: none"),
          effect: z.enum(effects).describe("effect of the taint"),
        }),
      )
      .optional()
      .meta({ examples: [[{ key: "example.com/gpu", value: "none", effect: "PreferNoSchedule" }]] })
      .describe("further taints"),
    address: checked("an IP address, or an IPv4 and an IPv6 address separated by a comma", isNodeAddress)
      .optional()
      .meta({ examples: ["192.0.2.10"] })
      .describe(helpOf("nodes[].address")),
    kubeletPort: z.int().min(0).max(65_535).default(defaults.kubeletPort).describe(helpOf("nodes[].kubeletPort")),
    capacity: quantities
      .optional()
      .meta({ example: { cpu: "16", memory: "64Gi", pods: "200" } })
      .describe("amounts by resource name, which override those of the provider"),
    operatingSystem: z
      .enum(["linux", "windows"])
      .optional()
      .meta({ examples: ["linux"] })
      .describe(helpOf("nodes[].operatingSystem")),
    architecture: text()
      .optional()
      .meta({ examples: ["amd64"] })
      .describe("architecture that the node reports, with Go's names"),
    kubeletVersion: z
      .string()
      .regex(kubeletVersion, { error: "expected a version such as v1.36.0" })
      .meta({ expected: "a version such as v1.36.0" })
      .optional()
      .meta({ examples: ["v1.36.0"] })
      .describe("kubelet version that the node reports; default: the API server's version with a suffix of this program"),
    leaseDuration: checked("a duration of at least 4s", (value) => (tryDurationMs(value) ?? 0) >= 4_000)
      .optional()
      .meta({ examples: ["40s"] })
      .describe("how long the lease is valid without renewal; default 40s"),
    pingInterval: positiveDuration()
      .optional()
      .meta({ examples: ["10s"] })
      .describe("interval between pings of the back end; default 10s"),
    pingTimeout: positiveDuration()
      .optional()
      .meta({ examples: ["10s"] })
      .describe("timeout of one ping; default 10s"),
    pingTolerance: duration()
      .optional()
      .meta({ examples: ["0s"] })
      .describe("how long the node stays Ready after the last successful ping of the back end; default: the provider's, else 0s"),
    statusInterval: positiveDuration()
      .optional()
      .meta({ examples: ["5m"] })
      .describe("interval between full reports without changes; default 5m"),
    onProviderDown: z.enum(["notReady", "condition"]).default(defaults.onProviderDown).describe(helpOf("nodes[].onProviderDown")),
    onShutdown: z.enum(["keep", "cordon", "drain", "delete"]).default(defaults.onShutdown).describe(helpOf("nodes[].onShutdown")),
    onUnsupported: unsupportedPolicySchema.default(defaults.onUnsupported).describe(helpOf("nodes[].onUnsupported")),
    daemonSets: z.enum(["run", "ignore", "reject"]).default(defaults.daemonSets).describe(helpOf("nodes[].daemonSets")),
    apiAccessVolume: z
      .enum(["drop", "require"])
      .default(defaults.apiAccessVolume)
      .describe("what happens to a pod's kube-api-access volume if the provider does not support it: it is omitted, or the pod waits"),
    workers: z.int().min(1).default(defaults.workers).describe(helpOf("nodes[].workers")),
    providerTimeout: positiveDuration()
      .optional()
      .meta({ examples: ["5m"] })
      .describe("timeout of one call to the provider; default 5m"),
    pollInterval: positiveDuration()
      .optional()
      .meta({ examples: ["5s"] })
      .describe("interval between inventories of a provider that does not notify; default 5s"),
    orphans: z
      .strictObject({
        enabled: z
          .boolean()
          .optional()
          .meta({ examples: [true] })
          .describe("remove orphans; without the cluster's id they are never removed; default true"),
        grace: duration()
          .optional()
          .meta({ examples: ["1m"] })
          .describe("how long a pod must have been an orphan before it is removed; default 1m"),
        interval: positiveDuration()
          .optional()
          .meta({ examples: ["5m"] })
          .describe("interval between sweeps; default 5m"),
        maxPerSweep: z
          .int()
          .min(0)
          .optional()
          .meta({ examples: [10] })
          .describe(
            "maximum number of removals in one sweep; if there are more orphans, none is removed and an event MassLossSuspected on the node says so; default 10",
          ),
      })
      .optional()
      .describe("removal of pods at the back end that the API server does not have"),
  })
  .refine(({ providerConfig, providerConfigFile }) => providerConfig === undefined || providerConfigFile === undefined, {
    path: ["providerConfigFile"],
    error: "expected either this or providerConfig, not both",
  });

const kubeletSchema = z
  .strictObject({
    address: checked("an IP address", (value) => isIP(value) !== 0)
      .default(defaults.kubeletAddress)
      .describe(helpOf("kubelet.address")),
    clientCAFile: text()
      .optional()
      .meta({ examples: ["pki/client-ca.crt"] })
      .describe(helpOf("kubelet.clientCAFile")),
    tlsCertFile: text()
      .optional()
      .meta({ examples: ["pki/kubelet.crt"] })
      .describe(helpOf("kubelet.tlsCertFile")),
    tlsPrivateKeyFile: text()
      .optional()
      .meta({ examples: ["pki/kubelet.key"] })
      .describe(helpOf("kubelet.tlsPrivateKeyFile")),
    tlsCipherSuites: z
      .union([z.string().transform((value) => value.split(",").map((name) => name.trim())), z.array(text())], {
        error: "expected names of cipher suites",
      })
      .superRefine((names, context) => {
        const unknown = names.find((name) => !knownCipherSuites.includes(name));
        if (unknown === undefined) return;
        context.addIssue({ code: "custom", message: `expected cipher suites of ${knownCipherSuites.join(", ")}`, input: unknown });
      })
      .optional()
      .meta({ example: ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"] })
      .describe(helpOf("kubelet.tlsCipherSuites")),
    tlsMinVersion: z.enum(["VersionTLS12", "VersionTLS13"]).default(defaults.tlsMinVersion).describe(helpOf("kubelet.tlsMinVersion")),
    serverTLSBootstrap: z.boolean().default(true).describe(helpOf("kubelet.serverTLSBootstrap")),
    rotateCertificates: z.boolean().default(true).describe(helpOf("kubelet.rotateCertificates")),
    certDirectory: text()
      .optional()
      .meta({ examples: ["pki"] })
      .describe(helpOf("kubelet.certDirectory")),
    anonymousAuth: z.boolean().default(false).describe(helpOf("kubelet.anonymousAuth")),
    authorizationMode: z.enum(["Webhook", "AlwaysAllow"]).default(defaults.authorizationMode).describe(helpOf("kubelet.authorizationMode")),
    authenticationTokenWebhook: z.boolean().default(true).describe(helpOf("kubelet.authenticationTokenWebhook")),
    authenticationTokenWebhookCacheTTL: duration()
      .default(defaults.tokenTtl)
      .describe(helpOf("kubelet.authenticationTokenWebhookCacheTTL")),
    authorizationWebhookCacheAuthorizedTTL: duration()
      .default(defaults.allowedTtl)
      .describe(helpOf("kubelet.authorizationWebhookCacheAuthorizedTTL")),
    authorizationWebhookCacheUnauthorizedTTL: duration()
      .default(defaults.deniedTtl)
      .describe(helpOf("kubelet.authorizationWebhookCacheUnauthorizedTTL")),
    streamingConnectionIdleTimeout: positiveDuration()
      .default(defaults.streamIdleTimeout)
      .describe(helpOf("kubelet.streamingConnectionIdleTimeout")),
    streamCreationTimeout: positiveDuration().default(defaults.streamCreationTimeout).describe(helpOf("kubelet.streamCreationTimeout")),
    maxStreams: z.int().min(16).default(defaults.maxStreams).describe(helpOf("kubelet.maxStreams")),
    auditCommands: z.enum(["program", "full"]).default(defaults.auditCommands).describe(helpOf("kubelet.auditCommands")),
    auditUserHeader: z
      .string()
      .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, { error: "expected the name of an HTTP header, such as X-Remote-User" })
      .meta({ expected: "the name of an HTTP header, such as X-Remote-User" })
      .optional()
      .meta({ examples: ["X-Remote-User"] })
      .describe(helpOf("kubelet.auditUserHeader")),
    extendWebSockets: z
      .boolean()
      .default(true)
      .describe("declare ExtendWebSocketsToKubelet, so that Kubernetes 1.36 and later connect to the node by WebSocket"),
  })
  .superRefine(({ tlsCertFile, tlsPrivateKeyFile }, context) => {
    if ((tlsCertFile === undefined) === (tlsPrivateKeyFile === undefined)) return;
    const path = [tlsCertFile === undefined ? "tlsCertFile" : "tlsPrivateKeyFile"];
    context.addIssue({
      code: "custom",
      path,
      message: "expected a file: the certificate and its key must be set together",
      input: undefined,
    });
  });

const fileSchema = z
  .strictObject({
    apiVersion: z.literal(configApiVersion).describe("version of the file's format"),
    kind: z.literal(configKind).describe("kind of the file"),
    cluster: z
      .strictObject({
        kubeconfig: text()
          .optional()
          .meta({ examples: ["kubeconfig"] })
          .describe(`${helpOf("cluster.kubeconfig")}; relative to this file`),
        context: text()
          .optional()
          .meta({ examples: ["admin"] })
          .describe(helpOf("cluster.context")),
        id: text()
          .optional()
          .meta({ examples: ["cluster-1"] })
          .describe(helpOf("cluster.id")),
        domain: z
          .string()
          .regex(subdomain, { error: "expected a DNS domain such as cluster.local" })
          .meta({ expected: "a DNS domain such as cluster.local" })
          .default(defaults.clusterDomain)
          .describe(helpOf("cluster.domain")),
        apiServerForPods: z
          .strictObject({
            host: text()
              .meta({ examples: ["api.example.com"] })
              .describe("name or address that the API server's certificate is valid for"),
            port: z
              .int()
              .min(1)
              .max(65_535)
              .optional()
              .meta({ examples: [443] })
              .describe("port of the API server for pods; default 443"),
          })
          .optional()
          .describe("address of the API server for pods outside the cluster's network; default: the service kubernetes"),
      })
      .prefault({})
      .describe("the cluster to join"),
    log: z
      .strictObject({
        level: z.enum(["debug", "info", "warn", "error"]).default(defaults.logLevel).describe(helpOf("log.level")),
        format: z.enum(["auto", "text", "json"]).default(defaults.logFormat).describe(helpOf("log.format")),
      })
      .prefault({})
      .describe("logging"),
    health: z
      .strictObject({
        address: checked("HOST:PORT, such as 127.0.0.1:10248, or off", isHealthAddress)
          .default(defaults.healthAddress)
          .describe(helpOf("health.address")),
      })
      .prefault({})
      .describe("the program's health"),
    debug: z
      .strictObject({
        address: z
          .string()
          .refine(isDebugAddress, {
            error:
              "expected a HOST:PORT on loopback, such as 127.0.0.1:10247, or off; the page has no login, so reach it with kubectl port-forward or ssh -L",
          })
          .default(defaults.debugAddress)
          .describe(helpOf("debug.address")),
      })
      .prefault({})
      .describe("page with the program's state"),
    kubelet: kubeletSchema.prefault({}).describe("the nodes' HTTPS server: logs, exec, attach, port-forward, stats"),
    instance: z
      .strictObject({
        identity: text()
          .optional()
          .meta({ examples: ["host-1"] })
          .describe(helpOf("instance.identity")),
        standby: z.boolean().default(false).describe(helpOf("instance.standby")),
        group: text()
          .refine(isLabelValue, { error: labelValueError })
          .optional()
          .meta({ examples: ["sim"] })
          .describe(helpOf("instance.group")),
      })
      .refine(({ standby, group }) => !standby || group === undefined, {
        path: ["standby"],
        error: "expected false: the instances of a group share the nodes, so none stands by; leave out this, or the group",
      })
      .prefault({})
      .describe("identity of this copy of the program among several"),
    startupTimeout: duration().default(defaults.startupTimeout).describe(helpOf("startupTimeout")),
    shutdownTimeout: duration().default(defaults.shutdownTimeout).describe(helpOf("shutdownTimeout")),
    nodes: z
      .array(nodeSchema)
      .min(1, { error: "expected at least one node" })
      .superRefine((nodes, { addIssue }) => {
        for (const { index, input, message } of nameProblems(nodes)) addIssue({ code: "custom", path: [index, "name"], message, input });
      })
      .describe("nodes that this program runs; a flag for a node applies to all of them"),
  })
  .superRefine(({ instance, nodes }, { addIssue }) => {
    if (instance.group === undefined) return;
    for (const [index, { onShutdown }] of nodes.entries()) {
      if (onShutdown === "keep") continue;
      const message = "expected keep: other instances of the group take the node over when this one stops; leave out this, or the group";
      addIssue({ code: "custom", path: ["nodes", index, "onShutdown"], message, input: onShutdown });
    }
  });

/** Whether the text is the name of a node. */
export function isNodeName(value: string): boolean {
  return nodeSchema.shape.name.safeParse(value).success;
}

/** Schema of the merged configuration. */
export const settingsSchema: z.ZodType<Settings> = fileSchema;

/** JSON Schema of the configuration file. */
export function configJsonSchema(): object {
  return { title: `${configKind} ${configApiVersion}`, ...z.toJSONSchema(fileSchema, { io: "input" }) };
}

// Fails to compile if the schema's type and the documented one differ.
type _Checked = z.output<typeof nodeSchema> extends NodeSettings ? true : never;
