import type { ReasonCatalogue } from "@virtual-kubelet/core";

/** Reasons that the provider writes and core does not. */
export const reasons: ReasonCatalogue = {
  NomadUnplaced: {
    on: ["podEvent"],
    meaning: "Nomad has no client with room for the pod. It places the pod as soon as there is one.",
    remedy: "The message has Nomad's words. `nomad job status` and `nomad node status` show what is missing.",
  },
  SecretsInJob: {
    on: ["podEvent"],
    meaning:
      "The contents of Secrets and ConfigMaps stand in the pod's Nomad job, because the setting secrets is inline. Whoever may read the job can read them.",
    remedy: "Set secrets to variables, so that they become Nomad variables, or restrict who may read jobs.",
  },
  BackOff: {
    on: ["podEvent"],
    meaning: "The pod could not be started, or a probe of a container failed again after a restart. The next start waits for the back-off.",
    remedy:
      "After a failed start the message has Nomad's words, and `nomad alloc status` shows the task's events. After a failed probe see Unhealthy.",
  },
  NodeLost: {
    on: ["podStatus"],
    meaning: "Nomad lost the client that ran the pod.",
    remedy: "A controller replaces the pod. Look at the client: `nomad node status`.",
  },
  NodeDrained: {
    on: ["podStatus"],
    meaning: "The Nomad client that ran the pod was drained.",
    remedy: "Nothing. A controller replaces the pod.",
  },
  Preempted: {
    on: ["podStatus"],
    meaning: "Nomad gave the pod's place to a job of higher priority.",
    remedy: "A controller replaces the pod. Raise the pod's priority, or add clients.",
  },
  StoppedByNomad: {
    on: ["podStatus"],
    meaning: "The pod's job or allocation was stopped in Nomad, by a person or another program.",
    remedy: "Delete pods in Kubernetes, not in Nomad. A controller replaces the pod.",
  },
  ContainerNotStarted: {
    on: ["containerTerminated"],
    meaning: "The pod ended before the container started.",
    remedy: "See the pod's reason, and the containers that did start.",
  },
};
