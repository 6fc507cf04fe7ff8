import type { ReasonInfo } from "./reason-info.ts";

/** Reasons by which a pod is refused, waits, or is lost, and those of its conditions and events. */
export type PodReason =
  | "ProviderCreateSuccess"
  | "ProviderCreateFailed"
  | "ProviderUpdateSuccess"
  | "ProviderUpdateFailed"
  | "ProviderDeleteSuccess"
  | "ProviderDeleteFailed"
  | "ProviderFailed"
  | "ProviderTimeout"
  | "ProviderLost"
  | "ProviderUnsupported"
  | "UnsupportedIgnored"
  | "ProviderBusy"
  | "ProviderNotResponding"
  | "DaemonSetRejected"
  | "OutOf*"
  | "UnexpectedAdmissionError"
  | "NodeAffinity"
  | "NodeName"
  | "TaintToleration"
  | "PodOSNotSupported"
  | "PodOSSelectorNodeLabelDoesNotMatch"
  | "SysctlForbidden"
  | "ResizeDeferred"
  | "ResizeInfeasible"
  | "Deferred"
  | "Infeasible"
  | "PodCompleted"
  | "PodFailed"
  | "ContainersNotInitialized"
  | "ContainersNotReady"
  | "ReadinessGatesNotReady";

/** Reasons by which a pod is refused, waits, or is lost, and those of its conditions and events. */
export const podReasons: Readonly<Record<PodReason, ReasonInfo>> = {
  ProviderCreateSuccess: {
    on: ["podEvent"],
    meaning: "The provider has accepted the pod.",
    remedy: "Nothing.",
  },
  ProviderCreateFailed: {
    on: ["podEvent"],
    meaning: "The provider could not start the pod. It is tried again, with a growing delay, until the pod is deleted.",
    remedy: "The message has the back end's answer. `virtual-kubelet plan -f POD.yaml` shows the requests that the provider sends.",
  },
  ProviderUpdateSuccess: {
    on: ["podEvent"],
    meaning: "The provider has accepted a change of the pod.",
    remedy: "Nothing.",
  },
  ProviderUpdateFailed: {
    on: ["podEvent"],
    meaning: "The provider could not apply a change of the pod. The pod runs as before.",
    remedy: "Read the message. If the provider cannot make such a change, delete the pod so that it is created anew.",
  },
  ProviderDeleteSuccess: {
    on: ["podEvent"],
    meaning: "The provider has removed the pod.",
    remedy: "Nothing.",
  },
  ProviderDeleteFailed: {
    on: ["podEvent"],
    meaning:
      "The provider could not remove the pod, or the pod still runs after its grace period. It is tried again until the pod is gone.",
    remedy:
      "The message has the back end's answer. Do not remove the pod by force before the back end has ended it: `kubectl delete --force` leaves its containers to the sweep of orphans.",
  },
  ProviderFailed: {
    on: ["podStatus", "podEvent", "containerWaiting"],
    meaning:
      "The provider could not start the pod. A Pending pod is tried again; a Failed one is not, because the provider said that it cannot help.",
    remedy:
      "Read the pod's message and events: `kubectl describe pod NAME`. A Failed pod is replaced by its controller, or has to be created again.",
  },
  ProviderTimeout: {
    on: ["containerWaiting", "podStatus"],
    meaning: "The provider did not answer in time, so that nobody knows whether the pod was created. It is looked for, and tried again.",
    remedy: "Check whether the back end answers. The metric vk_provider_call_duration_seconds shows how long it takes.",
  },
  ProviderLost: {
    on: ["podStatus", "podEvent", "containerTerminated", "containerWaiting"],
    meaning:
      "The back end no longer has the pod, although nobody deleted it in Kubernetes. A pod that may run again is created again; any other has Failed.",
    remedy:
      "Find out at the back end who removed it. A controller replaces a Failed pod; one without a controller has to be created again.",
  },
  ProviderUnsupported: {
    on: ["podStatus", "podEvent", "containerWaiting"],
    meaning:
      "The pod has a field that the provider does not support, or that its policy does not allow. By default the pod waits; with onUnsupported: fail it has Failed.",
    remedy:
      "`virtual-kubelet explain FIELD` with the field of the message says which providers support it. Remove the field, allow it in the provider's policy, or leave it out with the setting onUnsupported.ignore.",
  },
  UnsupportedIgnored: {
    on: ["podEvent"],
    meaning: "The pod has fields that the provider does not support, and the setting onUnsupported.ignore leaves them out.",
    remedy: "Nothing, if the pod works without them. Otherwise take them out of onUnsupported.ignore, so that such pods wait.",
  },
  ProviderBusy: {
    on: ["podEvent"],
    meaning: "The pod waits for its turn, because other calls of the provider take long.",
    remedy: "See vk_provider_calls_waiting and vk_provider_call_duration_seconds, and find out why the back end is slow.",
  },
  ProviderNotResponding: {
    on: ["podEvent"],
    meaning: "The provider has not answered a call about the pod for 30 seconds.",
    remedy: "Check whether the back end answers. The call is aborted at its time-out, and tried again.",
  },
  DaemonSetRejected: {
    on: ["podStatus", "podEvent"],
    meaning: "The pod belongs to a DaemonSet, and the setting daemonSets is reject.",
    remedy: "Keep the DaemonSet off the node by a nodeSelector or by removing its toleration, or set daemonSets to ignore or run.",
  },
  "OutOf*": {
    on: ["podStatus", "podEvent"],
    meaning:
      "The node has less left of a resource than the pod requests: OutOfcpu, OutOfmemory, OutOfephemeral-storage, OutOfpods, or OutOf with the name of another resource. The scheduler did not know yet, or the pod names the node itself.",
    remedy:
      "A controller makes a new pod, which the scheduler places anew. `kubectl describe node NODE` shows what is allocated; the provider's configuration sets the node's capacity.",
  },
  UnexpectedAdmissionError: {
    on: ["podStatus", "podEvent"],
    meaning: "The pod's requests could not be compared with the node's resources, for example because a quantity is malformed.",
    remedy: "Correct the quantity that the message names.",
  },
  NodeAffinity: {
    on: ["podStatus", "podEvent"],
    meaning: "The node's labels do not match the pod's nodeSelector or node affinity.",
    remedy: "Change the selector, or the node's labels: `kubectl get node NODE --show-labels`.",
  },
  NodeName: {
    on: ["podStatus", "podEvent"],
    meaning: "The pod's spec.nodeName is the name of another node.",
    remedy: "Correct spec.nodeName, or leave the choice to the scheduler.",
  },
  TaintToleration: {
    on: ["podStatus", "podEvent"],
    meaning: "The node has a taint with the effect NoExecute that the pod does not tolerate.",
    remedy: "Add a toleration to the pod, or remove the taint: `kubectl describe node NODE` lists the taints.",
  },
  PodOSNotSupported: {
    on: ["podStatus", "podEvent"],
    meaning: "The pod's spec.os.name differs from the node's operating system.",
    remedy: "Correct spec.os.name, or use a node of that operating system.",
  },
  PodOSSelectorNodeLabelDoesNotMatch: {
    on: ["podStatus", "podEvent"],
    meaning: "The pod's label kubernetes.io/os differs from the node's.",
    remedy: "Correct the label, or use a node of that operating system.",
  },
  SysctlForbidden: {
    on: ["podStatus", "podEvent"],
    meaning: "The pod sets a sysctl that is not safe for other pods, and the provider's policy does not allow it.",
    remedy: "Remove it from spec.securityContext.sysctls, or allow it with policy.sysctls in the provider's configuration.",
  },
  ResizeDeferred: {
    on: ["podEvent"],
    meaning:
      "The pod's new resources do not fit now, but would if other pods used less. The pod runs with its old ones until there is room.",
    remedy: "Wait, or end other pods of the node.",
  },
  ResizeInfeasible: {
    on: ["podEvent"],
    meaning: "The pod's new resources never fit the node, or the provider cannot change resources of a running pod.",
    remedy: "Take the change back, or delete the pod so that it is created anew with the new resources.",
  },
  Deferred: {
    on: ["podCondition"],
    meaning: "On the condition PodResizePending: the new resources do not fit now. The resize is tried again when there is room.",
    remedy: "Wait, or end other pods of the node.",
  },
  Infeasible: {
    on: ["podCondition"],
    meaning: "On the condition PodResizePending: the new resources can never be applied on this node.",
    remedy: "Take the change back, or delete the pod so that it is created anew with the new resources.",
  },
  PodCompleted: {
    on: ["podCondition"],
    meaning: "On the conditions Initialized, Ready and ContainersReady: all containers have ended with success.",
    remedy: "Nothing.",
  },
  PodFailed: {
    on: ["podCondition"],
    meaning: "On the conditions Ready and ContainersReady: the pod has failed.",
    remedy: "`kubectl describe pod NAME` shows which container failed, and why.",
  },
  ContainersNotInitialized: {
    on: ["podCondition"],
    meaning: "On the condition Initialized: the init containers that the message names have not ended.",
    remedy: "Nothing, unless it lasts. Then read their logs: `kubectl logs NAME -c INIT_CONTAINER`.",
  },
  ContainersNotReady: {
    on: ["podCondition"],
    meaning:
      "On the conditions Ready and ContainersReady: the containers that the message names do not run, or fail their readiness probe.",
    remedy: "`kubectl describe pod NAME` shows their states and failed probes.",
  },
  ReadinessGatesNotReady: {
    on: ["podCondition"],
    meaning:
      "On the condition Ready: a condition of spec.readinessGates is not True. Another program, such as a load balancer's controller, sets it.",
    remedy: "Look at the program that sets the condition that the message names.",
  },
};
