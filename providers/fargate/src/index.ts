/**
 * Pods on AWS Fargate: tasks of Amazon ECS.
 *
 * @packageDocumentation
 */
export { fargateConfigSchema, type CapacityProviderShare, type FargateConfig } from "./config/schema.ts";
