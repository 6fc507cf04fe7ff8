import type { Logger, Metrics } from "@virtual-kubelet/kube-client";
import type { z } from "zod";

/** Maximum number of objects that are remembered as named, so that memory stays bounded; further ones are not named. */
const maxNamed = 1000;
/** Maximum number of reasons that are named of one object until it is good again. */
const maxReasons = 8;
/** Maximum lengths in characters, because the back end's users write both. A reason may hold a pod's namespace and name. */
const maxId = 200;
const maxReason = 500;

/** What an {@link ObjectReader} needs. */
export interface ObjectReaderOptions {
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The back end's name for people, such as `Nomad`; in small letters it is part of the counter's name. */
  readonly backEnd: string;
  /** The ID of an object of which nothing else may be readable. */
  readonly idOf: (value: unknown) => string | undefined;
}

/**
 * Reads a back end's objects by their schemas. One that cannot be read is skipped, and named once for each reason until it is good again,
 * in the log and in the counter `vk_BACKEND_skipped_objects_total`; the others of a list are read all the same. At most 1,000 objects are
 * named at once, each with at most 8 reasons, so that neither the log nor memory grows without end.
 *
 * @typeParam Kind - the kinds of objects, as the log and the counter's label `kind` name them
 */
export class ObjectReader<Kind extends string> {
  readonly #options: ObjectReaderOptions;
  /** Reasons that were named, by object: those of the schemas, and those of {@link skip}. */
  readonly #unread = new Map<string, Set<string>>();
  readonly #skipped = new Map<string, Set<string>>();
  #isFull = false;

  constructor(options: ObjectReaderOptions) {
    this.#options = options;
  }

  /** @param id - default: the object's own. @returns `undefined` for an object that is skipped */
  read<T>(kind: Kind, schema: z.ZodType<T>, value: unknown, id: string = this.#options.idOf(value) ?? "without an ID"): T | undefined {
    const { success, data, error } = schema.safeParse(value);
    if (success) {
      this.#forget(this.#unread, kind, id);
      return data;
    }
    this.#name(this.#unread, kind, id, problemOf(error));
    return undefined;
  }

  /**
   * Skips an object.
   *
   * @param why - what is wrong with the object, and what to do about it
   */
  skip(kind: Kind, id: string, why: string): void {
    this.#name(this.#skipped, kind, id, why);
  }

  /** An object is good: what is wrong with it later is named again. */
  accept(kind: Kind, id: string): void {
    this.#forget(this.#skipped, kind, id);
  }

  #name(named: Map<string, Set<string>>, kind: Kind, id: string, reason: string): void {
    const key = keyOf(kind, id);
    const why = cut(reason, maxReason);
    const reasons = named.get(key);
    if (!reasons && named.size >= maxNamed) return this.#nameFull();
    if (reasons && (reasons.has(why) || reasons.size >= maxReasons)) return;
    const isKnown = [this.#unread, this.#skipped].some((each) => each.get(key)?.has(why));
    named.set(key, (reasons ?? new Set()).add(why));
    if (isKnown) return;
    const { logger, metrics, backEnd } = this.#options;
    metrics.count(`vk_${backEnd.toLowerCase()}_skipped_objects_total`, { kind });
    logger.warn({ [kind]: cut(id, maxId), why }, `an object of ${backEnd} is skipped`);
  }

  /** Says once, until an object is good again, that there are more objects than are named. */
  #nameFull(): void {
    if (this.#isFull) return;
    this.#isFull = true;
    this.#options.logger.warn({ named: maxNamed }, `more objects of ${this.#options.backEnd} are skipped; the others are not named`);
  }

  #forget(named: Map<string, Set<string>>, kind: Kind, id: string): void {
    if (named.delete(keyOf(kind, id))) this.#isFull = false;
  }
}

function keyOf(kind: string, id: string): string {
  return `${kind} ${cut(id, maxId)}`;
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/** The first thing that is wrong, without the value: it may be a secret. */
export function problemOf({ issues: [issue] }: z.ZodError): string {
  const path = issue?.path.map(String).join(".") || "it";
  return `${path}: ${issue?.message ?? "cannot be read"}`;
}
