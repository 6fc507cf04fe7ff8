import { UnavailableError } from "@virtual-kubelet/errdefs";
import { listAll, resources, type DeepReadonly, type ObjectMeta, type Pod } from "@virtual-kubelet/kube-client";
import type { FarNode } from "../far/far-node.ts";
import { isOwnCopy } from "../identity/own-copy.ts";
import { isOwnedBy, ownerSelector } from "../identity/tags.ts";
import { keyOf, type FarObject } from "./far-object.ts";
import { usedObjects } from "./used-objects.ts";

/** Name of a far object. */
export type FarName = Pick<FarObject, "kind" | "namespace" | "name">;

export interface LeftoversOptions {
  readonly node: Pick<FarNode, "far" | "host" | "owner">;
  /** Metadata of the far objects with the node's labels, as the watch shows them. */
  listed(): Iterable<{ readonly kind: FarObject["kind"]; readonly metadata: DeepReadonly<ObjectMeta> | undefined }>;
  /** Whether the watches follow the far cluster now. */
  isCurrent(): boolean;
  /** Whether this program looks after the object. */
  isKnown(key: string): boolean;
  remove(object: FarName, signal: AbortSignal): Promise<void>;
}

/** Time for which an object has to be nobody's before it is removed. */
const graceMs = 300_000;

/** Maximum number of objects that one sweep removes: an answer may be wrong. */
const maxPerSweep = 50;

/** Removes what earlier programs have left: copies, and secrets of pods, that no far pod uses. */
export class Leftovers {
  readonly #options: LeftoversOptions;
  readonly #sinceMs = new Map<string, number>();

  constructor(options: LeftoversOptions) {
    this.#options = options;
  }

  /**
   * Removes what has been nobody's for five minutes, if the far API server confirms it now.
   *
   * @throws UnavailableError if the far API server's answers contradict each other
   */
  async sweep(signal: AbortSignal): Promise<void> {
    const { isCurrent, isKnown, node, remove } = this.#options;
    if (!isCurrent() || !node.far.isCurrent) return;
    const due = this.#due().slice(0, maxPerSweep);
    for (const namespace of new Set(due.map((object) => object.namespace))) {
      const used = await this.#usedIn(namespace, signal);
      for (const object of due) {
        const key = keyOf(object);
        if (object.namespace !== namespace || used.has(key) || isKnown(key)) continue;
        await remove(object, signal);
        node.host.logger.info({ object: key }, "removed a copy that no far pod uses any more");
      }
    }
  }

  #due(): readonly FarName[] {
    const { isKnown, listed, node } = this.#options;
    const nowMs = node.host.clock.monotonic();
    const found = new Map<string, FarName>();
    for (const { kind, metadata } of listed()) {
      const { namespace = "", name = "" } = metadata ?? {};
      const object = { kind, namespace, name };
      const isLeft = metadata?.deletionTimestamp === undefined && isOwnCopy(kind, metadata, node.owner);
      if (isLeft && !isKnown(keyOf(object))) found.set(keyOf(object), object);
    }
    for (const key of this.#sinceMs.keys()) if (!found.has(key)) this.#sinceMs.delete(key);
    for (const key of found.keys()) if (!this.#sinceMs.has(key)) this.#sinceMs.set(key, nowMs);
    return [...found].flatMap(([key, object]) => (nowMs - (this.#sinceMs.get(key) ?? nowMs) >= graceMs ? [object] : []));
  }

  /** Keys of everything that the node's far pods use, by a list of now. */
  async #usedIn(namespace: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const { far, owner } = this.#options.node;
    const live = await listAll(far.connection.client, resources.pods, { namespace, labelSelector: ownerSelector(owner) }, { signal });
    const known = [...far.pods.list()].filter((pod) => pod.metadata?.namespace === namespace && isOwnedBy(pod.metadata, owner));
    if (live.length === 0 && known.length > 0)
      throw new UnavailableError(
        `the far API server lists no pods in namespace ${namespace}, but its watch shows ${known.length}; nothing is removed`,
      );
    return new Set([...live, ...known].flatMap((pod: DeepReadonly<Pod>) => [...usedObjects(pod)]));
  }
}
