import type { Feature } from "./features.ts";

/** What every provider owes to the core, whatever its back end. */
const contract: readonly Feature[] = [
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
  mock: [
    ...contract,
    ...commands,
    "node",
    "notifications",
    "networks",
    "environment",
    "files",
    "init-containers",
    "sidecar-containers",
    "multiple-containers",
    "restarts",
    "logs",
    "logs-follow",
    "logs-previous",
    "exec-tty",
    "attach",
    "port-forward",
    "stats",
  ],
  template: [...contract, ...commands, "environment", "logs", "logs-follow", "stats"],
  docker: [
    ...contract,
    ...commands,
    "adoption",
    "node",
    "notifications",
    "networks",
    "environment",
    "files",
    "init-containers",
    "sidecar-containers",
    "multiple-containers",
    "restarts",
    "logs",
    "logs-follow",
    "logs-previous",
    "exec-tty",
    "attach",
    "port-forward",
    "stats",
  ],
  nomad: [
    ...contract,
    "adoption",
    "node",
    "environment",
    "files",
    "init-containers",
    "multiple-containers",
    "logs",
    "logs-follow",
    ...commands,
    "stats",
  ],
  /** Pods of several containers are capsules: those have no exec and no stats. */
  zun: [...contract, "adoption", "node", "networks", "environment", "files", "multiple-containers", "logs", ...commands, "stats"],
};
