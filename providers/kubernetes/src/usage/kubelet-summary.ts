import type { PodStats } from "@virtual-kubelet/core";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import { z } from "zod";

/** A field that a kubelet leaves out, or writes as null. */
function maybe<T extends z.ZodType>(schema: T): z.ZodType<z.output<T> | undefined> {
  return schema.nullish().transform((value) => value ?? undefined);
}

const amount = maybe(z.number().nonnegative());
const time = z.string().min(1);

const pressure = z.object({ total: z.number(), avg10: z.number(), avg60: z.number(), avg300: z.number() });
const psi = maybe(z.object({ full: pressure, some: pressure }));

const cpu = maybe(z.object({ time, usageNanoCores: amount, usageCoreNanoSeconds: amount, psi }));
const memory = maybe(
  z.object({
    time,
    availableBytes: amount,
    usageBytes: amount,
    workingSetBytes: amount,
    rssBytes: amount,
    pageFaults: amount,
    majorPageFaults: amount,
    psi,
  }),
);
const io = maybe(z.object({ time, psi }));
const swap = maybe(z.object({ time, swapAvailableBytes: amount, swapUsageBytes: amount }));
const fsFields = {
  time,
  availableBytes: amount,
  capacityBytes: amount,
  usedBytes: amount,
  inodesFree: amount,
  inodes: amount,
  inodesUsed: amount,
};
const fs = maybe(z.object(fsFields));
const interfaceFields = { name: maybe(z.string()), rxBytes: amount, rxErrors: amount, txBytes: amount, txErrors: amount };

const podSchema: z.ZodType<PodStats> = z.object({
  podRef: z.object({ name: z.string(), namespace: z.string(), uid: z.string().min(1) }),
  startTime: time,
  containers: z
    .array(z.object({ name: z.string().min(1), startTime: time, cpu, memory, swap, io, rootfs: fs, logs: fs }))
    .nullish()
    .transform((containers) => containers ?? []),
  cpu,
  memory,
  swap,
  io,
  network: maybe(z.object({ time, ...interfaceFields, interfaces: maybe(z.array(z.object(interfaceFields))) })),
  volume: maybe(
    z.array(z.object({ name: z.string().min(1), pvcRef: maybe(z.object({ name: z.string(), namespace: z.string() })), ...fsFields })),
  ),
  "ephemeral-storage": fs,
  process_stats: maybe(z.object({ process_count: amount })),
});

/**
 * Reads the pods of a kubelet's `/stats/summary`, by UID. A pod whose figures are not as expected is left out.
 *
 * @throws UnavailableError if the answer is no summary
 */
export function readKubeletSummary(answer: unknown): ReadonlyMap<string, PodStats> {
  const summary = z.object({ pods: z.array(z.unknown()).nullish() }).safeParse(answer);
  if (!summary.success || !Object.hasOwn(Object(answer), "pods"))
    throw new UnavailableError("the answer is not the summary of a kubelet: it has no pods");
  return new Map(
    (summary.data.pods ?? []).flatMap((pod) => {
      const { data } = podSchema.safeParse(pod);
      return data === undefined ? [] : [[data.podRef.uid, data] as const];
    }),
  );
}
