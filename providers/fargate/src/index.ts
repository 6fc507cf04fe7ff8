/**
 * Pods on AWS Fargate: tasks of Amazon ECS.
 *
 * @packageDocumentation
 */
export { fargateConfigSchema, type CapacityProviderShare, type FargateConfig } from "./config/schema.ts";
export { provider } from "./provider.ts";
