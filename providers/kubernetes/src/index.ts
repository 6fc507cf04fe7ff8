/**
 * A provider that runs pods in another Kubernetes cluster.
 *
 * @packageDocumentation
 */
export { kubernetesConfigSchema, type KubernetesConfig } from "./config.ts";
export type { CarryConfig } from "./config/carry.ts";
export type { ClaimsConfig } from "./config/claims.ts";
export type { ConnectionConfig } from "./config/connection.ts";
export type { NamespacesConfig } from "./config/namespaces.ts";
export type { NetworkConfig } from "./config/network.ts";
export type { NodeConfig } from "./config/node.ts";
export type { FarToleration, SchedulingConfig } from "./config/scheduling.ts";
export type { ServicesConfig } from "./config/services.ts";
export { connect, type ConnectOptions } from "./far/connect.ts";
export type { FarConnection } from "./far/far-cluster.ts";
export { kubernetesProvider, provider, type KubernetesProviderOptions } from "./provider.ts";
export type { ConnectHome, HomeConnection } from "./services/home-connection.ts";
