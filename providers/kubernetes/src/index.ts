/**
 * A provider that runs pods in another Kubernetes cluster.
 *
 * @packageDocumentation
 */
export { kubernetesConfigSchema, type KubernetesConfig } from "./config.ts";
