import type { ContainerStats, PodRef, PodStats } from "@virtual-kubelet/core";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { request } from "node:http";
import { z } from "zod";
import type { GroupMember } from "../azure/group-schema.ts";
import { timeOf } from "../status/container-state.ts";

/** Port of Azure's realtime-metrics extension. Source: azure-aci v1.6.4 pkg/metrics/real_time.go. */
const port = 18_899;
/** Maximum size of an answer: a pod's figures are some kilobytes. */
const maxBytes = 1024 * 1024;

/** Processor time of a container or a pod. */
interface CpuFigures {
  readonly usageCoreNanoSeconds?: number | null | undefined;
}

/** Memory of a container or a pod, in bytes. */
interface MemoryFigures {
  readonly usageBytes?: number | null | undefined;
  readonly workingSetBytes?: number | null | undefined;
  readonly rssBytes?: number | null | undefined;
}

interface UsageFigures {
  readonly cpu?: CpuFigures | null | undefined;
  readonly memory?: MemoryFigures | null | undefined;
}

/** Figures of the extension. */
export interface RealTimeAnswer extends UsageFigures {
  /** Nanoseconds since the epoch. */
  readonly timestamp: number;
  readonly containers?: readonly (UsageFigures & { readonly name: string })[] | null | undefined;
  readonly network?:
    | {
        readonly name?: string | null | undefined;
        readonly rxBytes?: number | null | undefined;
        readonly rxErrors?: number | null | undefined;
        readonly txBytes?: number | null | undefined;
        readonly txErrors?: number | null | undefined;
      }
    | null
    | undefined;
}

const count = z.number().min(0);
const usage = {
  cpu: z.looseObject({ usageCoreNanoSeconds: count.nullish() }).nullish(),
  memory: z.looseObject({ usageBytes: count.nullish(), workingSetBytes: count.nullish(), rssBytes: count.nullish() }).nullish(),
};
const traffic = { rxBytes: count.nullish(), rxErrors: count.nullish(), txBytes: count.nullish(), txErrors: count.nullish() };

const answerSchema: z.ZodType<RealTimeAnswer> = z.looseObject({
  timestamp: count,
  containers: z.array(z.looseObject({ name: z.string(), ...usage })).nullish(),
  ...usage,
  network: z.looseObject({ name: z.string().nullish(), ...traffic }).nullish(),
});

/** Reads a pod's figures from its extension. */
export type ReadRealTime = (address: string, signal: AbortSignal) => Promise<RealTimeAnswer>;

/** Reads figures over HTTP. @throws UnavailableError; `signal.reason` */
export const readRealTime: ReadRealTime = async (address, signal) => {
  const host = address.includes(":") ? `[${address}]` : address;
  const url = `http://${host}:${port}/v1/stats`;
  let content: unknown;
  try {
    content = JSON.parse(await readText(url, signal));
  } catch (error) {
    signal.throwIfAborted();
    throw new UnavailableError(`read ${url}`, { cause: error });
  }
  const parsed = answerSchema.safeParse(content);
  if (!parsed.success)
    throw new UnavailableError(`read ${url}: the figures are not as expected: ${parsed.error.issues[0]?.path.join(".")}`);
  return parsed.data;
};

function readText(url: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    // Readings are seconds apart, so that a connection is not kept.
    const call = request(url, { agent: false, signal, timeout: 5_000 }, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        chunks.push(chunk);
        if (size > maxBytes) call.destroy(new Error(`more than ${maxBytes} bytes`));
      });
      response.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
      response.on("error", reject);
    });
    call.on("timeout", () => call.destroy(new Error("no answer within 5 s")));
    call.on("error", reject);
    call.end();
  });
}

/** Translates figures of the extension. Containers of Azure's own are left out. */
export function realTimeStats(ref: PodRef, members: readonly GroupMember[], { timestamp, ...figures }: RealTimeAnswer): PodStats {
  const time = new Date(timestamp / 1e6).toISOString();
  const startedAt = new Map(members.map(({ name, properties }) => [name, properties.instanceView?.currentState?.startTime]));
  const containers = (figures.containers ?? []).flatMap((container): ContainerStats[] => {
    if (!startedAt.has(container.name)) return [];
    const startTime = startedAt.get(container.name);
    return [{ name: container.name, startTime: startTime ? timeOf(startTime) : time, ...figuresOf(container, time) }];
  });
  const { name, rxBytes, rxErrors, txBytes, txErrors } = figures.network ?? {};
  return {
    podRef: ref,
    startTime: containers[0]?.startTime ?? time,
    containers,
    ...figuresOf(figures, time),
    ...(figures.network && {
      network: {
        time,
        name: name ?? "eth0",
        rxBytes: rxBytes ?? undefined,
        rxErrors: rxErrors ?? undefined,
        txBytes: txBytes ?? undefined,
        txErrors: txErrors ?? undefined,
      },
    }),
  };
}

function figuresOf(figures: UsageFigures, time: string): Pick<ContainerStats, "cpu" | "memory"> {
  const core = figures.cpu?.usageCoreNanoSeconds;
  const { usageBytes, workingSetBytes, rssBytes } = figures.memory ?? {};
  return {
    ...(core != null && { cpu: { time, usageCoreNanoSeconds: core } }),
    ...(figures.memory && {
      memory: { time, usageBytes: usageBytes ?? undefined, workingSetBytes: workingSetBytes ?? undefined, rssBytes: rssBytes ?? undefined },
    }),
  };
}
