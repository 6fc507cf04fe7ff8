import { join } from "node:path";
import { nodePolicies, type NodePolicy } from "./node-policies.ts";
import { specGroups, type SpecGroup } from "./spec-groups.ts";

/** Complete run of Kubernetes' tests on a node of one provider. */
export interface Trial {
  readonly provider: "docker" | "kubernetes";
  readonly groups: readonly SpecGroup[];
  readonly policies: readonly NodePolicy[];
  /** File with the results of the last complete run. */
  readonly record: string;
  /** Region of the page for these results, and the level of its headings. */
  readonly region: string;
  readonly heading: "##" | "###";
}

/** In the order of the page. */
export const trials: readonly Trial[] = [
  {
    provider: "docker",
    groups: specGroups,
    policies: nodePolicies,
    record: join(import.meta.dirname, "conformance.json"),
    region: "kubernetes-conformance",
    heading: "##",
  },
  {
    provider: "kubernetes",
    // The third group and the second policy are about the far kubelet, which the first trial examines.
    groups: specGroups.slice(0, 2),
    policies: nodePolicies.slice(0, 1),
    record: join(import.meta.dirname, "conformance-kubernetes.json"),
    region: "kubernetes-conformance-far",
    heading: "###",
  },
];

/** The trial of a provider. @throws Error if there is none */
export function trialOf(provider: string): Trial {
  const found = trials.find((trial) => trial.provider === provider);
  if (found === undefined) throw new Error(`--provider ${provider}: expected ${trials.map((trial) => trial.provider).join(" or ")}`);
  return found;
}
