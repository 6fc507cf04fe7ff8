import type { Feature } from "./features.ts";

/** A part of a feature that a back end can lack although it has the rest. */
export type FeaturePart = "empty-lines" | "separate-errors" | "probe-commands" | "single-restarts";

/** The parts, with their features and descriptions. */
export const featureParts: Readonly<Record<FeaturePart, { readonly feature: Feature; readonly about: string }>> = {
  "empty-lines": { feature: "logs", about: "empty lines are in a container's log" },
  "separate-errors": { feature: "exec", about: "a command's errors are separate from its output" },
  "probe-commands": { feature: "probes", about: "the probes of a container run different commands" },
  "single-restarts": { feature: "probes", about: "a failed probe restarts its container alone" },
};
