import { providerTaintKey } from "@virtual-kubelet/core";
import { defaults } from "../config/defaults.ts";
import { commandNames } from "./commands.ts";
import type { CommandName, Flag, FlagType } from "./flag.ts";
import { instanceFlags } from "./instance-flags.ts";
import { joinFlags } from "./join-flags.ts";
import { kubeletFlags } from "./kubelet-flags.ts";
import { manifestFlags } from "./manifest-flags.ts";
import { serviceFlags } from "./service-flags.ts";
import { simulateFlags } from "./simulate-flags.ts";
import { statusFlags } from "./status-flags.ts";

/** Commands that read the settings of a run. They take the same flags, so a command line of `run` can be checked and prepared unchanged. */
const settings: readonly CommandName[] = ["run", "config", "manifests", "service", "doctor"];
/** Commands that read the settings of a plan. */
const planned: readonly CommandName[] = [...settings, "plan"];
/** Commands that read a setting of a run that is useful in a simulation, too. */
const simulated: readonly CommandName[] = [...settings, "simulate"];
/** Commands that look for the running program. */
const located: readonly CommandName[] = ["status"];
const noTracing = "traces go to the OpenTelemetry collector that OTEL_EXPORTER_OTLP_ENDPOINT names; the guide Monitoring says how";
const klog = "use --log-level and --log-format";

