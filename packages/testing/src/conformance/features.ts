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
  lifecycle: "pods run, end by themselves, and are deleted within their grace",
  identity: "the UID is the identity, the name is not",
  idempotence: "every call may come twice, or after an unclear outcome",
  inventory: "the list of pods is whole, or says that it is not",
  ownership: "what a provider makes is tagged with cluster, node and UID",
  adoption: "a restart of the program restarts no pod",
  status: "statuses have the shape of a kubelet's, and go one way",
  notifications: "changes are told without being asked for, and the last report is what is so",
  secrets: "what a pod is given in confidence shows nowhere",
  abort: "every call comes back when it is aborted, and leaves nothing open",
  node: "the node is described in quantities that Kubernetes takes",
  update: "a changed pod goes on",
  networks: "a running pod has an address",
  environment: "containers have their environment, references resolved",
  files: "containers have the files of config maps and secrets",
  "init-containers": "init containers run first, one after another",
  "sidecar-containers": "sidecars run as long as the pod",
  "multiple-containers": "a pod has several containers",
  restarts: "containers are started again as the restart policy says",
  probes: "startup, readiness and liveness probes are made",
  logs: "a container's output can be read",
  "logs-follow": "a container's output can be followed",
  "logs-previous": "the output of a container's instance before can be read",
  exec: "commands run in a container",
  "exec-exit-code": "a command's exit code is told",
  "exec-input": "a command gets its input, to the end",
  "exec-tty": "a command runs on a terminal with a size",
  attach: "the streams of a container can be joined",
  "port-forward": "TCP ports of a pod can be reached",
  stats: "pods are measured",
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
