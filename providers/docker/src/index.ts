/**
 * Virtual Kubelet provider that runs pods on a Docker engine of the same machine.
 *
 * @packageDocumentation
 */
export { provider } from "./provider.ts";
export {
  dockerConfigSchema,
  type DockerConfig,
  type DockerImageCollectionConfig,
  type DockerLocalPathConfig,
  type DockerLogConfig,
  type DockerPullConfig,
} from "./config.ts";
export type { DeviceSettings } from "./runtime-settings.ts";
export type { CniSettings } from "./network/cni/cni-network.ts";
