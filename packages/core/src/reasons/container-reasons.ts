import type { ReasonInfo } from "./reason-info.ts";

/** Reasons of containers, as a kubelet has them. */
export type ContainerReason =
  | "ContainerCreating"
  | "PodInitializing"
  | "CrashLoopBackOff"
  | "ErrImagePull"
  | "ImagePullBackOff"
  | "CreateContainerConfigError"
  | "CreateContainerError"
  | "Completed"
  | "Error"
  | "OOMKilled"
  | "StartError"
  | "ContainerStatusUnknown"
  | "DeadlineExceeded";

/** A kubelet's reasons of containers, which every provider may report. */
export const containerReasons: Readonly<Record<ContainerReason, ReasonInfo>> = {
  ContainerCreating: {
    on: ["containerWaiting"],
    meaning:
      "The container is being created. A pod whose volumes are not ready, or whose place at the provider is not free yet, also shows this.",
    remedy: "Nothing, unless it lasts. Then look at the pod's events: `kubectl describe pod NAME`.",
  },
  PodInitializing: {
    on: ["containerWaiting"],
    meaning: "The container waits until the pod's init containers have ended.",
    remedy: "Nothing, unless it lasts. Then read the log of the init container that runs: `kubectl logs NAME -c INIT_CONTAINER`.",
  },
  CrashLoopBackOff: {
    on: ["containerWaiting"],
    meaning: "The container has ended again and again. It is started again after a delay that doubles up to five minutes.",
    remedy:
      "Find out why it ends: `kubectl logs NAME --previous` shows the log of its last run, `kubectl describe pod NAME` its exit code.",
  },
  ErrImagePull: {
    on: ["containerWaiting", "containerTerminated"],
    meaning: "The image could not be pulled. It is tried again.",
    remedy:
      "The message has the registry's answer. Check the image's name and tag, the imagePullSecrets, and whether the back end reaches the registry.",
  },
  ImagePullBackOff: {
    on: ["containerWaiting"],
    meaning: "Pulling the image has failed, and the next attempt waits for the back-off.",
    remedy: "As for ErrImagePull: `kubectl describe pod NAME` shows the registry's answer.",
  },
  CreateContainerConfigError: {
    on: ["containerWaiting"],
    meaning: "Something that the container's environment or volumes need cannot be read, such as a Secret or a key of a ConfigMap.",
    remedy: "Create what the message names. The pod continues by itself.",
  },
  CreateContainerError: {
    on: ["containerWaiting"],
    meaning: "The back end refused to create the container.",
    remedy: "The message has the back end's answer. Correct the pod's spec, or the back end.",
  },
  Completed: {
    on: ["containerTerminated"],
    meaning: "The container has ended with exit code 0.",
    remedy: "Nothing.",
  },
  Error: {
    on: ["containerTerminated", "podCondition"],
    meaning:
      "The container has ended with an exit code other than 0. On the condition PodResizeInProgress: the last attempt at the resize failed.",
    remedy:
      "`kubectl logs NAME -c CONTAINER`, with `--previous` if the container has been started again. For a resize, read the condition's message.",
  },
  OOMKilled: {
    on: ["containerTerminated"],
    meaning: "The container used more memory than its limit and was killed.",
    remedy: "Raise resources.limits.memory, or let the program use less: `kubectl top pod NAME --containers`.",
  },
  StartError: {
    on: ["containerTerminated"],
    meaning: "The container could not be started, for example because its command does not exist in the image.",
    remedy: "Read the message: `kubectl describe pod NAME`. Correct command, args, workingDir or the image.",
  },
  ContainerStatusUnknown: {
    on: ["containerTerminated"],
    meaning: "The container is gone and nobody saw how it ended. Its exit code is set to 137.",
    remedy: "Look into the back end for the reason: a removal by hand, a lost machine, or a restart while the program did not run.",
  },
  DeadlineExceeded: {
    on: ["podStatus", "podEvent"],
    meaning: "The pod ran longer than spec.activeDeadlineSeconds and was ended.",
    remedy: "Raise activeDeadlineSeconds if the work needs longer. A Job makes a new pod by its own rules.",
  },
};