const live: readonly Flag[] = [
  { name: "config", type: "string", value: "FILE", commands: [...planned, ...located], help: "configuration file, YAML or JSON" },
  {
    name: "provider",
    type: "string",
    value: "NAME",
    commands: [...planned, "explain"],
    path: "nodes[].provider",
    help: "provider that runs the pods: a built-in one, an npm package, or the path of a module or package folder",
  },
  {
    name: "provider-config",
    type: "string",
    value: "FILE",
    commands: [...planned, "simulate"],
    path: "nodes[].providerConfigFile",
    help: "the provider's configuration file: JSON, YAML or TOML, by its suffix",
  },
  {
    name: "nodename",
    type: "string",
    value: "NAME",
    commands: [...planned, "join", ...located],
    path: "nodes[].name",
    env: ["DEFAULT_NODE_NAME"],
    default: defaults.nodeName,
    help: "name of the node",
  },
  {
    name: "kubeconfig",
    type: "string",
    value: "FILE",
    commands: settings,
    path: "cluster.kubeconfig",
    env: ["KUBECONFIG"],
    default: "the pod's service account, else ~/.kube/config",
    help: "kubeconfig of the cluster to join",
  },
  {
    name: "context",
    type: "string",
    value: "NAME",
    commands: simulated,
    path: "cluster.context",
    default: "the kubeconfig's own",
    help: "context of the kubeconfig",
  },
  {
    name: "cluster-id",
    type: "string",
    value: "ID",
    commands: planned,
    path: "cluster.id",
    default: "the UID of the namespace kube-system",
    help: "mark of this cluster on objects at the back end",
  },
  {
    name: "cluster-domain",
    type: "string",
    value: "DOMAIN",
    commands: planned,
    path: "cluster.domain",
    default: defaults.clusterDomain,
    help: "the cluster's DNS domain",
  },
  {
    name: "os",
    type: "string",
    value: "OS",
    choices: ["linux", "windows"],
    commands: settings,
    path: "nodes[].operatingSystem",
    default: "the provider's, else linux",
    help: "operating system the node reports",
  },
  {
    name: "node-ip",
    type: "string",
    value: "IP",
    commands: simulated,
    path: "nodes[].address",
    env: ["VKUBELET_POD_IP"],
    default: "the provider's, else POD_IP, else the host's first",
    help: "the node's internal address, which the API server connects to; for dual-stack nodes an IPv4 and an IPv6 address, separated by a comma",
  },
  ...kubeletFlags,
  {
    name: "label",
    type: "labels",
    value: "KEY=VALUE",
    commands: simulated,
    path: "nodes[].labels",
    help: "label of the node; may be repeated",
  },
  {
    name: "disable-taint",
    type: "boolean",
    commands: simulated,
    path: "nodes[].taint.disable",
    default: "false, or true for simulate --embedded",
    help: "do not set the taint that keeps ordinary pods away",
  },
  {
    name: "taint-key",
    type: "string",
    value: "KEY",
    commands: settings,
    path: "nodes[].taint.key",
    env: ["VK_TAINT_KEY"],
    default: providerTaintKey,
    help: "key of that taint",
  },
  {
    name: "taint-value",
    type: "string",
    value: "VALUE",
    commands: settings,
    path: "nodes[].taint.value",
    default: "the provider's name",
    help: "value of that taint",
  },
  {
    name: "taint-effect",
    type: "string",
    value: "EFFECT",
    choices: ["NoSchedule", "PreferNoSchedule", "NoExecute"],
    commands: settings,
    path: "nodes[].taint.effect",
    default: defaults.taintEffect,
    help: "effect of that taint",
  },
  {
    name: "pod-sync-workers",
    type: "integer",
    value: "N",
    commands: settings,
    path: "nodes[].workers",
    default: String(defaults.workers),
    help: "maximum number of concurrent calls to the provider",
  },
  {
    name: "on-provider-down",
    type: "string",
    value: "POLICY",
    choices: ["notReady", "condition"],
    commands: settings,
    path: "nodes[].onProviderDown",
    default: defaults.onProviderDown,
    help: "what happens to the node while the back end does not answer",
  },
  {
    name: "on-shutdown",
    type: "string",
    value: "POLICY",
    choices: ["keep", "cordon", "drain", "delete"],
    commands: settings,
    path: "nodes[].onShutdown",
    default: defaults.onShutdown,
    help: "what happens to the node at a graceful stop",
  },
  {
    name: "on-unsupported",
    type: "string",
    value: "POLICY",
    choices: ["wait", "fail"],
    commands: settings,
    path: "nodes[].onUnsupported",
    default: defaults.onUnsupported,
    help: "what happens to pods that need more than the provider supports",
  },
  {
    name: "daemon-sets",
    type: "string",
    value: "POLICY",
    choices: ["run", "ignore", "reject"],
    commands: settings,
    path: "nodes[].daemonSets",
    default: defaults.daemonSets,
    help: "what happens to pods of DaemonSets",
  },
  ...instanceFlags,
  {
    name: "startup-timeout",
    type: "string",
    value: "DURATION",
    commands: settings,
    path: "startupTimeout",
    default: `${defaults.startupTimeout}, for ever`,
    help: "timeout for all nodes to become ready, after which the program ends",
  },
  {
    name: "shutdown-timeout",
    type: "string",
    value: "DURATION",
    commands: settings,
    path: "shutdownTimeout",
    default: defaults.shutdownTimeout,
    help: "timeout of a graceful stop",
  },
  {
    name: "health-addr",
    type: "string",
    value: "HOST:PORT",
    commands: simulated,
    path: "health.address",
    default: defaults.healthAddress,
    help: "address that /healthz, /livez and /readyz are served on; off disables them",
  },
  {
    name: "debug-addr",
    type: "string",
    value: "HOST:PORT",
    commands: simulated,
    path: "debug.address",
    default: defaults.debugAddress,
    help: "loopback address of a page that shows what virtual-kubelet status shows; off disables it",
  },
  {
    name: "log-level",
    type: "string",
    value: "LEVEL",
    choices: ["debug", "info", "warn", "error"],
    commands: simulated,
    path: "log.level",
    default: `${defaults.logLevel}, or warn for simulate`,
    help: "lowest level that is logged",
  },
  {
    name: "log-format",
    type: "string",
    value: "FORMAT",
    choices: ["auto", "text", "json"],
    commands: simulated,
    path: "log.format",
    default: defaults.logFormat,
    help: "auto is text on a terminal and JSON lines elsewhere",
  },
  {
    name: "dry-run",
    type: "boolean",
    commands: settings,
    help: "show what would be written to the cluster and which problems there are, without changing anything",
  },
  ...manifestFlags,
  {
    name: "admin-kubeconfig",
    type: "string",
    value: "FILE",
    commands: ["doctor"],
    default: "none, the program's own identity asks",
    help: "kubeconfig of somebody who may use the node proxy or read logs of pods, to find out whether the API server reaches the node",
  },
  ...joinFlags,
  ...serviceFlags,

  { name: "once", type: "boolean", commands: ["demo"], help: "exit as soon as the Deployment's pods run" },
  {
    name: "kubeconfig",
    type: "string",
    value: "FILE",
    commands: ["demo"],
    default: defaults.demoKubeconfig,
    help: "file that the demo's kubeconfig is written to",
  },
  {
    name: "port",
    type: "integer",
    value: "PORT",
    commands: ["demo"],
    default: "a free one",
    help: "port of the demo's API server on 127.0.0.1",
  },

  ...simulateFlags,
  ...statusFlags,

  {
    name: "filename",
    short: "f",
    type: "string",
    value: "FILE",
    commands: ["plan"],
    help: "manifests, YAML or JSON: pods, workloads such as Deployments, and the config maps and secrets they refer to; may be repeated",
  },
  {
    name: "output",
    short: "o",
    type: "string",
    value: "FORMAT",
    choices: ["text", "json"],
    commands: ["version", "providers", "doctor", "plan", "explain", "join", "status"],
    default: "text",
    help: "output format",
  },
  {
    name: "output",
    short: "o",
    type: "string",
    value: "FORMAT",
    choices: ["yaml", "json"],
    commands: ["config", "manifests"],
    default: "yaml",
    help: "output format of the configuration or the manifests",
  },
  {
    name: "help",
    short: "h",
    type: "boolean",
    commands: commandNames,
    help: "show this help",
  },
];

