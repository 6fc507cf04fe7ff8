import { podPolicySchema, type PodPolicy } from "@virtual-kubelet/core";
import { z } from "zod";
import { carrySchema, type CarryConfig } from "./config/carry.ts";
import { claimsSchema, type ClaimsConfig } from "./config/claims.ts";
import { connectionSchema, type ConnectionConfig } from "./config/connection.ts";
import { namespacesSchema, type NamespacesConfig } from "./config/namespaces.ts";
import { networkSchema, type NetworkConfig } from "./config/network.ts";
import { checkNode, nodeSchema, type NodeConfig } from "./config/node.ts";
import { schedulingSchema, type SchedulingConfig } from "./config/scheduling.ts";
import { servicesSchema, type ServicesConfig } from "./config/services.ts";

/** The provider's configuration, with all defaults. */
export interface KubernetesConfig {
  readonly cluster: ConnectionConfig;
  readonly namespaces: NamespacesConfig;
  readonly carry: CarryConfig;
  readonly scheduling: SchedulingConfig;
  readonly network: NetworkConfig;
  readonly claims: ClaimsConfig;
  readonly node: NodeConfig;
  readonly events: boolean;
  readonly usage: "auto" | "metrics-api" | "kubelets" | "none";
  readonly services: ServicesConfig;
  readonly policy?: PodPolicy | undefined;
}

const sections: z.ZodType<KubernetesConfig> = z.strictObject({
  cluster: connectionSchema.prefault({}).describe("How to reach the far cluster"),
  namespaces: namespacesSchema
    .default({ mode: "one" })
    .describe(
      "In which far namespaces the pods run: {mode: one, name: NAMESPACE}, {mode: same}, or {mode: prefix, prefix: home-}; the last two create missing ones with create: true",
    ),
  carry: carrySchema.prefault({}).describe("What travels with a pod"),
  scheduling: schedulingSchema.prefault({}).describe("What the far scheduler is told"),
  network: networkSchema.prefault({}).describe("How addresses of the far cluster are seen at home"),
  claims: claimsSchema.prefault({}).describe("Volumes for claims"),
  node: nodeSchema.prefault({}).describe("What the virtual node says about the far cluster"),
  events: z.boolean().default(true).describe("Events of far pods are shown at their home pods; default true"),
  usage: z
    .enum(["auto", "metrics-api", "kubelets", "none"])
    .default("auto")
    .describe(
      "Source of the pods' usage: the far metrics API, the far kubelets, none, or auto: the kubelets if the rights allow it, otherwise the metrics API",
    ),
  services: servicesSchema.prefault({}).describe("Services that both clusters have"),
  policy: podPolicySchema().optional().describe("What pods may ask for; default: the level baseline of the Pod Security Standards"),
});

/** Schema of the provider's configuration; each section has its defaults. */
export const kubernetesConfigSchema: z.ZodType<KubernetesConfig> = sections.superRefine(checkNode);
