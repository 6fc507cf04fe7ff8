import type { ReasonInfo } from "./reason-info.ts";

/** Reasons of the node's events and conditions. */
export type NodeReason =
  | "NodeReady"
  | "NodeNotReady"
  | "KubeletReady"
  | "ProviderAnswers"
  | "ProviderNotPinged"
  | "ProviderNotReady"
  | "ProviderPingFailed"
  | "ProviderRecovered"
  | "NodeReregistered"
  | "Rebooted"
  | "MassLossSuspected"
  | "KubeletHasSufficientMemory"
  | "KubeletHasNoDiskPressure"
  | "KubeletHasSufficientPID"
  | "NodeHasSufficientMemory"
  | "NodeHasNoDiskPressure"
  | "NodeHasSufficientPID"
  | "NodeHasInsufficientMemory"
  | "NodeHasDiskPressure"
  | "NodeHasInsufficientPID"
  | "RouteCreated";

/** Reasons of the node's events and conditions. */
export const nodeReasons: Readonly<Record<NodeReason, ReasonInfo>> = {
  NodeReady: {
    on: ["nodeEvent"],
    meaning: "The node has become Ready: the provider answers, and its pods are listed.",
    remedy: "Nothing.",
  },
  NodeNotReady: {
    on: ["nodeEvent"],
    meaning: "The node is no longer Ready. After five minutes, by default, its pods are evicted.",
    remedy: "`kubectl describe node NODE` shows the reason on the condition Ready.",
  },
  KubeletReady: {
    on: ["nodeCondition"],
    meaning: "On the condition Ready: the provider answers, and its pods are listed.",
    remedy: "Nothing.",
  },
  ProviderAnswers: {
    on: ["nodeCondition"],
    meaning: "On the condition ProviderAvailable: the provider's back end answers.",
    remedy: "Nothing.",
  },
  ProviderNotPinged: {
    on: ["nodeCondition"],
    meaning: "On the condition ProviderAvailable: the provider's back end has not answered the first ping yet.",
    remedy: "Nothing, unless it lasts. Then check whether the back end can be reached from where the program runs.",
  },
  ProviderNotReady: {
    on: ["nodeCondition"],
    meaning: "On the condition Ready: the back end has not answered the first ping, or its pods are not listed yet.",
    remedy: "Nothing, unless it lasts. Then read the program's log: it names the call that does not succeed.",
  },
  ProviderPingFailed: {
    on: ["nodeCondition", "nodeEvent"],
    meaning: "The provider's back end does not answer. The setting onProviderDown decides whether the node becomes NotReady or is tainted.",
    remedy:
      "The message has the back end's answer. Check its address, credentials and network; the pods are left as they are until it answers.",
  },
  ProviderRecovered: {
    on: ["nodeEvent"],
    meaning: "The provider's back end answers again.",
    remedy: "Nothing.",
  },
  NodeReregistered: {
    on: ["nodeEvent"],
    meaning: "Somebody deleted the Node object, and the program created it again.",
    remedy: "To remove a node, stop the program first. The guide Operations says how.",
  },
  Rebooted: {
    on: ["nodeEvent"],
    meaning: "The machine of the back end has another boot ID than before.",
    remedy: "Nothing. Containers that may run again are started again.",
  },
  MassLossSuspected: {
    on: ["nodeEvent"],
    meaning:
      "More pods than orphans.maxPerSweep seem to be gone at once, at the back end or in the API server. No pod is ended, because an empty list is more likely a mistake of who answered.",
    remedy:
      "If the pods are really gone, raise the setting orphans.maxPerSweep to the number in the message. Otherwise repair the side whose list is empty.",
  },
  KubeletHasSufficientMemory: fine("MemoryPressure", "memory"),
  KubeletHasNoDiskPressure: fine("DiskPressure", "disk space"),
  KubeletHasSufficientPID: fine("PIDPressure", "process IDs"),
  NodeHasSufficientMemory: eased("memory"),
  NodeHasNoDiskPressure: eased("disk space"),
  NodeHasSufficientPID: eased("process IDs"),
  NodeHasInsufficientMemory: pressed("memory"),
  NodeHasDiskPressure: pressed("disk space"),
  NodeHasInsufficientPID: pressed("process IDs"),
  RouteCreated: {
    on: ["nodeCondition"],
    meaning: "On the condition NetworkUnavailable: the provider connects its pods.",
    remedy: "Nothing.",
  },
};

function fine(condition: string, resource: string): ReasonInfo {
  return { on: ["nodeCondition"], meaning: `On the condition ${condition}: the node has enough ${resource}.`, remedy: "Nothing." };
}

function eased(resource: string): ReasonInfo {
  return { on: ["nodeEvent"], meaning: `The node has enough ${resource}, or has enough again.`, remedy: "Nothing." };
}

function pressed(resource: string): ReasonInfo {
  return {
    on: ["nodeEvent"],
    meaning: `The node is short of ${resource}. It accepts no pods that would make it worse, and may evict pods.`,
    remedy: `\`kubectl describe node NODE\` shows the condition. Free ${resource} on the machine, or move pods to other nodes.`,
  };
}