/**
 * Upstream's flags that have another name here. Source: virtual-kubelet v1.13 cmd/virtual-kubelet/internal/commands/root/flag.go (7b1385b).
 */
const renamed: readonly Flag[] = [
  {
    name: "taint",
    type: "string",
    value: "KEY",
    commands: settings,
    path: "nodes[].taint.key",
    help: "key of the taint",
    insteadUse: "--taint-key",
  },
  {
    name: "client-verify-ca",
    type: "string",
    value: "FILE",
    commands: settings,
    path: "kubelet.clientCAFile",
    help: "authority of client certificates",
    insteadUse: "--client-ca-file",
  },
];

/** Upstream's flags that have no effect here. Source: as above. */
const obsolete: readonly Flag[] = [
  obsoleteFlag("namespace", "string", "a node takes all pods that are bound to it, in every namespace"),
  obsoleteFlag("enable-node-lease", "boolean", "leases are always used"),
  obsoleteFlag("full-resync-period", "string", "there is no periodic resync"),
  obsoleteFlag("metrics-addr", "string", "the metrics are on the kubelet's API, at --kubelet-port"),
  obsoleteFlag(
    "no-verify-clients",
    "boolean",
    "callers authenticate by certificate or token; --anonymous-auth and --authorization-mode=AlwaysAllow admit everybody",
  ),
  obsoleteFlag("trace-exporter", "string", noTracing),
  obsoleteFlag("trace-service-name", "string", noTracing),
  obsoleteFlag("trace-tag", "string", noTracing),
  obsoleteFlag("trace-sample-rate", "string", noTracing),
  ...["add_dir_header", "alsologtostderr", "logtostderr", "one_output", "skip_headers", "skip_log_headers"].map((name) =>
    obsoleteFlag(`klog.${name}`, "boolean", klog),
  ),
  ...["log_backtrace_at", "log_dir", "log_file", "log_file_max_size", "stderrthreshold", "v", "vmodule"].map((name) =>
    obsoleteFlag(`klog.${name}`, "string", klog),
  ),
];

export const flags: readonly Flag[] = [...live, ...renamed, ...obsolete];

/** Upstream's environment variables that have no effect here, with the reason. */
export const obsoleteEnv: Readonly<Record<string, string>> = {
  JAEGER_COLLECTOR_ENDPOINT: noTracing,
  JAEGER_AGENT_ENDPOINT: noTracing,
  OCAGENT_ENDPOINT: noTracing,
  ZPAGES_PORT: noTracing,
};

/** Flags of a command, including obsolete ones. */
export function flagsOf(command: CommandName): readonly Flag[] {
  return flags.filter(({ commands }) => commands.includes(command));
}

/**
 * Environment variables that set a flag, in descending precedence: `VKUBELET_` and its name, then those of other programs. (The prefix
 * `VIRTUAL_KUBELET_` would clash with the variables that Kubernetes sets for a service of that name.)
 */
export function envNamesOf({ name, path, env, insteadUse }: Flag): readonly string[] {
  if (insteadUse !== undefined || (path === undefined && name !== "config")) return [];
  return [...new Set([`VKUBELET_${name.toUpperCase().replaceAll("-", "_")}`, ...(env ?? [])])];
}

/** Description of a configuration path: the help text of its flag. */
export function helpOf(path: string): string {
  return flags.find((flag) => flag.path === path)?.help ?? "";
}

function obsoleteFlag(name: string, type: FlagType, why: string): Flag {
  return { name, type, commands: settings, help: "does nothing", obsolete: why, ...(type === "string" && { value: "VALUE" }) };
}
