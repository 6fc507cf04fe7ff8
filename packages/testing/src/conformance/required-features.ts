import { featureNames, type Feature } from "./features.ts";

/** Features that core requires of every provider. */
export const contractFeatures: readonly Feature[] = [
  "lifecycle",
  "identity",
  "idempotence",
  "inventory",
  "ownership",
  "status",
  "secrets",
  "abort",
  "update",
];

/** Commands, as `kubectl exec` and `kubectl cp` need them. */
const commands: readonly Feature[] = ["exec", "exec-exit-code", "exec-input"];

/**
 * Required features of each provider in this repository; the suite fails without them. Removing a feature here removes it for users, so
 * `required-features.test.ts` repeats the list.
 */
export const requiredFeatures: Readonly<
  Record<"aci" | "mock" | "template" | "docker" | "fargate" | "kubernetes" | "nomad" | "zun", readonly Feature[]>
> = {
  /** Azure has no sidecars, keeps no output of earlier runs, and forwards no ports; its attach has no input. */
  aci: featureNames.filter((feature) => !["sidecar-containers", "logs-previous", "attach", "port-forward"].includes(feature)),
  docker: featureNames,
  fargate: [
    ...contractFeatures,
    ...commands,
    "adoption",
    "notifications",
    "node",
    "networks",
    "environment",
    "files",
    "init-containers",
    "sidecar-containers",
    "multiple-containers",
    "restarts",
    "probes",
    "logs",
    "logs-follow",
    "logs-previous",
    "exec-tty",
  ],
  kubernetes: featureNames,
  /** Its pods are in memory and end with the program; their behavior is scripted, so there is nothing to probe. */
  mock: featureNames.filter((feature) => feature !== "adoption" && feature !== "probes"),
  template: [...contractFeatures, ...commands, "environment", "logs", "logs-follow", "stats"],
  nomad: [
    ...contractFeatures,
    ...commands,
    "adoption",
    "node",
    "environment",
    "files",
    "init-containers",
    "multiple-containers",
    "probes",
    "logs",
    "logs-follow",
    "stats",
  ],
  /** Pods with several containers are capsules, which have no exec and no stats. */
  zun: [
    ...contractFeatures,
    ...commands,
    "adoption",
    "node",
    "networks",
    "environment",
    "files",
    "multiple-containers",
    "probes",
    "logs",
    "stats",
  ],
};
