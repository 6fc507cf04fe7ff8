import {
  podRef,
  type Capabilities,
  type Logger,
  type PlannedRequest,
  type Provider,
  type ProviderDefinition,
  type ProviderHost,
  type ResolvedPod,
} from "@virtual-kubelet/core";
import { isNotFound } from "@virtual-kubelet/errdefs";
import { CallBudget, RemotePodProvider, type RemotePodProviderOptions } from "@virtual-kubelet/remote-pods";
import { ExecRunner } from "./access/exec-runner.ts";
import { socketOpener } from "./access/web-socket.ts";
import { ArmClient } from "./azure/arm-client.ts";
import { apiVersion, ContainerGroups, groupPath } from "./azure/container-groups.ts";
import { createTokenSource } from "./azure/credential.ts";
import type { ContainerGroup } from "./azure/group-schema.ts";
import { AciBackend, limits, nameOf, translatePod } from "./backend.ts";
import type { AciConfig } from "./config/aci-config.ts";
import { aciConfigSchema } from "./config/schema.ts";
import { readAuthorities } from "./config/setting-file.ts";
import { readSettings } from "./config/settings.ts";
import { policyAnnotations } from "./group/annotations.ts";
import type { GroupRequest } from "./group/container-group-of.ts";
import { readRealTime } from "./metrics/real-time.ts";
import { StatsReader } from "./metrics/stats-reader.ts";
import { reasons } from "./reasons.ts";

const capabilities: Capabilities = {
  initContainers: true,
  sidecarContainers: true,
  multipleContainers: true,
  env: true,
  probes: true,
  restarts: true,
  securityContext: true,
  privileged: true,
  gpus: true,
  volumes: ["azureFile", "configMap", "csi", "downwardAPI", "emptyDir", "gitRepo", "projected", "secret"],
  operatingSystems: ["linux", "windows"],
};

/** The provider of Azure Container Instances. */
export const provider: ProviderDefinition<AciConfig> = {
  name: "aci",
  aliases: ["azure"],
  capabilities,
  reasons,
  configSchema: aciConfigSchema,
  policy: ({ policy }) => policy,
  policyAnnotations,
  create: createProvider,
  async plan(pod, resolved, { nodeName, clusterId, clusterDomain, config }, signal): Promise<readonly PlannedRequest[]> {
    const settings = readSettings(config);
    const identity = { ref: podRef(pod), owner: { clusterId, nodeName }, attempt: 0 };
    const quiet: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => quiet };
    const host = { nodeName, clusterDomain, recordEvent: () => {}, logger: quiet };
    const { enabled, clusterCidr, kubeVersion } = config.kubeProxy;
    const kubeProxy = enabled ? { clusterCidr, kubeVersion, kubeconfig: "[kubeconfig]" } : undefined;
    const { resourceGroup, body, notes } = await translatePod(
      pod,
      withShareSecrets(resolved, pod.metadata?.namespace ?? "default"),
      { settings, host, identity, kubeProxy },
      signal,
    );
    const told = [
      ...notes.map(({ message }) => message),
      ...(pod.spec?.imagePullSecrets?.length ? ["Credentials of the pull secrets are added for the images' registries."] : []),
    ];
    const { diagnostics } = body.properties;
    const shown = {
      ...body,
      properties: {
        ...body.properties,
        ...(diagnostics && { diagnostics: { logAnalytics: { ...diagnostics.logAnalytics, workspaceKey: "[workspace key]" } } }),
      },
    };
    const path = groupPath({ subscriptionId: settings.subscriptionId, resourceGroup, name: nameOf(identity) });
    return [
      {
        purpose: "create the container group",
        method: "PUT",
        path: `${path}?api-version=${apiVersion}`,
        headers: { "if-none-match": "*" },
        body: shown,
        ...(told.length > 0 && { note: told.join(" ") }),
      },
    ];
  },
};

/** Shows placeholders for the secrets of Azure Files' shares, which a plan does not know. */
function withShareSecrets(resolved: ResolvedPod, namespace: string): ResolvedPod {
  const placeholder = (name: string, key: string): string => Buffer.from(`[secret ${namespace}/${name}: ${key}]`).toString("base64");
  const { claimedVolume } = resolved;
  // The methods are named one by one, because a resolver may be an instance of a class.
  return {
    environment: (container, signal, known) => resolved.environment(container, signal, known),
    commandLine: (container, signal, known) => resolved.commandLine(container, signal, known),
    volume: (name, signal) => resolved.volume(name, signal),
    watchVolume: (name, signal) => resolved.watchVolume(name, signal),
    ...(claimedVolume && { claimedVolume: (name, signal) => claimedVolume.call(resolved, name, signal) }),
    configMap: (name, signal) => resolved.configMap(name, signal),
    serviceVariables: (signal) => resolved.serviceVariables(signal),
    async secret(name, signal) {
      try {
        return await resolved.secret(name, signal);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        const keys = ["azurestorageaccountname", "azurestorageaccountkey"];
        return { metadata: { name, namespace }, data: Object.fromEntries(keys.map((key) => [key, placeholder(name, key)])) };
      }
    },
  };
}

function createProvider(host: ProviderHost, config: AciConfig): Provider {
  const settings = readSettings(config);
  const authorities = readAuthorities(config.caFile);
  const { clock, random, logger, metrics } = host;
  const budget = new CallBudget({ backEnd: "aci", rates: limits.rates, callTimeoutMs: limits.callTimeoutMs, clock, random, metrics });
  const tokens = createTokenSource({ settings, clock });
  const arm = new ArmClient({
    endpoint: settings.cloud.endpoint,
    tokens,
    budget,
    clock,
    authorities,
    userAgent: config.userAgent,
  });
  const groups = new ContainerGroups(arm, settings.subscriptionId);
  const openSocket = socketOpener(authorities);
  const exec = new ExecRunner({ groups, openSocket, clock, random, logger, mode: config.exec });
  const stats =
    config.azureMonitorMetrics || config.realTimeMetrics
      ? new StatsReader({ groups, readRealTime, usesMonitor: config.azureMonitorMetrics, clock, logger })
      : undefined;
  const backend = new AciBackend({ settings, host, arm, groups, exec, openSocket, stats });
  return new AciProvider({ host, backend, pollIntervalMs: settings.pollIntervalMs / quietFactor }, { exec, used: [budget, arm, tokens] });
}

/** Lists of an unchanging node are this many times rarer than `pollIntervalMs` of remote-pods. */
const quietFactor = 6;

/** Provider that ends what it uses. */
class AciProvider extends RemotePodProvider<GroupRequest, ContainerGroup> {
  readonly #exec: ExecRunner;
  readonly #used: readonly Disposable[];

  constructor(
    options: RemotePodProviderOptions<GroupRequest, ContainerGroup, undefined>,
    { exec, used }: { readonly exec: ExecRunner; readonly used: readonly Disposable[] },
  ) {
    super(options);
    this.#exec = exec;
    this.#used = used;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.#exec[Symbol.asyncDispose]();
    for (const resource of this.#used) resource[Symbol.dispose]();
  }
}
