import {
  resolveNodeOptions,
  tryDurationMs,
  type PodOptions,
  type ProviderDefinition,
  type ResolvedNodeOptions,
} from "@virtual-kubelet/core";
import type { NodeSettings, Settings } from "./settings.ts";

/** Core's options for a node: what the settings determine, and core's own defaults for the rest. */
export function toNodeOptions(
  node: NodeSettings,
  settings: Settings,
  instance: { readonly provider: ProviderDefinition; readonly hostName: string; readonly defaultAddress: string | undefined },
): ResolvedNodeOptions {
  const leaseMs = ms(node.leaseDuration);
  const options = {
    name: node.name,
    labels: node.labels,
    annotations: { ...metricsPathAnnotation(node, settings), ...node.annotations },
    taints: [...ownTaint(node, instance.provider), ...(node.taints ?? [])],
    ...addressesOf(node),
    kubeletPort: node.kubeletPort,
    declaredFeatures: settings.kubelet.extendWebSockets ? undefined : [],
    capacity: node.capacity,
    operatingSystem: node.operatingSystem,
    architecture: node.architecture,
    kubeletVersion: node.kubeletVersion,
    leaseDurationSeconds: leaseMs === undefined ? undefined : Math.round(leaseMs / 1000),
    pingIntervalMs: ms(node.pingInterval),
    pingTimeoutMs: ms(node.pingTimeout),
    pingToleranceMs: ms(node.pingTolerance),
    statusReportIntervalMs: ms(node.statusInterval),
    onProviderDown: node.onProviderDown,
    onShutdown: node.onShutdown,
    instance: {
      identity: settings.instance.identity ?? instance.hostName,
      standby: settings.instance.standby || settings.instance.group !== undefined,
      group: settings.instance.group,
    },
  };
  const hostAddresses = instance.defaultAddress === undefined ? [] : [instance.defaultAddress];
  return resolveNodeOptions(options, { providerName: instance.provider.name, hostAddresses });
}

/** Core's options for a node's pods, as far as the settings determine them. */
export function toPodOptions(node: NodeSettings): PodOptions {
  const { workers, providerTimeout, pollInterval, onUnsupported, daemonSets, apiAccessVolume, orphans } = node;
  return {
    workers,
    providerTimeoutMs: ms(providerTimeout),
    pollIntervalMs: ms(pollInterval),
    onUnsupported,
    daemonSets,
    automountToken: apiAccessVolume,
    orphans: {
      enabled: orphans?.enabled,
      graceMs: ms(orphans?.grace),
      intervalMs: ms(orphans?.interval),
      maxPerSweep: orphans?.maxPerSweep,
    },
  };
}

/** Addresses of both families, from the comma-separated `nodes[].address` or `--node-ip`. */
function addressesOf({ address }: NodeSettings): Pick<ResolvedNodeOptions, "address" | "secondaryAddress"> {
  const [first, second] = address?.split(",").map((each) => each.trim()) ?? [];
  return { address: first, secondaryAddress: second };
}

/** Milliseconds of a validated duration. */
export function ms(duration: string | undefined): number | undefined {
  return duration === undefined ? undefined : tryDurationMs(duration);
}

/** If nodes share a port, metrics-server must be told the path of each. */
function metricsPathAnnotation({ name, kubeletPort }: NodeSettings, { nodes }: Settings): Record<string, string> {
  const sharesPort = kubeletPort !== 0 && nodes.some((other) => other.name !== name && other.kubeletPort === kubeletPort);
  return sharesPort ? resourceMetricsPath(name) : {};
}

/** Annotation that tells metrics-server the path of a node that shares its port. */
export function resourceMetricsPath(nodeName: string): Record<string, string> {
  return { "metrics.k8s.io/resource-metrics-path": `/nodes/${nodeName}/metrics/resource` };
}

/** Source: virtual-kubelet v1.13 cmd/virtual-kubelet/internal/commands/root/node.go, getTaint (7b1385b). */
function ownTaint({ taint, provider }: NodeSettings, definition: ProviderDefinition): ResolvedNodeOptions["taints"] {
  if (taint.disable) return [];
  // The alias is kept as the taint's value, so that tolerations written for upstream's provider of that name still match.
  const name = definition.aliases?.includes(provider) ? provider : definition.name;
  return [{ key: taint.key, value: taint.value ?? name, effect: taint.effect }];
}
