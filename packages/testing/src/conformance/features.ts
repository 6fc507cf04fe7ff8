import type { Capabilities, Provider } from "@virtual-kubelet/core";

/** A feature of a provider. */
export type Feature =
  | "lifecycle"
  | "identity"
  | "idempotence"
  | "inventory"
  | "ownership"
  | "adoption"
  | "status"
  | "notifications"
  | "secrets"
  | "abort"
  | "node"
  | "update"
  | "networks"
  | "environment"
  | "files"
  | "init-containers"
  | "sidecar-containers"
  | "multiple-containers"
  | "restarts"
  | "probes"
  | "logs"
  | "logs-follow"
  | "logs-previous"
  | "exec"
  | "exec-exit-code"
  | "exec-input"
  | "exec-tty"
  | "attach"
  | "port-forward"
  | "stats";

/** Features that the suite tests, with their descriptions. */
export const features: Readonly<Record<Feature, string>> = {
  lifecycle: "pods run, end by themselves, and are deleted within their grace period",
  identity: "a pod is identified by its UID, not by its name",
  idempotence: "every call may be repeated, also after an unclear outcome",
  inventory: "the list of pods is complete, or reports that it is not",
  ownership: "everything that a provider creates is tagged with cluster, node and UID",
  adoption: "a restart of the program restarts no pod",
  status: "statuses have the form of a kubelet's, and never go backward",
  notifications: "changes are reported without polling, and the last report is the current state",
  secrets: "secrets of a pod appear in no log, error or status",
  abort: "every call returns when it is aborted, and leaves nothing open",
  node: "the node is described in quantities that Kubernetes accepts",
  update: "a pod continues to run when it is changed",
  networks: "a running pod has an address",
  environment: "containers get their environment variables, with references resolved",
  files: "containers get the files of config maps and secrets",
  "init-containers": "init containers run first, one after another",
  "sidecar-containers": "sidecars run as long as the pod",
  "multiple-containers": "a pod can have several containers",
  restarts: "containers are restarted according to the restart policy",
  probes: "startup, readiness and liveness probes are run",
  logs: "a container's output can be read",
  "logs-follow": "a container's output can be followed",
  "logs-previous": "the output of a container's previous run can be read",
  exec: "commands run in a container",
  "exec-exit-code": "a command's exit code is returned",
  "exec-input": "a command gets its complete input",
  "exec-tty": "a command runs on a terminal with a size",
  attach: "a client can attach to a container's streams",
  "port-forward": "TCP ports of a pod can be reached",
  stats: "the resource usage of pods is measured",
};

/** All features, in the order of the report. */
export const featureNames: readonly Feature[] = Object.keys(features) as Feature[];

type Claim = (provider: Provider, capabilities: Capabilities) => string | undefined;

const hasMethod =
  (method: keyof Provider): Claim =>
  (provider) =>
    provider[method] === undefined ? `the provider has no ${String(method)}` : undefined;
const hasCapability =
  (capability: keyof Capabilities): Claim =>
  (_provider, capabilities) =>
    capabilities[capability] ? undefined : `the capabilities do not say ${capability}`;

/** How a provider declares each optional feature. */
const claims: Readonly<Partial<Record<Feature, Claim>>> = {
  notifications: hasMethod("notifyPods"),
  node: hasMethod("configureNode"),
  environment: hasCapability("env"),
  files: (_provider, { volumes = [] }) =>
    volumes.includes("configMap") && volumes.includes("secret") ? undefined : "the capabilities do not say volumes: configMap and secret",
  "init-containers": hasCapability("initContainers"),
  "sidecar-containers": hasCapability("sidecarContainers"),
  "multiple-containers": hasCapability("multipleContainers"),
  restarts: hasCapability("restarts"),
  probes: hasCapability("probes"),
  logs: hasMethod("getContainerLogs"),
  "logs-follow": hasMethod("getContainerLogs"),
  "logs-previous": (provider, capabilities) =>
    hasMethod("getContainerLogs")(provider, capabilities) ?? hasCapability("restarts")(provider, capabilities),
  exec: hasMethod("runInContainer"),
  "exec-exit-code": hasMethod("runInContainer"),
  "exec-input": hasMethod("runInContainer"),
  "exec-tty": hasMethod("runInContainer"),
  attach: hasMethod("attachToContainer"),
  "port-forward": hasMethod("portForward"),
  stats: hasMethod("getStatsSummary"),
};

/** Reason why the provider lacks the feature, according to its methods and capabilities; `undefined` if it declares the feature. */
export function missingClaim(feature: Feature, provider: Provider, capabilities: Capabilities): string | undefined {
  return claims[feature]?.(provider, capabilities);
}
