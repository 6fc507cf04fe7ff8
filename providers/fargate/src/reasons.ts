import type { ReasonCatalogue } from "@virtual-kubelet/core";

/** Reasons that the provider writes and core does not. */
export const reasons: ReasonCatalogue = {
  TaskSizeRounded: {
    on: ["podEvent"],
    meaning: "Fargate has only certain sizes of tasks. The message has the size that AWS bills and the size that the containers ask for.",
    remedy: "Nothing, or requests and limits that fit a size of Fargate.",
  },
  HealthCheckAdjusted: {
    on: ["podEvent"],
    meaning: "A probe has values that ECS does not take. The nearest ones are in use.",
    remedy: "Use a periodSeconds of 5 to 300, a timeoutSeconds of 2 to 60 and a failureThreshold of 1 to 10.",
  },
  GracePeriodShortened: {
    on: ["podEvent"],
    meaning: "The pod's terminationGracePeriodSeconds is longer than Fargate's maximum of 120 s.",
    remedy: "Let the program end within 120 s.",
  },
  PullSecretsUnused: {
    on: ["podEvent"],
    meaning: "The pod has imagePullSecrets, which ECS cannot read.",
    remedy: "Put the credentials into Secrets Manager, and name the secret with the setting repositoryCredentials.",
  },
  HostnameUnused: {
    on: ["podEvent"],
    meaning: "The pod has a hostname or subdomain. ECS sets the host name of a task itself.",
    remedy: "Nothing, if the program does not depend on its host name.",
  },
  TaskStopped: {
    on: ["podEvent"],
    meaning:
      "The provider has stopped the pod's task: at its deadline, after a failed probe or init container, or when its containers had ended.",
    remedy: "The message has the reason. The output of the stopped task stays in CloudWatch Logs.",
  },
  SpotInterruption: {
    on: ["podStatus", "podEvent"],
    meaning: "AWS needed the capacity of a Spot task, and stopped it with a warning of two minutes.",
    remedy: "Use a controller that replaces the pod, or the capacity provider FARGATE.",
  },
  NodeLost: {
    on: ["podStatus"],
    meaning: "AWS retired or lost the machine of the pod's task.",
    remedy: "Nothing, if a controller replaces the pod.",
  },
  StoppedExternally: {
    on: ["podStatus"],
    meaning: "Somebody stopped the pod's task in ECS, and not this program.",
    remedy: "Delete the pod in Kubernetes instead. CloudTrail has the caller of StopTask.",
  },
  ContainerCannotRun: {
    on: ["containerTerminated", "podStatus"],
    meaning: "ECS could not start the container or its task. The message has the reason of ECS.",
    remedy: "Check the roles, subnets, secrets and file systems that the message names.",
  },
};
