import type { Capabilities, ProviderDefinition } from "@virtual-kubelet/core";
import { dockerConfigSchema, type DockerConfig } from "./config.ts";
import { policyAnnotations } from "./network/network-annotation.ts";
import { dockerVolumeDriver } from "./volume/driver-volume.ts";
import { reasons } from "./reasons.ts";

/** Features of pods on a Docker engine. The policy of the configuration decides on those that give access to the machine. */
const capabilities: Capabilities = {
  initContainers: true,
  sidecarContainers: true,
  ephemeralContainers: true,
  multipleContainers: true,
  env: true,
  probes: true,
  lifecycleHooks: true,
  restarts: true,
  hostNetwork: true,
  hostPorts: true,
  sharedNamespaces: true,
  securityContext: true,
  privileged: true,
  gpus: true,
  volumes: ["configMap", "downwardAPI", "emptyDir", "ephemeral", "hostPath", "image", "persistentVolumeClaim", "projected", "secret"],
  operatingSystems: ["linux"],
  resize: true,
};

/** The Docker provider for the program and {@link "@virtual-kubelet/core"!VirtualNode}. */
export const provider: ProviderDefinition<DockerConfig> = {
  name: "docker",
  capabilities,
  reasons,
  configSchema: dockerConfigSchema,
  policy: ({ policy }) => policy,
  policyAnnotations,
  provisioners: ({ localPath, volumeDrivers }) => [
    ...(localPath ? [localPath.provisioner] : []),
    ...(volumeDrivers.length > 0 ? [dockerVolumeDriver] : []),
  ],
  create: async (host, config) => (await import("./open-docker-provider.ts")).openDockerProvider(host, config),
  plan: async (...pod) => (await import("./plan/plan-docker-pod.ts")).planDockerPod(...pod),
};
