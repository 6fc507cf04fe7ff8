import type { Feature } from "./features.ts";

/** A part of a feature that a back end can lack although it has the rest. */
export type FeaturePart =
  | "attach-input"
  | "empty-lines"
  | "grace-periods"
  | "separate-errors"
  | "startup-probes"
  | "probe-commands"
  | "single-restarts";

/** The parts, with their features and descriptions. */
export const featureParts: Readonly<Record<FeaturePart, { readonly feature: Feature; readonly about: string }>> = {
  "attach-input": { feature: "attach", about: "input of attached clients reaches the container" },
  "empty-lines": { feature: "logs", about: "empty lines are in a container's log" },
  "grace-periods": { feature: "lifecycle", about: "containers have the grace period of their pod's deletion to end" },
  "separate-errors": { feature: "exec", about: "a command's errors are separate from its output" },
  "startup-probes": { feature: "probes", about: "startup probes are run" },
  "probe-commands": { feature: "probes", about: "the probes of a container run different commands" },
  "single-restarts": { feature: "probes", about: "a failed probe restarts its container alone" },
};
