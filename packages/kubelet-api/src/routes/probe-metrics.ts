import type { MetricFamily } from "@virtual-kubelet/core";
import type { ServedNode } from "./served-node.ts";

/** Probe results of all nodes' providers, and the start time of the program in seconds since 1970. */
export async function probeMetrics(
  nodes: readonly ServedNode[],
  startedSeconds: number,
  signal: AbortSignal,
): Promise<readonly MetricFamily[]> {
  const families = new Map<string, MetricFamily>();
  for (const family of (await Promise.all(nodes.map(({ access }) => access.getMetricsProbes(signal)))).flat()) {
    const samples = families.get(family.name)?.samples ?? [];
    families.set(family.name, { ...family, samples: [...samples, ...family.samples] });
  }
  return [
    ...families.values(),
    {
      name: "process_start_time_seconds",
      help: "[ALPHA] Start time of the process since unix epoch in seconds.",
      type: "gauge",
      samples: [{ value: startedSeconds }],
    },
  ];
}
