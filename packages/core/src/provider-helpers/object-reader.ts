import type { Logger, Metrics } from "@virtual-kubelet/kube-client";
import type { ConfigSchema } from "../provider/provider-definition.ts";

/** Maximum number of reported objects, so that memory stays bounded; further ones are not reported. */
const maxNamed = 1000;
/** Maximum number of reported reasons of one object until it is valid again. */
const maxReasons = 8;
/** Maximum lengths in characters, because users of the back end control both. A reason may hold a pod's namespace and name. */
const maxId = 200;
const maxReason = 500;

/** What an {@link ObjectReader} needs. */
export interface ObjectReaderOptions {
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The back end's name, such as `Nomad`. */
  readonly backEnd: string;
  /** Counts a skipped object. Default: counts `vk_BACKEND_skipped_objects_total`, with the name in lower case and the label `kind`. */
  readonly countSkipped?: ((kind: string) => void) | undefined;
  /** Returns the ID of an object that may be otherwise unreadable. */
  readonly idOf: (value: unknown) => string | undefined;
}

/**
 * Reads a back end's objects by their schemas. An invalid object is skipped, and reported once for each reason until it is valid again,
 * in the log and in the counter `vk_BACKEND_skipped_objects_total`; other objects of a list are not affected. At most 1,000 objects are
 * reported, each with at most 8 reasons, so that neither the log nor memory grows without bounds.
 *
 * @typeParam Kind - kinds of objects, which the log and the counter's label `kind` use
 */
export class ObjectReader<Kind extends string> {
  readonly #options: ObjectReaderOptions;
  /** Reported reasons by object: those of the schemas, and those of {@link skip}. */
  readonly #unread = new Map<string, Set<string>>();
  readonly #skipped = new Map<string, Set<string>>();
  #isFull = false;

  constructor(options: ObjectReaderOptions) {
    this.#options = options;
  }

  /**
   * Reads an object. The schema is of any version of zod, or has the same `safeParse`.
   *
   * @param id - default: the object's own
   * @returns `undefined` for an object that is skipped
   */
  read<T>(
    kind: Kind,
    schema: Pick<ConfigSchema<T>, "safeParse">,
    value: unknown,
    id: string = this.#options.idOf(value) ?? "without an ID",
  ): T | undefined {
    const parsed = schema.safeParse(value);
    if (parsed.success) {
      this.#forget(this.#unread, kind, id);
      return parsed.data;
    }
    this.#name(this.#unread, kind, id, problemOf(parsed.error));
    return undefined;
  }

  /**
   * Skips an object.
   *
   * @param why - the problem of the object, and its solution
   */
  skip(kind: Kind, id: string, why: string): void {
    this.#name(this.#skipped, kind, id, why);
  }

  /** Marks an object as valid, so that later problems are reported again. */
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
    const { logger, metrics, backEnd, countSkipped } = this.#options;
    if (countSkipped) countSkipped(kind);
    else metrics.count(`vk_${backEnd.toLowerCase()}_skipped_objects_total`, { kind });
    logger.warn({ [kind]: cut(id, maxId), why }, `an object of ${backEnd} is skipped`);
  }

  /** Reports once, until an object is valid again, that further objects are not reported. */
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

/** Returns the first problem, without the value, which may be a secret. */
export function problemOf({
  issues: [issue],
}: {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
}): string {
  const path = issue?.path.map(String).join(".") || "it";
  return `${path}: ${issue?.message ?? "cannot be read"}`;
}
