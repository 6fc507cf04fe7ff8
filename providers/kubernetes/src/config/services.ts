import { z } from "zod";
import { homeConnectionSchema, type ConnectionConfig } from "./connection.ts";

/** Services that both clusters have. */
export interface ServicesConfig {
  readonly namespaces: readonly string[];
  readonly direction: "both" | "toFar" | "toHome";
  readonly home?: ConnectionConfig | undefined;
}

/** Schema of the section `services`: Services that both clusters have. */
export const servicesSchema: z.ZodType<ServicesConfig> = z.strictObject({
  namespaces: z.array(z.string().min(1)).default([]).describe("Home namespaces whose Services are mirrored; default: none"),
  direction: z
    .enum(["both", "toFar", "toHome"])
    .default("both")
    .describe("toFar: a name of home resolves in the far cluster; toHome: a name of the far cluster resolves at home"),
  home: homeConnectionSchema
    .optional()
    .describe(
      "Kubeconfig of the home cluster for the mirror; default: the program's own variables KUBECONFIG, or its pod's service account",
    ),
});
