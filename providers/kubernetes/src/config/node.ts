import { ownValue, tryParseQuantity } from "@virtual-kubelet/kubernetes";
import { z } from "zod";
import type { NamespacesConfig } from "./namespaces.ts";
import type { SchedulingConfig } from "./scheduling.ts";

const quantity = z
  .string()
  .refine((text) => (tryParseQuantity(text)?.nano ?? -1n) >= 0n, "expected a quantity of zero or more, such as 64, 256Gi or 500m");

/** What the virtual node says about the far cluster. */
export interface NodeConfig {
  readonly each: boolean;
  readonly capacity: "auto" | "nodes" | "quota" | Readonly<Record<string, string>>;
  readonly others: "auto" | "subtract" | "ignore";
  readonly labels: readonly string[];
}

/** Schema of the section `node`: what the virtual node says about the far cluster. */
export const nodeSchema: z.ZodType<NodeConfig> = z.strictObject({
  each: z
    .boolean()
    .default(false)
    .describe("One virtual node for each far node that scheduling.nodeSelector selects, instead of one for all of them; default false"),
  capacity: z
    .union([z.enum(["auto", "nodes", "quota"]), z.record(z.string(), quantity)])
    .default("auto")
    .describe(
      'Source of the capacity: the sum of the selected far nodes (nodes), the resource quotas of the far namespace (quota), or auto: nodes if they may be listed, otherwise quotas. Quantities such as {cpu: "64", memory: 256Gi, pods: "500"} take precedence over what auto finds',
    ),
  others: z
    .enum(["auto", "subtract", "ignore"])
    .default("auto")
    .describe(
      "What pods of others request on the selected far nodes: it is subtracted from the node's allocatable (subtract), not looked at (ignore), or auto: subtracted if the rights allow to list the pods of all far namespaces",
    ),
  labels: z
    .array(z.string().min(1))
    .default(["topology.kubernetes.io/*", "node.kubernetes.io/instance-type", "kubernetes.io/arch", "kubernetes.io/os"])
    .describe("Labels of the far nodes that the virtual node gets, by pattern, if all selected far nodes have the same value"),
});

/** Checks the section together with those that it depends on. */
export function checkNode(
  config: { readonly node: NodeConfig; readonly namespaces: NamespacesConfig; readonly scheduling: SchedulingConfig },
  context: z.RefinementCtx,
): void {
  const { node, namespaces, scheduling } = config;
  const refuse = (path: readonly string[], message: string): void => context.addIssue({ code: "custom", path: [...path], message });
  if (node.capacity === "quota" && namespaces.mode !== "one")
    refuse(["node", "capacity"], `quota needs the single far namespace of namespaces.mode one, but the mode is ${namespaces.mode}`);
  if (node.capacity === "quota" && node.each)
    refuse(["node", "capacity"], "quota is for all far nodes together: with node.each expected auto, nodes or quantities");
  if (node.others === "subtract" && !readsFarNodes(config))
    refuse(["node", "others"], "expected auto or ignore, because node.capacity does not come from far nodes; or set it to auto or nodes");
  if (node.each && scheduling.farNode !== undefined)
    refuse(["scheduling", "farNode"], "node.each sets it for each virtual node; to select far nodes use scheduling.nodeSelector");
}

/** Resources without which no pod can be scheduled. */
export const neededResources: readonly string[] = ["cpu", "memory", "pods"];

/** Whether the far nodes describe the virtual node. They do not if quotas or quantities say everything that a scheduler needs. */
export function readsFarNodes({ node, scheduling }: { readonly node: NodeConfig; readonly scheduling: SchedulingConfig }): boolean {
  if (node.each || scheduling.farNode !== undefined) return true;
  return node.capacity !== "quota" && !isComplete(node.capacity);
}

/** Whether quotas may be the source of the capacity. */
export function readsQuotas({ node, namespaces }: { readonly node: NodeConfig; readonly namespaces: NamespacesConfig }): boolean {
  return namespaces.mode === "one" && !node.each && node.capacity !== "nodes" && !isComplete(node.capacity);
}

function isComplete(capacity: NodeConfig["capacity"]): boolean {
  return typeof capacity !== "string" && neededResources.every((name) => ownValue(capacity, name) !== undefined);
}
