import type { DeepReadonly, Node, NodeAddress, Taint } from "@virtual-kubelet/kube-client";
import { isIPv6 } from "node:net";
import type { NodeOptions } from "../virtual-node/options.ts";
import type { NodeDescription, NodeImage } from "../provider/node-provider.ts";

/** Health of the back end according to the pings. */
export type ProviderHealth =
  /** No ping has ended yet. */
  | { readonly kind: "unknown" }
  | { readonly kind: "up" }
  /** The last ping failed. `message` is the provider's, without secrets. */
  | { readonly kind: "down"; readonly message: string };

/** Runtime state that determines the node's conditions and taints. */
export interface NodeState {
  readonly health: ProviderHealth;
  /** Whether the provider has ever answered a ping. */
  readonly answered: boolean;
  /** Whether the provider's pods have been listed once. */
  readonly inventoryLoaded: boolean;
}

/** A condition without its times. */
export interface WantedCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** Desired fields of the node object. Fields of others stay. */
export interface WantedNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly DeepReadonly<Taint>[];
  readonly providerID: string | undefined;
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
  /** Without duplicates, grouped by type. Absent: whatever is there stays. */
  readonly addresses: readonly DeepReadonly<NodeAddress>[] | undefined;
  /** 0 if there is no server. */
  readonly kubeletPort: number;
  readonly nodeInfo: Readonly<Record<string, string>>;
  /** The largest first. Absent: whatever is there stays. */
  readonly images: readonly NodeImage[] | undefined;
  /** In order, each once. */
  readonly declaredFeatures: readonly string[];
  /** Ready is the last one. */
  readonly conditions: readonly WantedCondition[];
}

/** The taint of a node that stays Ready while its back end is away. */
export const providerUnavailableTaint: DeepReadonly<Taint> = { key: "virtual-kubelet.io/provider-unavailable", effect: "NoSchedule" };

/** Condition that shows whether the back end answers; written only with `onProviderDown: condition`. */
export const providerAvailableCondition = "ProviderAvailable";

/** Default capacity if neither options nor provider set one; the number of pods is a kubelet's default. */
export const defaultCapacity: Readonly<Record<string, string>> = { cpu: "20", memory: "100Gi", "ephemeral-storage": "100Gi", pods: "110" };

/** The Kubernetes release whose API types and kubelet behaviour these packages follow; a node's default kubelet version. */
export const kubernetesVersion = "v1.36.3";

/** Images in a node's status, and names of each. */
const maxImages = 50;
const maxNames = 5;

/** The longest value a label may have. */
const maxLabelValueLength = 63;

/**
 * Conditions of a healthy node besides Ready. Source: kubernetes v1.36.3 pkg/kubelet/nodestatus/setters.go;
 * NetworkUnavailable, which a kubelet leaves to the network plugin, keeps cloud route controllers from tainting the node.
 */
const defaultConditions: readonly WantedCondition[] = [
  { type: "MemoryPressure", status: "False", reason: "KubeletHasSufficientMemory", message: "kubelet has sufficient memory available" },
  { type: "DiskPressure", status: "False", reason: "KubeletHasNoDiskPressure", message: "kubelet has no disk pressure" },
  { type: "PIDPressure", status: "False", reason: "KubeletHasSufficientPID", message: "kubelet has sufficient PID available" },
  { type: "NetworkUnavailable", status: "False", reason: "RouteCreated", message: "the provider connects its pods" },
];

/**
 * Returns the desired node object: the options take precedence over the provider's description, which takes precedence over defaults.
 *
 * @param description - the provider's last description; empty if there is none
 */
export function wantedNode(options: NodeOptions, description: NodeDescription, state: NodeState): WantedNode {
  const capacity = { ...defaultCapacity, ...description.capacity, ...options.capacity };
  const operatingSystem = options.operatingSystem ?? description.operatingSystem ?? "linux";
  const architecture = options.architecture ?? description.architecture ?? "amd64";
  const isCut = options.onProviderDown === "condition" && state.health.kind === "down";
  return {
    name: options.name,
    labels: { ...defaultLabels(options.name, operatingSystem, architecture), ...description.labels, ...options.labels },
    annotations: { ...description.annotations, ...options.annotations },
    taints: wantedTaints([...(options.taints ?? []), ...(description.taints ?? []), ...(isCut ? [providerUnavailableTaint] : [])]),
    providerID: description.providerID,
    capacity,
    allocatable: { ...capacity, ...description.allocatable, ...options.capacity },
    addresses: wantedAddresses(options, description),
    kubeletPort: options.kubeletPort ?? 0,
    nodeInfo: { ...infoOf(description), kubeletVersion: kubeletVersionOf(options), kubeProxyVersion: "", operatingSystem, architecture },
    images: description.images && shownImages(description.images),
    declaredFeatures: [...new Set([...(options.declaredFeatures ?? []), ...(description.declaredFeatures ?? [])])].sort(),
    conditions: wantedConditions(options, description, state),
  };
}

/**
 * Host addresses for the status of pods: the first internal address, otherwise the first external one, and the
 * first of the other IP family. Source: kubernetes v1.36.3 pkg/util/node/node.go, GetNodeHostIPs.
 */
