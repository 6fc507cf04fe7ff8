import type { CoreReason, ReasonInfo } from "@virtual-kubelet/core";

/** A reason of the events and statuses of pods that this package runs. */
export type PodRuntimeReason =
  | CoreReason
  | "Pulling"
  | "Pulled"
  | "Created"
  | "Started"
  | "Killing"
  | "BackOff"
  | "Failed"
  | "ErrImageNeverPull"
  | "InvalidImageName"
  | "ImageInspectError"
  | "InspectFailed"
  | "RunContainerError"
  | "PostStartHookError"
  | "FailedPostStartHook"
  | "FailedPreStopHook"
  | "LifecycleHTTPFallback"
  | "Unhealthy"
  | "ProbeWarning"
  | "ResizeStarted"
  | "ResizeCompleted"
  | "ResizeError"
  | "SandboxChanged"
  | "FailedCreatePodSandBox"
  | "NodePorts"
  | "Evicted"
  | "EvictionThresholdMet"
  | "TerminationByKubelet"
  | "KubeletHasInsufficientMemory"
  | "KubeletHasDiskPressure"
  | "KubeletHasInsufficientPID"
  | "DNSConfigForming"
  | "MissingClusterDNS"
  | "AlreadyMountedVolume"
  | "VolumePermissionChangeInProgress"
  | "VolumeOnDisk";

