import { featureNames, type Feature } from "./features.ts";

/** What every provider owes to the core, whatever its back end. */
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
 * What each provider of the catalogue must have. The suite fails where one does not. To take a feature out is to take
 * it from users: `required-features.test.ts` holds the list as well, and fails with it.
 */
export const requiredFeatures: Readonly<Record<"mock" | "template" | "docker" | "nomad" | "zun", readonly Feature[]>> = {
  docker: featureNames,
  /** Its pods are in memory, and end with it; what they do is scripted, so that there is nothing to probe. */
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
  /** Pods of several containers are capsules: those have no exec and no stats. */
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
