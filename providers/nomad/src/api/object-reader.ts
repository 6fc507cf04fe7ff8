import type { Logger, Metrics } from "@virtual-kubelet/core";
import { z } from "zod";

/** Kinds of Nomad's objects that the provider reads. */
export type ObjectKind = "job" | "allocation" | "evaluation" | "event" | "node" | "stats" | "variable";

/** Maximum number of objects that are remembered as named, so that memory stays bounded. */
const maxNamed = 1000;

/**
 * Reads Nomad's objects by their schemas. One that cannot be read is skipped, and named once, in the log and in the counter
 * `vk_nomad_skipped_objects_total`; the others of a list are read all the same.
 */
export class ObjectReader {
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  readonly #named = new Set<string>();

  constructor({ logger, metrics }: { readonly logger: Logger; readonly metrics: Metrics }) {
    this.#logger = logger;
    this.#metrics = metrics;
  }

  /** @param id - default: the object's own. @returns `undefined` for an object that is skipped */
  read<T>(kind: ObjectKind, schema: z.ZodType<T>, value: unknown, id: string = idOf(value) ?? "without an ID"): T | undefined {
    const { success, data, error } = schema.safeParse(value);
    if (success) return data;
    this.skip(kind, id, problemOf(error));
    return undefined;
  }

  /**
   * Skips an object.
   *
   * @param why - what is wrong with the object, and what to do about it
   */
  skip(kind: ObjectKind, id: string, why: string): void {
    const name = `${kind} ${id}: ${why}`;
    if (this.#named.has(name)) return;
    this.#named.add(name);
    const [oldest] = this.#named;
    if (this.#named.size > maxNamed && oldest !== undefined) this.#named.delete(oldest);
    this.#metrics.count("vk_nomad_skipped_objects_total", { kind });
    this.#logger.warn({ [kind]: id, why }, "an object of Nomad is skipped");
  }
}

const idSchema = z.object({ ID: z.string() });

/** The ID of an object of which nothing else may be readable. */
export function idOf(value: unknown): string | undefined {
  return idSchema.safeParse(value).data?.ID;
}

/** The first thing that is wrong, without the value: it may be a secret. */
export function problemOf({ issues: [issue] }: z.ZodError): string {
  const path = issue?.path.map(String).join(".") || "it";
  return `${path}: ${issue?.message ?? "cannot be read"}`;
}
