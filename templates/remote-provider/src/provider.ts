import { podRef, type ProviderDefinition } from "@virtual-kubelet/core";
import { CallBudget, RemotePodProvider } from "@virtual-kubelet/remote-pods";
import { configSchema, regionAnnotation, type Config } from "./config.ts";
import { JobsApi } from "./jobs-api.ts";
import { JobsBackend, limits } from "./jobs-backend.ts";
import { toJobSpec } from "./translate.ts";

/** Definition that the program loads. Pods that need more than these capabilities, or than the policy allows, never reach the provider. */
export const provider: ProviderDefinition<Config> = {
  name: "template",
  capabilities: { env: true },
  configSchema,
  policy: (config) => config.policy,
  policyAnnotations: [regionAnnotation],
  create(host, config) {
    const { address, tokenFile, timeoutSeconds, pollIntervalSeconds } = config;
    const { clock, random, metrics, clusterId, nodeName } = host;
    const budget = new CallBudget({ backEnd: "template", rates: limits.rates, clock, random, metrics });
    const api = new JobsApi({ address, tokenFile, timeoutMs: timeoutSeconds * 1000, fetch: globalThis.fetch, clock, budget });
    const backend = new JobsBackend(api, config, { clusterId, nodeName });
    return new RemotePodProvider({ host, backend, pollIntervalMs: pollIntervalSeconds * 1000 });
  },
  async plan(pod, resolved, { clusterId, nodeName, config }, signal) {
    const identity = { ref: podRef(pod), owner: { clusterId, nodeName }, attempt: 0 };
    return [
      { purpose: "create the job", method: "POST", path: "/jobs", body: await toJobSpec(pod, resolved, { identity, config }, signal) },
    ];
  },
};
