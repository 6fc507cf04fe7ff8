import * as core from "@virtual-kubelet/core";
import { z } from "zod";

/** Kinds of Nomad's objects that the provider reads. */
export type ObjectKind = "job" | "allocation" | "evaluation" | "event" | "node" | "stats" | "variable";

/** Reads Nomad's objects by their schemas; those that are skipped are counted in `vk_nomad_skipped_objects_total`. */
export class ObjectReader extends core.ObjectReader<ObjectKind> {
  constructor({ logger, metrics }: Pick<core.ObjectReaderOptions, "logger" | "metrics">) {
    super({ logger, metrics, backEnd: "Nomad", idOf });
  }
}

const idSchema = z.object({ ID: z.string() });

/** The ID of an object of which nothing else may be readable. */
export function idOf(value: unknown): string | undefined {
  return idSchema.safeParse(value).data?.ID;
}
