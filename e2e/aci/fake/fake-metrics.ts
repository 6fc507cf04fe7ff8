import type { Clock } from "@virtual-kubelet/clock";
import type { ArmAnswer, ArmRequest } from "./arm-request.ts";
import type { FakeContainerGroup } from "./fake-container-group.ts";

const minuteMs = 60_000;

/**
 * Metrics by their names in the REST API. Source:
 * https://learn.microsoft.com/azure/azure-monitor/reference/supported-metrics/microsoft-containerinstance-containergroups-metrics.
 */
const metricNames = ["CpuUsage", "MemoryUsage", "NetworkBytesReceivedPerSecond", "NetworkBytesTransmittedPerSecond"];
/** Filter that asks for a series for each container. */
const perContainer = /^containername eq '\*'$/i;

/**
 * Metrics of Azure Monitor for a container group: `CpuUsage` in millicores and `MemoryUsage` in bytes, one average a minute, of each container if the
 * filter asks for it. Names are taken in any case, as in Microsoft's examples for the Azure CLI.
 * Source of the form: https://learn.microsoft.com/rest/api/monitor/metrics/list.
 */
export async function monitorMetrics({ query }: ArmRequest, id: string, group: FakeContainerGroup, clock: Clock): Promise<ArmAnswer> {
  const asked = (query.get("metricnames") ?? "").split(",").filter(Boolean);
  const names = metricNames.filter((name) => asked.some((each) => each.toLowerCase() === name.toLowerCase()));
  const unknown = asked.find((each) => names.every((name) => each.toLowerCase() !== name.toLowerCase()));
  if (unknown !== undefined)
    return badRequest(`Failed to find metric configuration for provider: Microsoft.ContainerInstance, metric: ${unknown}`);
  const filter = query.get("$filter");
  if (filter !== null && !perContainer.test(filter)) return badRequest(`The fake does not know the filter ${filter}.`);
  const timeStamp = new Date(Math.floor(clock.now() / minuteMs) * minuteMs).toISOString().replace(/\.\d+Z$/, "Z");
  const series: readonly Usage[] = await Promise.all(
    group.containers.map(async ({ name, last }) => {
      const usage = await last?.usage();
      const seconds = last?.state.kind === "running" ? Math.max(1, (clock.now() - last.state.startedAtMs) / 1000) : 1;
      return { name, millicores: Math.round((usage?.cpuNanoseconds ?? 0) / seconds / 1e6), bytes: usage?.memoryBytes ?? 0 };
    }),
  );
  const value = names.map((name) => ({
    id: `${id}/providers/Microsoft.Insights/metrics/${name}`,
    type: "Microsoft.Insights/metrics",
    name: { value: name, localizedValue: name },
    unit: name === "CpuUsage" ? "Count" : "Bytes",
    timeseries: (filter === null ? [totalOf(series)] : series).map(({ name: container, millicores, bytes }) => ({
      metadatavalues:
        container === undefined ? [] : [{ name: { value: "containername", localizedValue: "containername" }, value: container }],
      data: [{ timeStamp, average: name === "CpuUsage" ? millicores : name === "MemoryUsage" ? bytes : 0 }],
    })),
  }));
  return { status: 200, body: { cost: 0, interval: "PT1M", timespan: `${timeStamp}/${timeStamp}`, value } };
}

/** Average of a container, or of the group if it has no name. */
interface Usage {
  readonly name: string | undefined;
  readonly millicores: number;
  readonly bytes: number;
}

function totalOf(series: readonly Usage[]): Usage {
  const sum = (of: (each: Usage) => number): number => series.reduce((total, each) => total + of(each), 0);
  return { name: undefined, millicores: sum(({ millicores }) => millicores), bytes: sum(({ bytes }) => bytes) };
}

function badRequest(message: string): ArmAnswer {
  return { status: 400, body: { code: "BadRequest", message } };
}

/** Port of the extension `realtime-metrics` at the address of a container group. */
export const realtimeMetricsPort = 18_899;

/** Answer of the extension `realtime-metrics` at `/v1/stats`. Source of the form: azure-aci, pkg/metrics/real_time.go. */
export async function realtimeMetrics(group: FakeContainerGroup, clock: Clock): Promise<object> {
  const containers = await Promise.all(
    group.containers.map(async ({ name, last }) => {
      const usage = (await last?.usage()) ?? { cpuNanoseconds: 0, memoryBytes: 0 };
      return { name, ...usageView(usage.cpuNanoseconds, usage.memoryBytes) };
    }),
  );
  const cpu = containers.reduce((sum, each) => sum + each.cpu.usageCoreNanoSeconds, 0);
  const memory = containers.reduce((sum, each) => sum + each.memory.usageBytes, 0);
  const network = { name: "eth0", rxBytes: 0, rxErrors: 0, txBytes: 0, txErrors: 0 };
  return { timestamp: clock.now() * 1_000_000, containers, ...usageView(cpu, memory), network: { ...network, interfaces: [network] } };
}

function usageView(
  usageCoreNanoSeconds: number,
  bytes: number,
): {
  readonly cpu: { readonly usageCoreNanoSeconds: number };
  readonly memory: { readonly usageBytes: number; readonly workingSetBytes: number; readonly rssBytes: number };
} {
  return { cpu: { usageCoreNanoSeconds }, memory: { usageBytes: bytes, workingSetBytes: bytes, rssBytes: bytes } };
}
