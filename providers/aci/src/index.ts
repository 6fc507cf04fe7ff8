/**
 * Pods in Azure Container Instances: each pod is a container group.
 *
 * @packageDocumentation
 */
export type { Encryption } from "./azure/container-group.ts";
export type { AciAuthConfig, AciConfig, CloudName, KubeProxyConfig, LogAnalyticsConfig } from "./config/aci-config.ts";
export { aciConfigSchema } from "./config/schema.ts";
export { provider } from "./provider.ts";