/** Every reason that this package adds to core's. Providers that use it have them in their definition. */
export const podRuntimeReasons: Readonly<Record<Exclude<PodRuntimeReason, CoreReason>, ReasonInfo>> = {
  Pulling: { on: ["podEvent"], meaning: "The image is being pulled.", remedy: "Nothing." },
  Pulled: { on: ["podEvent"], meaning: "The image has been pulled, or was there already.", remedy: "Nothing." },
  Created: { on: ["podEvent"], meaning: "The container has been created.", remedy: "Nothing." },
  Started: { on: ["podEvent"], meaning: "The container has been started.", remedy: "Nothing." },
  Killing: {
    on: ["podEvent"],
    meaning: "The container is being stopped: the pod ends, a probe failed, or its spec changed. The message says which.",
    remedy: "Nothing, unless a probe failed. Then see Unhealthy.",
  },
  BackOff: {
    on: ["podEvent"],
    meaning: "The next attempt to start the container or to pull its image waits for the back-off.",
    remedy: "See the container's waiting reason, CrashLoopBackOff or ImagePullBackOff: `kubectl describe pod NAME`.",
  },
  Failed: {
    on: ["podEvent"],
    meaning: "The image could not be pulled, the container could not be created or started, or the pod's folder could not be made.",
    remedy: "The message has the runtime's answer.",
  },
  ErrImageNeverPull: {
    on: ["containerWaiting", "podEvent"],
    meaning: "imagePullPolicy is Never, and the node does not have the image.",
    remedy: "Load the image into the container engine, or allow pulling with imagePullPolicy: IfNotPresent.",
  },
  InvalidImageName: {
    on: ["containerWaiting"],
    meaning: "The container's image is not a valid image name.",
    remedy: "Correct spec.containers[*].image, such as registry.example/team/app:1.2.",
  },
  ImageInspectError: {
    on: ["containerWaiting"],
    meaning: "The container engine could not say whether it has the image. It is tried again.",
    remedy: "Check the container engine and its log.",
  },
  InspectFailed: {
    on: ["podEvent"],
    meaning: "The image's name is invalid, or the container engine could not say whether it has the image.",
    remedy: "Read the message. See InvalidImageName and ImageInspectError.",
  },
  RunContainerError: {
    on: ["containerWaiting"],
    meaning: "The container was created but could not be started. It is tried again.",
    remedy:
      "The message has the container engine's answer: a command that does not exist, a mount that fails, or a device that is missing.",
  },
  PostStartHookError: {
    on: ["containerWaiting"],
    meaning: "The container's postStart hook failed, so that the container was stopped.",
    remedy: "Run the hook's command by hand with `kubectl exec`, or correct lifecycle.postStart.",
  },
  FailedPostStartHook: {
    on: ["podEvent"],
    meaning: "The container's postStart hook failed.",
    remedy: "The message has the hook's output. Correct lifecycle.postStart.",
  },
  FailedPreStopHook: {
    on: ["podEvent"],
    meaning: "The container's preStop hook failed. The container is stopped nevertheless.",
    remedy: "The message has the hook's output. Correct lifecycle.preStop.",
  },
  LifecycleHTTPFallback: {
    on: ["podEvent"],
    meaning: "An HTTPS hook was answered in plain HTTP and was sent again as HTTP.",
    remedy: "Set lifecycle.*.httpGet.scheme to HTTP, or serve HTTPS.",
  },
  Unhealthy: {
    on: ["podEvent"],
    meaning:
      "A probe failed. After failureThreshold failures a liveness or startup probe restarts the container, and a readiness probe makes it not ready.",
    remedy: "The message has the probe's answer. If the container only starts slowly, add a startupProbe.",
  },
  ProbeWarning: {
    on: ["podEvent"],
    meaning: "An HTTP probe was redirected to another host, which is not followed, and counts as success.",
    remedy: "Probe a path that answers without a redirect.",
  },
  ResizeStarted: { on: ["podEvent"], meaning: "The container's resources are being changed while it runs.", remedy: "Nothing." },
  ResizeCompleted: { on: ["podEvent"], meaning: "The container runs with its new resources.", remedy: "Nothing." },
  ResizeError: {
    on: ["podEvent"],
    meaning: "The new resources of a running container or pod could not be applied. It is tried again.",
    remedy: "The message has the runtime's answer, such as a memory limit below what the container uses.",
  },
  SandboxChanged: {
    on: ["podEvent"],
    meaning: "The pod's sandbox is gone or differs from the spec. The pod's containers are stopped and started in a new one.",
    remedy: "Nothing, unless it repeats. Then find out who stops the sandbox at the container engine.",
  },
  FailedCreatePodSandBox: {
    on: ["podEvent"],
    meaning: "The pod's sandbox, which holds its network, could not be created. It is tried again.",
    remedy: "The message has the runtime's answer: the sandbox image, the network, or a port that is taken.",
  },
  NodePorts: {
    on: ["podStatus", "podEvent"],
    meaning: "Another pod of the node uses a host port that the pod asks for.",
    remedy: "Use another hostPort, or end the other pod: `kubectl get pods -A --field-selector spec.nodeName=NODE -o wide`.",
  },
  Evicted: {
    on: ["podStatus", "podEvent"],
    meaning:
      "The node ran out of memory, disk space or process IDs, or the pod used more ephemeral storage than its limit. The pod was ended, or refused.",
    remedy: "Set requests and limits that fit what the pod uses. The provider's settings evictionHard and evictionSoft set the thresholds.",
  },
  EvictionThresholdMet: {
    on: ["nodeEvent"],
    meaning: "The node is short of the resource in the message. Unused images and ended containers are removed, and then pods are evicted.",
    remedy: "Free the resource on the machine, or change evictionHard and evictionSoft.",
  },
  TerminationByKubelet: {
    on: ["podCondition"],
    meaning: "On the condition DisruptionTarget: the pod was evicted because the node ran out of a resource.",
    remedy: "See Evicted.",
  },
  KubeletHasInsufficientMemory: {
    on: ["nodeCondition"],
    meaning: "On the condition MemoryPressure: less memory is available than the eviction threshold.",
    remedy: "Free memory on the machine, or lower evictionHard's memory.available.",
  },
  KubeletHasDiskPressure: {
    on: ["nodeCondition"],
    meaning: "On the condition DiskPressure: less disk space or fewer inodes are available than the eviction threshold.",
    remedy: "Free disk space on the machine, or lower evictionHard's nodefs.available and imagefs.available.",
  },
  KubeletHasInsufficientPID: {
    on: ["nodeCondition"],
    meaning: "On the condition PIDPressure: fewer process IDs are available than the eviction threshold.",
    remedy: "End processes on the machine, or raise the kernel's pid_max.",
  },
  DNSConfigForming: {
    on: ["podEvent"],
    meaning: "The pod has more name servers or search domains than a resolver supports. The rest was left out.",
    remedy: "Shorten spec.dnsConfig.",
  },
  MissingClusterDNS: {
    on: ["podEvent"],
    meaning: "The pod wants the cluster's DNS, and the provider's configuration names no DNS server. The pod has the node's.",
    remedy: "Set clusterDNS in the provider's configuration: `kubectl -n kube-system get service kube-dns` shows the address.",
  },
  AlreadyMountedVolume: {
    on: ["podEvent"],
    meaning: "The volume belongs to the group of another pod that uses it, which differs from this pod's fsGroup.",
    remedy: "Give all pods of the volume the same fsGroup.",
  },
  VolumePermissionChangeInProgress: {
    on: ["podEvent"],
    meaning: "Giving a volume's files to the pod's fsGroup takes long.",
    remedy: "Set securityContext.fsGroupChangePolicy: OnRootMismatch, so that it is done once.",
  },
  VolumeOnDisk: {
    on: ["podEvent"],
    meaning: "An emptyDir with medium Memory is on the disk, because the program cannot mount anything.",
    remedy: "Run the program as root with CAP_SYS_ADMIN if the files must stay in memory.",
  },
};
