import type { ReasonCatalogue } from "@virtual-kubelet/core";
import { farNodesReasons, type FarNodesReason } from "./node/far-nodes-reasons.ts";

/** A reason that the provider writes and core does not. */
export type KubernetesReason =
  | FarNodesReason
  | "FarCopyFailed"
  | "FarEventsForbidden"
  | "FarNodeLost"
  | "FarPodDeleted"
  | "FarUsageUnavailable"
  | "NotCarried"
  | "ServiceNotMirrored"
  | "Unschedulable";

/** Explains each {@link KubernetesReason}. */
export const reasons: ReasonCatalogue & Readonly<Record<KubernetesReason, ReasonCatalogue[string]>> = {
  ...farNodesReasons,
  FarCopyFailed: {
    on: ["podEvent"],
    meaning:
      "A config map, a secret or a token that the pod uses could not be written to the far cluster. The far pod has the previous content.",
    remedy: "Do what the message says, such as granting a right in the far cluster; the copy is tried again by itself.",
  },
  FarEventsForbidden: {
    on: ["nodeEvent"],
    meaning:
      "The far cluster does not allow to read events, so that those of far pods are not shown at their home pods. Everything else works.",
    remedy: "Grant what `virtual-kubelet manifests far` prints, or set `events: false`. It is tried again every five minutes.",
  },
  FarNodeLost: {
    on: ["podCondition"],
    meaning: "The pod is not Ready, because the far node on which it runs does not answer. Services send it nothing.",
    remedy: "`kubectl get nodes` in the far cluster. If the node stays away, the far cluster evicts the pod, which then has Failed here.",
  },
  FarPodDeleted: {
    on: ["podStatus"],
    meaning: "Somebody else than the virtual node deleted the pod in the far cluster, which gave no reason. The pod has Failed.",
    remedy: "Nothing; the pod's controller makes another. The far cluster's audit log says who deleted it.",
  },
  FarUsageUnavailable: {
    on: ["nodeEvent"],
    meaning:
      "The far cluster has no source of the pods' usage that the virtual node may read: neither its kubelets nor its metrics API. `kubectl top`, autoscalers and Prometheus get no figures of the node and its pods. Everything else works.",
    remedy:
      "Do what the message says: install metrics-server in the far cluster, or grant what `virtual-kubelet manifests far` prints. Or set `usage: none`.",
  },
  NotCarried: {
    on: ["podEvent"],
    meaning: "The pod in the far cluster lacks the fields in the message, or has them in another form.",
    remedy: "Nothing, if the pod does without. Otherwise change the setting that the message names.",
  },
  ServiceNotMirrored: {
    on: ["serviceEvent", "nodeEvent"],
    meaning:
      "The other cluster does not have the Service as the setting `services` asks for: its name belongs to another Service there, rights are missing, or the other API server refuses it. On a node: no Service is mirrored.",
    remedy: "Do what the message says; the Service is mirrored as soon as nothing stands in the way.",
  },
  Unschedulable: {
    on: ["podStatus", "podCondition"],
    meaning: "The far cluster's scheduler has found no far node for the pod. The message is the scheduler's.",
    remedy:
      "Make room in the far cluster, or change what the pod requests. `scheduling` determines which far nodes the pod may use and which taints it tolerates.",
  },
};
