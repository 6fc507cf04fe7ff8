import type { Capabilities, PlannedRequest, ProviderDefinition, ProviderHost } from "@virtual-kubelet/core";
import { CallBudget, RemotePodProvider } from "@virtual-kubelet/remote-pods";
import { openClients, type SdkClients } from "./aws/sdk-clients.ts";
import type { EcsTask } from "./aws/ecs-objects.ts";
import { backendLimits } from "./backend-limits.ts";
import { FargateBackend } from "./backend.ts";
import { fargateConfigSchema, type FargateConfig } from "./config/schema.ts";
import { reasons } from "./reasons.ts";
import type { TaskMemory } from "./status/task-memory.ts";
import { policyAnnotations } from "./task/annotations.ts";
import { policyVolumes } from "./task/efs-volumes.ts";
import { podRef } from "@virtual-kubelet/core";
import { taskOf, type TaskRequest } from "./task/task-of.ts";

/** Features of tasks on Fargate. Parts that a task cannot have are refused when the pod comes, with the field's path. */
const capabilities: Capabilities = {
  initContainers: true,
  sidecarContainers: true,
  multipleContainers: true,
  env: true,
  probes: true,
  restarts: true,
  securityContext: true,
  volumes: ["configMap", "downwardAPI", "emptyDir", "nfs", "persistentVolumeClaim", "projected", "secret"],
  operatingSystems: ["linux"],
};

/** Provider with what it has opened. */
class FargateProvider extends RemotePodProvider<TaskRequest, EcsTask, TaskMemory> {
  readonly #opened: { readonly backend: FargateBackend; readonly budget: CallBudget; readonly clients: SdkClients };

  constructor(host: ProviderHost, config: FargateConfig) {
    const { clock, random, metrics } = host;
    const clients = openClients(config);
    const budget = new CallBudget({
      backEnd: "fargate",
      rates: backendLimits.rates,
      callTimeoutMs: backendLimits.callTimeoutMs,
      clock,
      random,
      metrics,
    });
    const backend = new FargateBackend({ host, config, clients, budget });
    super({ host, backend });
    this.#opened = { backend, budget, clients };
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    const { backend, budget, clients } = this.#opened;
    await super[Symbol.asyncDispose]();
    await backend[Symbol.asyncDispose]();
    budget[Symbol.dispose]();
    clients[Symbol.dispose]();
  }
}

/** The AWS Fargate provider, as the program and {@link "@virtual-kubelet/core"!VirtualNode} take it. */
export const provider: ProviderDefinition<FargateConfig> = {
  name: "fargate",
  aliases: ["aws", "ecs"],
  capabilities,
  reasons,
  configSchema: fargateConfigSchema,
  policy: ({ policy }) => policy,
  policyAnnotations,
  policyVolumes,
  create: (host, config) => new FargateProvider(host, config),
  async plan(pod, resolved, { nodeName, clusterId, config }, signal): Promise<readonly PlannedRequest[]> {
    const identity = { ref: podRef(pod), owner: { clusterId, nodeName }, attempt: 0 };
    const { definition, run, notes } = await taskOf(pod, resolved, { config, identity }, signal);
    const headers = (operation: string): Readonly<Record<string, string>> => ({
      "content-type": "application/x-amz-json-1.1",
      "x-amz-target": `AmazonEC2ContainerServiceV20141113.${operation}`,
    });
    return [
      {
        purpose: "register the task definition",
        method: "POST",
        path: "/",
        headers: headers("RegisterTaskDefinition"),
        body: definition,
        note: "only if the family has no active revision yet",
      },
      {
        purpose: "run the task",
        method: "POST",
        path: "/",
        headers: headers("RunTask"),
        body: { ...run, taskDefinition: `{ARN of ${definition.family}}` },
        ...(notes.length > 0 && { note: notes.map(({ message }) => message).join("; ") }),
      },
    ];
  },
};
