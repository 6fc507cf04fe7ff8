import type { Clock } from "@virtual-kubelet/clock";
import type { ArmAnswer, ArmRequest } from "./arm-request.ts";
import type { FakeContainerGroup } from "./fake-container-group.ts";

const minuteMs = 60_000;

/**
 * Metrics of Azure Monitor for a container group: `CPUUsage` in millicores and `MemoryUsage` in bytes, one average a minute and container.
 * Source of the form: https://learn.microsoft.com/rest/api/monitor/metrics/list.
 */
export async function monitorMetrics({ query }: ArmRequest, id: string, group: FakeContainerGroup, clock: Clock): Promise<ArmAnswer> {
  const names = (query.get("metricnames") ?? "").split(",").filter(Boolean);
  const unknown = names.find(
    (name) => !["CPUUsage", "MemoryUsage", "NetworkBytesReceivedPerSecond", "NetworkBytesTransmittedPerSecond"].includes(name),
  );
  if (unknown !== undefined)
    return {
      status: 400,
      body: {
        code: "BadRequest",
        message: `Failed to find metric configuration for provider: Microsoft.ContainerInstance, metric: ${unknown}`,
      },
    };
  const timeStamp = new Date(Math.floor(clock.now() / minuteMs) * minuteMs).toISOString().replace(/\.\d+Z$/, "Z");
  const series = await Promise.all(
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
    unit: name === "CPUUsage" ? "Count" : "Bytes",
    timeseries: series.map(({ name: container, millicores, bytes }) => ({
      metadatavalues: [{ name: { value: "containername", localizedValue: "containername" }, value: container }],
      data: [{ timeStamp, average: name === "CPUUsage" ? millicores : name === "MemoryUsage" ? bytes : 0 }],
    })),
  }));
  return { status: 200, body: { cost: 0, interval: "PT1M", timespan: `${timeStamp}/${timeStamp}`, value } };
}

/** Port of the extension `realtime-metrics` at the address of a container group. */
export const realtimeMetricsPort = 18_899;

/** Answer of the extension `realtime-metrics` at `/v1/stats`. Source of the form: azure-aci, pkg/metrics/metrics_realtime.go. */
export async function realtimeMetrics(group: FakeContainerGroup, clock: Clock): Promise<object> {
  const containers = await Promise.all(
    group.containers.map(async ({ name, last }) => {
      const usage = (await last?.usage()) ?? { cpuNanoseconds: 0, memoryBytes: 0 };
      return { name, ...usageView(usage.cpuNanoseconds, usage.memoryBytes) };
    }),
  );
  const cpu = containers.reduce((sum, each) => sum + each.cpu.usageCoreNanoSeconds, 0);
  const memory = containers.reduce((sum, each) => sum + each.memory.usageBytes, 0);
  return { timestamp: clock.now() * 1_000_000, containers, ...usageView(cpu, memory), network: { interfaces: [] } };
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
