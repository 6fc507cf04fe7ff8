import { ignorableFields, ignoreProblem } from "@virtual-kubelet/core";
import { z } from "zod";
import { didYouMean } from "../command-line/nearest.ts";
import { defaults } from "./defaults.ts";
import type { NodeSettings } from "./settings.ts";

const unsupported = z.enum(["wait", "fail"]);
/** Schema of `nodes[].onUnsupported`. */
export const unsupportedPolicySchema: z.ZodType<NodeSettings["onUnsupported"]> = z
  .union([
    unsupported,
    z.strictObject({
      default: unsupported.default(defaults.onUnsupported).describe("what happens to pods that need other unsupported fields"),
      ignore: z
        .array(z.string().meta({ enum: [...ignorableFields] }))
        .default([])
        .describe("fields that are removed from a pod if the provider does not support them"),
    }),
  ])
  .superRefine((policy, { addIssue }) => {
    if (typeof policy === "string") return;
    for (const [index, path] of policy.ignore.entries()) {
      const problem = ignoreProblem(path);
      if (problem !== undefined) addIssue({ code: "custom", path: ["ignore", index], message: `${problem}${nearField(path)}` });
    }
  });

/** Hint to the nearest field of the same object. */
function nearField(path: string): string {
  const parent = path.slice(0, path.lastIndexOf(".") + 1);
  const siblings = ignorableFields.filter((field) => field.startsWith(parent)).map((field) => field.slice(parent.length));
  return didYouMean(
    path.slice(parent.length),
    siblings.filter((name) => !name.includes(".")),
    parent,
  );
}
