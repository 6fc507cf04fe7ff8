import { z } from "zod";

/** What the virtual node says about the far cluster. */
export interface NodeConfig {
  readonly each: boolean;
  readonly capacity: "auto" | "nodes" | "quota" | Readonly<Record<string, string>>;
  readonly labels: readonly string[];
}

/** Schema of the section `node`: what the virtual node says about the far cluster. */
export const nodeSchema: z.ZodType<NodeConfig> = z.strictObject({
  each: z
    .boolean()
    .default(false)
    .describe("One virtual node for each far node that scheduling.nodeSelector selects, instead of one for all of them; default false"),
  capacity: z
    .union([z.enum(["auto", "nodes", "quota"]), z.record(z.string(), z.string())])
    .default("auto")
    .describe(
      "Source of the capacity: the sum of the selected far nodes (nodes), the resource quotas of the far namespace (quota), fixed quantities, or auto: nodes if they may be listed, otherwise quotas",
    ),
  labels: z
    .array(z.string().min(1))
    .default(["topology.kubernetes.io/*", "node.kubernetes.io/instance-type", "kubernetes.io/arch", "kubernetes.io/os"])
    .describe("Labels of the far nodes that the virtual node gets, by pattern, if all selected far nodes have the same value"),
});
