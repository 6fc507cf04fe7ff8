import { UnavailableError } from "@virtual-kubelet/errdefs";
import { tryParseQuantity } from "@virtual-kubelet/kubernetes";
import { z } from "zod";

/** A pod's usage, as the metrics API shows it. */
export interface PodUsage {
  /** Time of the measurement, RFC 3339. */
  readonly time: string;
  /** Length of the interval over which the processor was measured, in milliseconds. */
  readonly windowMs: number;
  /** By name of the container. */
  readonly containers: ReadonlyMap<string, { readonly nanoCores: number; readonly workingSetBytes: number }>;
}

const listSchema = z.object({ kind: z.literal("PodMetricsList"), items: z.array(z.unknown()) });
const podSchema = z.object({
  metadata: z.object({ namespace: z.string(), name: z.string() }),
  timestamp: z.iso.datetime({ offset: true }),
  window: z.string(),
  containers: z.array(z.object({ name: z.string(), usage: z.object({ cpu: z.string(), memory: z.string() }) })),
});

/** As Go writes durations of seconds: `15.2s`, `1m0s`. */
const durationPattern = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?$/;

/**
 * Reads a list of `metrics.k8s.io/v1beta1` pods, by `namespace/name`. A pod whose figures are not as expected is left out.
 *
 * @throws UnavailableError if the answer is no such list
 */
export function readPodMetrics(answer: unknown): ReadonlyMap<string, PodUsage> {
  const list = listSchema.safeParse(answer);
  if (!list.success) throw new UnavailableError("the answer is not a PodMetricsList");
  return new Map(
    list.data.items.flatMap((item) => {
      const { data } = podSchema.safeParse(item);
      const windowMs = millisecondsOf(data?.window ?? "");
      if (!data || windowMs === undefined) return [];
      const { metadata, timestamp, containers } = data;
      const usages = containers.flatMap(({ name, usage }) => {
        const [cpu, memory] = [tryParseQuantity(usage.cpu), tryParseQuantity(usage.memory)];
        return cpu && memory
          ? [[name, { nanoCores: Number(cpu.nano), workingSetBytes: Math.round(Number(memory.nano) / 1e9) }] as const]
          : [];
      });
      return [[`${metadata.namespace}/${metadata.name}`, { time: timestamp, windowMs, containers: new Map(usages) }] as const];
    }),
  );
}

function millisecondsOf(duration: string): number | undefined {
  const [whole, hours = "0", minutes = "0", seconds = "0"] = durationPattern.exec(duration) ?? [];
  return whole ? ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000 : undefined;
}
