import { z } from "zod";

const stringMap = z.record(z.string(), z.string());

/** A toleration that the far pods get. */
export interface FarToleration {
  readonly key?: string | undefined;
  readonly operator?: "Exists" | "Equal" | undefined;
  readonly value?: string | undefined;
  readonly effect?: "NoSchedule" | "PreferNoSchedule" | "NoExecute" | undefined;
  readonly tolerationSeconds?: number | undefined;
}

/** What the far scheduler is told. */
export interface SchedulingConfig {
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly farNode?: string | undefined;
  readonly tolerations: readonly FarToleration[];
  readonly schedulerName?: string | undefined;
  readonly priorityClasses: Readonly<Record<string, string>>;
  readonly runtimeClasses: Readonly<Record<string, string>>;
  readonly podAffinity: "carry" | "drop";
  readonly topologySpread: "carry" | "drop";
}

/** Schema of the section `scheduling`: what the far scheduler is told instead of the home cluster's. */
export const schedulingSchema: z.ZodType<SchedulingConfig> = z.strictObject({
  nodeSelector: stringMap.default({}).describe("Labels of the far nodes that the pods may run on; they also determine the node's capacity"),
  farNode: z
    .string()
    .min(1)
    .optional()
    .describe("The only far node that the pods may run on, by name; node.each sets it for each virtual node. Default: any selected one"),
  tolerations: z
    .array(
      z
        .strictObject({
          key: z.string().optional(),
          operator: z.enum(["Exists", "Equal"]).optional(),
          value: z.string().optional(),
          effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]).optional(),
          tolerationSeconds: z.int().optional(),
        })
        .superRefine(checkToleration),
    )
    .default([])
    .describe("Tolerations that the far pods get in addition to their own"),
  schedulerName: z.string().min(1).optional().describe("Scheduler of the far cluster. Without it, the far cluster chooses"),
  priorityClasses: stringMap
    .default({})
    .describe("Priority classes of the far cluster by those of home; a class without an entry is left out"),
  runtimeClasses: stringMap
    .default({})
    .describe("Runtime classes of the far cluster by those of home; a class without an entry keeps its name"),
  podAffinity: z
    .enum(["carry", "drop"])
    .default("carry")
    .describe("Affinity between pods: kept, for pods of the far cluster (carry), or left out (drop)"),
  topologySpread: z
    .enum(["carry", "drop"])
    .default("carry")
    .describe("Topology spread constraints: kept for the far nodes (carry), or left out (drop)"),
});

/** Refuses tolerations that the far cluster would refuse, with every pod that has them. Source: ValidateTolerations in k8s.io/kubernetes. */
function checkToleration({ key, operator, value, effect, tolerationSeconds }: FarToleration, context: z.RefinementCtx): void {
  const refuse = (field: string, message: string): void => context.addIssue({ code: "custom", path: [field], message });
  if (!key && operator !== "Exists") refuse("operator", "expected Exists, because there is no key; or set key");
  if (value && operator === "Exists")
    refuse("value", "expected none, because operator Exists matches every value; or set operator to Equal");
  if (tolerationSeconds !== undefined && effect !== "NoExecute") refuse("effect", "expected NoExecute, because tolerationSeconds is set");
}
