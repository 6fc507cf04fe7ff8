import { z } from "zod";

const cidr = z.string().regex(/^[0-9a-fA-F.:]+\/\d{1,3}$/, "expected a range of addresses such as 10.2.0.0/16");

/** How addresses of the far cluster are seen at home. */
export interface NetworkConfig {
  readonly podIPs: "same" | "none" | readonly { readonly far: string; readonly home: string }[];
  readonly hostIPs: "node" | "far";
  readonly serviceVariables: "far" | "home";
}

/** Schema of the section `network`: how addresses of the far cluster are seen at home. */
export const networkSchema: z.ZodType<NetworkConfig> = z.strictObject({
  podIPs: z
    .union([z.enum(["same", "none"]), z.array(z.strictObject({ far: cidr, home: cidr })).min(1)])
    .default("same")
    .describe(
      "Addresses of the pods as the home cluster sees them: same, if both are one network or joined by routes; none, if home cannot reach them; or ranges that a NAT translates, each with far and home of one size",
    ),
  hostIPs: z
    .enum(["node", "far"])
    .default("node")
    .describe("hostIP of the pods: the virtual node's address (node), or the far node's (far)"),
  serviceVariables: z
    .enum(["far", "home"])
    .default("far")
    .describe("Environment variables of services: those of the far namespace, or those of the home namespace"),
});
