import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { z } from "zod";
import { tagAnnotations } from "../identity/tags.ts";

/**
 * What a far pod has from its home pod, kept in an annotation of the far pod. So a restart of the program knows which labels and annotations
 * may be removed, and that an image which differs was changed by the far cluster and not at home.
 */
export interface CarriedRecord {
  /** Keys in the far pod. */
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
  /** Images at home by container. */
  readonly images: Readonly<Record<string, string>>;
}

const recordSchema: z.ZodType<CarriedRecord> = z.object({
  labels: z.array(z.string()),
  annotations: z.array(z.string()),
  images: z.record(z.string(), z.string()),
});

/** Returns the record as the value of its annotation. */
export function recordText(
  home: DeepReadonly<Pod>,
  carried: { readonly labels: Readonly<Record<string, string>>; readonly annotations: Readonly<Record<string, string>> },
): string {
  const { containers = [], initContainers = [] } = home.spec ?? {};
  const record: CarriedRecord = {
    labels: Object.keys(carried.labels).sort(),
    annotations: Object.keys(carried.annotations).sort(),
    images: Object.fromEntries([...initContainers, ...containers].map(({ name, image = "" }) => [name, image])),
  };
  return JSON.stringify(record);
}

/** Reads the record of a far pod; `undefined` if there is none, or somebody has damaged it. */
export function readRecord({ metadata }: DeepReadonly<Pod>): CarriedRecord | undefined {
  try {
    return recordSchema.safeParse(JSON.parse(metadata?.annotations?.[tagAnnotations.carried] ?? "null")).data;
  } catch {
    return undefined;
  }
}
