import type { Logger, Metrics } from "@virtual-kubelet/core";

/** Kinds of Nomad's objects that the provider reads. */
export type ObjectKind = "job" | "allocation" | "evaluation" | "event" | "node" | "stats";

/** Maximum number of objects that are remembered as named, so that memory stays bounded. */
const maxNamed = 1000;

/** Names each object that the provider skips once, in the log and in the counter `vk_nomad_skipped_objects_total`. */
export class SkippedObjects {
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  readonly #named = new Set<string>();

  constructor({ logger, metrics }: { readonly logger: Logger; readonly metrics: Metrics }) {
    this.#logger = logger;
    this.#metrics = metrics;
  }

  /** @param why - what is wrong with the object, and what to do about it */
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
