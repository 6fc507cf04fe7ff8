import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import type { Pod, PodUpdate, Provider, ProviderHost, ResolvedPod } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { provider as definition } from "@virtual-kubelet/provider-zun";

/** A provider on a cloud, with its recorded updates and warnings. */
export interface OpenedProvider extends AsyncDisposable {
  readonly provider: Provider;
  readonly updates: PodUpdate[];
  readonly events: string[];
  /** Problems of skipped objects. */
  readonly skipped: string[];
}

const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };

/**
 * Creates a provider with a configuration.
 *
 * @param pods - pods of the API server
 * @param nodeName - another name than the other providers of the same cloud have. A node has one provider at a time: two would share its pods
 */
export async function openProvider(config: object, pods: readonly Pod[] = [], nodeName = "zun-e2e"): Promise<OpenedProvider> {
  const events: string[] = [];
  const skipped: string[] = [];
  const warn = (fields: object, message: string): void => {
    if (message === "an object of Zun is skipped" && "why" in fields) skipped.push(String(fields.why));
  };
  const updates: PodUpdate[] = [];
  const nothing = (): never => {
    throw new NotFoundError("the test host has no such objects");
  };
  const host: ProviderHost = {
    nodeName,
    clusterId: "cluster-e2e",
    nodeAddress: undefined,
    clusterDomain: "cluster.local",
    logger: { ...silent, warn },
    metrics: { count() {}, gauge() {}, observe() {} },
    clock: systemClock,
    random: systemRandom,
    getSecret: nothing,
    getConfigMap: nothing,
    getServiceAccountToken: nothing,
    resolvePod: nothing,
    findPod: ({ uid }) => pods.find(({ metadata }) => metadata?.uid === uid),
    recordEvent: (_ref, { reason, message }) =>
      void events.push(reason === "Unhealthy" || reason === "Killing" ? `${reason}: ${message}` : reason),
  };
  const parsed = definition.configSchema.safeParse(config);
  if (!parsed.success) throw new Error(JSON.stringify(parsed.error.issues));
  const provider = await definition.create(host, parsed.data);
  return {
    provider,
    updates,
    events,
    skipped,
    [Symbol.asyncDispose]: async () => {
      await provider[Symbol.asyncDispose]?.();
    },
  };
}

/** A pod that is bound to the node. */
export function podOf(spec: NonNullable<Pod["spec"]>, annotations: Readonly<Record<string, string>> = {}): Pod {
  const uid = systemRandom.uuid();
  return {
    metadata: {
      namespace: "default",
      name: `pod-${uid.slice(0, 8)}`,
      uid,
      annotations: { ...annotations },
      creationTimestamp: "2026-11-21T10:00:00Z",
    },
    spec,
  };
}

/** Resolves a pod's references: its plain environment, and these files in every volume. */
export function resolverOf(pod: Pod, files: Readonly<Record<string, string>> = {}): ResolvedPod {
  const containerOf = (name: string): NonNullable<Pod["spec"]>["containers"][number] | undefined =>
    [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])].find((container) => container.name === name);
  const volume: ResolvedPod["volume"] = async () => ({
    files: Object.entries(files).map(([path, content]) => ({ path, mode: 0o644, content: Buffer.from(content) })),
  });
  return {
    environment: async (name) => (containerOf(name)?.env ?? []).map(({ name: key, value = "" }) => ({ name: key, value })),
    commandLine: async (name) => ({ command: containerOf(name)?.command ?? [], args: containerOf(name)?.args ?? [] }),
    volume,
    async *watchVolume(name, signal) {
      yield await volume(name, signal);
    },
    configMap: async () => ({}),
    secret: async () => ({}),
    serviceVariables: async () => [],
  };
}