export function hostIPsOf(addresses: readonly DeepReadonly<NodeAddress>[]): readonly string[] {
  const ofType = (type: string): string[] => addresses.filter((entry) => entry.type === type).map((entry) => entry.address);
  const candidates = [...ofType("InternalIP"), ...ofType("ExternalIP")];
  const [first] = candidates;
  if (first === undefined) return [];
  const second = candidates.find((address) => isIPv6(address) !== isIPv6(first));
  return second === undefined ? [first] : [first, second];
}

/** The first of each key and effect: the API server refuses others. */
function wantedTaints(taints: readonly DeepReadonly<Taint>[]): readonly DeepReadonly<Taint>[] {
  const keyOf = ({ key, effect }: DeepReadonly<Taint>): string => `${key}:${effect}`;
  return taints.filter((taint, index) => index === taints.findIndex((other) => keyOf(other) === keyOf(taint)));
}

/** The provider's description of the machine; the API requires each field as a string. */
function infoOf(description: NodeDescription): Readonly<Record<string, string>> {
  const { machineID = "", systemUUID = "", bootID = "", kernelVersion = "", osImage = "", containerRuntimeVersion = "" } = description;
  return { machineID, systemUUID, bootID, kernelVersion, osImage, containerRuntimeVersion };
}

function kubeletVersionOf({ kubeletVersion, kubeletVersionOf: derive }: NodeOptions): string {
  return kubeletVersion ?? derive?.(kubernetesVersion) ?? kubernetesVersion;
}

/** Source: nodeStatusMaxImages and maxNamesPerImageInNodeStatus of kubernetes v1.36.3 pkg/kubelet. */
function shownImages(images: readonly NodeImage[]): readonly NodeImage[] {
  const sorted = images.toSorted((a, b) => b.sizeBytes - a.sizeBytes || (String(a.names[0]) < String(b.names[0]) ? -1 : 1));
  return sorted.slice(0, maxImages).map(({ names, sizeBytes }) => ({ names: names.slice(0, maxNames), sizeBytes }));
}

/** Whether the node's Ready condition is True. */
export function isNodeReady(node: DeepReadonly<Node> | undefined): boolean {
  return node?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

function defaultLabels(name: string, operatingSystem: string, architecture: string): Record<string, string> {
  return {
    ...(name.length <= maxLabelValueLength && { "kubernetes.io/hostname": name }),
    "kubernetes.io/os": operatingSystem,
    "kubernetes.io/arch": architecture,
    "kubernetes.io/role": "agent",
    type: "virtual-kubelet",
    "node.kubernetes.io/exclude-from-external-load-balancers": "true",
  };
}

function wantedAddresses(options: NodeOptions, description: NodeDescription): WantedNode["addresses"] {
  const { address, secondaryAddress, defaultAddress } = options;
  const described = description.addresses?.length || defaultAddress === undefined ? description.addresses : internal(defaultAddress);
  const own = [address, secondaryAddress].filter((each) => each !== undefined).flatMap(internal);
  const addresses = address === undefined ? described : own;
  // The API server refuses a duplicate address.
  const unique = addresses?.filter(
    (entry, index) => index === addresses.findIndex(({ type, address }) => type === entry.type && address === entry.address),
  );
  // The API server groups addresses by type when a patch replaces them. In any other order they would never equal the stored ones.
  return unique && [...Map.groupBy(unique, ({ type }) => type).values()].flat();
}

function internal(address: string): readonly NodeAddress[] {
  return [{ type: "InternalIP", address }];
}

function wantedConditions(options: NodeOptions, description: NodeDescription, state: NodeState): WantedCondition[] {
  const owned = new Map<string, WantedCondition>();
  for (const condition of [...defaultConditions, ...(description.conditions ?? [])]) owned.set(condition.type, condition);
  if (options.onProviderDown === "condition") owned.set(providerAvailableCondition, availableCondition(state.health));
  owned.delete("Ready");
  return [...owned.values(), readyCondition(options, state)];
}

function availableCondition(health: ProviderHealth): WantedCondition {
  const type = providerAvailableCondition;
  switch (health.kind) {
    case "unknown":
      return { type, status: "Unknown", reason: "ProviderNotPinged", message: "the provider has not answered its first ping yet" };
    case "up":
      return { type, status: "True", reason: "ProviderAnswers", message: "the provider answers" };
    case "down":
      return { type, status: "False", reason: "ProviderPingFailed", message: health.message };
  }
}

function readyCondition(options: NodeOptions, state: NodeState): WantedCondition {
  const type = "Ready";
  const staysReady = options.onProviderDown === "condition" && state.answered;
  if (state.health.kind === "down" && !staysReady) {
    return { type, status: "False", reason: "ProviderPingFailed", message: state.health.message };
  }
  if (!state.answered) {
    return { type, status: "False", reason: "ProviderNotReady", message: "the provider has not answered its first ping yet" };
  }
  if (!state.inventoryLoaded) {
    return { type, status: "False", reason: "ProviderNotReady", message: "the provider's pods have not been listed yet" };
  }
  return { type, status: "True", reason: "KubeletReady", message: "kubelet is posting ready status" };
}
