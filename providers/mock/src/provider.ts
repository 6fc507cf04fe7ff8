import { volumeSources, type Capabilities, type ProviderDefinition } from "@virtual-kubelet/core";
import { mockConfigSchema, type MockConfig } from "./config.ts";
import { MockProvider } from "./mock-provider.ts";
import { planMockPod } from "./plan-pod.ts";
import { UsedAddresses } from "./pod/used-addresses.ts";
import { reasons } from "./reasons.ts";

/** All fields of a pod are accepted, since no container runs. */
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
  volumes: volumeSources,
  operatingSystems: ["linux", "windows"],
  resize: true,
};

/** Addresses of the pods of all nodes whose providers the definition creates: nodes of one process do not give out an address twice. */
const usedAddresses = new UsedAddresses();

/** The mock provider for the program and {@link "@virtual-kubelet/core"!VirtualNode}. */
export const provider: ProviderDefinition<MockConfig> = {
  name: "mock",
  capabilities,
  reasons,
  configSchema: mockConfigSchema,
  policy: ({ policy }) => policy,
  create: (host, config) => new MockProvider(host, config, usedAddresses),
  plan: planMockPod,
};
