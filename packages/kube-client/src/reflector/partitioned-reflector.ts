import { isForbidden, messageOf } from "@virtual-kubelet/errdefs";
import type { ListQuery } from "../rest/client.ts";
import { pageSize } from "../rest/list-all.ts";
import type { DeepReadonly, KubernetesObject } from "../rest/objects.ts";
import { PageTokens } from "../rest/page-tokens.ts";
import type { Logger } from "../telemetry/logger.ts";
import { backoffMs, type Backoff } from "../work-queue/backoff.ts";
import { ObjectPreparation } from "./object-preparation.ts";
import type { ObjectSink } from "./object-sink.ts";
import type { ObjectWatch } from "./object-watch.ts";
import { Partition } from "./partition.ts";
import { Reflector, type ReflectorOptions } from "./reflector.ts";

/** Back-off of the list of a partition that joins while others are followed already. */
const listBackoff: Backoff = { initialMs: 800, maxMs: 30_000 };

/** Options of {@link PartitionedReflector}. */
export interface PartitionedReflectorOptions<T extends KubernetesObject> extends ReflectorOptions<T> {
  /** The key that an object belongs to, which never changes; `undefined` if none. */
  readonly keyOf: (object: DeepReadonly<T>) => string | undefined;
  /** Selects the objects of one key. */
  readonly queryOf: (key: string) => Pick<ListQuery, "namespace" | "labelSelector" | "fieldSelector">;
  /** Time in milliseconds for which the shared watch goes on without partitions, in case one joins again. Default: 0. */
  readonly lingerMs?: number | undefined;
}

/** An {@link ObjectWatch} that follows the server before it is run. */
export interface EarlyWatch<T extends KubernetesObject> extends ObjectWatch<T> {
  /** Lets `run` list the objects anew, because what was followed before may be late; `synced` then waits for that list. */
  expire(): void;
}

/**
 * One list and watch for many readers that each need the objects of one key, such as the pods of one node. Objects of other keys are dropped
 * as soon as they are parsed. It runs while there is a partition, and for {@link PartitionedReflectorOptions.lingerMs} afterwards. If the server
 * refuses the shared watch and allows that of one key, each partition gets a reflector of its own.
 */
export class PartitionedReflector<T extends KubernetesObject> implements Disposable {
  readonly #options: PartitionedReflectorOptions<T>;
  readonly #logger: Logger;
  readonly #partitions = new Map<string, Partition<T>>();
  readonly #preparation: ObjectPreparation<T>;
  readonly #sink: ObjectSink<T> = this.#newSink();
  #shared: { readonly reflector: Reflector<T>; readonly stop: AbortController } | undefined;
  /** Progress of the shared list. */
  #list: "none" | "running" | "complete" = "none";
  /** Whether the shared watch was refused, and the one of a single key was not. */
  #isRefused = false;
  #isAsking = false;
  /** Ends the shared watch some time after the last partition has left. */
  #linger: Disposable | undefined;
  #lingerMs: number;

  constructor(options: PartitionedReflectorOptions<T>) {
    this.#options = options;
    this.#lingerMs = options.lingerMs ?? 0;
    this.#logger = options.logger.child({ resource: options.resource.plural });
    this.#preparation = new ObjectPreparation({ ...options, sink: this.#sink });
  }

  /** Number of partitions. */
  get size(): number {
    return this.#partitions.size;
  }

  /**
   * Follows the objects of a key from now on; disposing of the result ends that.
   *
   * @throws Error if the key is followed already
   */
  join(key: string): EarlyWatch<T> & Disposable {
    const { metrics, resource } = this.#options;
    if (this.#partitions.has(key)) throw new Error(`follow ${resource.plural} of ${key}: they are followed already`);
    this.#stopLingering();
    const running = this.#shared;
    const shared = (this.#shared ??= this.#newShared());
    const partition = new Partition<T>(key, {
      logger: this.#logger,
      metrics,
      source: shared.reflector,
      onLeave: () => this.#leave(partition),
      onRenew: () => this.#renew(partition),
    });
    this.#partitions.set(key, partition);
    if (this.#isRefused) this.#separate(partition);
    else if (!running) void this.#run(shared);
    // A list that has not begun will have its objects, and one under way may have passed them.
    else if (this.#list === "complete") void this.#listOne(partition);
    return partition;
  }

  /** Ends the shared watch as soon as there is no partition, without lingering. */
  [Symbol.dispose](): void {
    this.#lingerMs = 0;
    if (this.#partitions.size === 0) this.#end();
  }

  #newSink(): ObjectSink<T> {
    const partitions = this.#partitions;
    return {
      get size(): number {
        let size = 0;
        for (const { objects } of partitions.values()) size += objects.size;
        return size;
      },
      accepts: (object) => this.#partitionOf(object) !== undefined,
      heldOf: (object) => this.#partitionOf(object)?.objects.heldOf(object),
      begin: () => {
        this.#list = "running";
        for (const partition of partitions.values()) partition.begin();
      },
      put: (object) => this.#partitionOf(object)?.apply("put", object),
      remove: (object) => this.#partitionOf(object)?.apply("remove", object),
      replace: (objects, isSame) => this.#replace(objects, isSame),
    };
  }

  #partitionOf(object: DeepReadonly<T>): Partition<T> | undefined {
    const key = this.#options.keyOf(object);
    return key === undefined ? undefined : this.#partitions.get(key);
  }

  #replace(objects: Iterable<DeepReadonly<T>>, isSame: Parameters<ObjectSink<T>["replace"]>[1]): number {
    this.#list = "complete";
    const byPartition = Map.groupBy(objects, (object) => this.#partitionOf(object));
    let changes = 0;
    for (const partition of this.#partitions.values()) {
      if (partition.isListed) changes += partition.replace(byPartition.get(partition) ?? [], isSame);
      else void this.#listOne(partition);
    }
    return changes;
  }

  #newShared(): { readonly reflector: Reflector<T>; readonly stop: AbortController } {
    this.#list = "none";
    const stop = new AbortController();
    const onFailure = (error: unknown): void => {
      if (isForbidden(error) && !this.#isAsking) void this.#onRefused(error, stop.signal);
    };
    return { stop, reflector: new Reflector<T>({ ...this.#options, sink: this.#sink, onFailure }) };
  }

  async #run({ reflector, stop }: { readonly reflector: Reflector<T>; readonly stop: AbortController }): Promise<void> {
    try {
      await reflector.run(stop.signal);
    } catch (error) {
      stop.abort(error);
      if (this.#partitions.size === 0) this.#end();
      for (const partition of this.#partitions.values()) partition.fail(error);
    }
  }

  #leave(partition: Partition<T>): void {
    this.#partitions.delete(partition.key);
    if (this.#partitions.size > 0) return;
    // A shared watch that failed or was refused is begun anew.
    if (this.#lingerMs === 0 || this.#shared?.stop.signal.aborted) this.#end();
    else this.#linger = this.#options.clock.setTimer(this.#lingerMs, () => this.#end());
  }

  /** What begins now does not wait for what failed without partitions, as it would not with a new shared watch. */
  #stopLingering(): void {
    if (!this.#linger) return;
    this.#linger[Symbol.dispose]();
    this.#linger = undefined;
    this.#shared?.reflector.wake();
  }

  #end(): void {
    this.#linger?.[Symbol.dispose]();
    this.#linger = undefined;
    this.#shared?.stop.abort();
    this.#shared = undefined;
    // The right may have been granted meanwhile.
    this.#isRefused = false;
  }

  #renew(partition: Partition<T>): void {
    if (this.#isRefused) this.#separate(partition);
    // The end of a list that is under way lists it, and one that has not begun will have its objects.
    else if (this.#list === "complete") void this.#listOne(partition);
  }

  /** Lists the objects of a partition that joined while others were followed already. */
  async #listOne(partition: Partition<T>): Promise<void> {
    const { clock, random } = this.#options;
    const signal = partition.startListing();
    for (let failures = 1; !signal.aborted; failures++) {
      const followed = this.#shared?.reflector.version;
      try {
        const { objects, version } = await this.#read(partition.key, signal);
        if (signal.aborted) return;
        this.#compare(followed, version);
        partition.finishListing(objects, version);
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#logger.warn({ key: partition.key, err: messageOf(error) }, "list failed; trying again");
        await clock.sleep(backoffMs(listBackoff, failures, random), signal).catch(() => {});
      }
    }
  }

  /** A list is never older than what was followed before it, unless the server was restored from a backup. */
  #compare(followed: string | undefined, listed: string): void {
    const { history, resource } = this.#options;
    const series = `the list of ${resource.plural}`;
    history?.note(followed, series);
    history?.note(listed, series);
    history?.forget(series);
  }

  async #read(key: string, signal: AbortSignal): Promise<{ readonly objects: readonly T[]; readonly version: string }> {
    const { client, resource, queryOf, content: answer } = this.#options;
    const tokens = new PageTokens(`list ${resource.plural}`);
    const objects: T[] = [];
    let version: string | undefined;
    let next: string | undefined;
    do {
      const page = await client.list(resource, { ...queryOf(key), limit: pageSize, continue: next }, { signal, answer });
      for (const object of page.items) this.#preparation.prepare(object, true);
      objects.push(...page.items);
      version ??= page.resourceVersion;
      tokens.add(page.continue);
      next = page.continue;
    } while (next !== undefined);
    return { objects, version };
  }

  /** Separates the partitions if one of them is allowed what is refused to all together. A server that refuses everything may be starting. */
  async #onRefused(refusal: unknown, signal: AbortSignal): Promise<void> {
    const { client, resource, query, queryOf } = this.#options;
    const [partition] = this.#partitions.values();
    if (!partition) return;
    const ask = (what: typeof query): Promise<unknown> => client.list(resource, { ...what, limit: 1 }, { signal });
    this.#isAsking = true;
    try {
      await ask(queryOf(partition.key));
      // Both may have been refused until a moment ago, by a server that had not read the roles yet.
      const isAllowed = await ask(query).then(
        () => true,
        (error: unknown) => !isForbidden(error),
      );
      if (isAllowed || signal.aborted) return;
      this.#isRefused = true;
      this.#logger.warn({ err: messageOf(refusal) }, "the API server refuses one watch for all nodes; each is watched by itself");
      this.#shared?.stop.abort();
      for (const each of this.#partitions.values()) this.#separate(each);
    } catch {
      // The shared watch is tried again.
    } finally {
      this.#isAsking = false;
    }
  }

  /** Gives a partition a reflector of its own. */
  #separate(partition: Partition<T>): void {
    const query = this.#options.queryOf(partition.key);
    const reflector = new Reflector<T>({ ...this.#options, logger: this.#logger, query, pool: "quiet", sink: partition.objects });
    const signal = partition.separate(reflector);
    reflector.run(signal).catch((error: unknown) => partition.fail(error));
    reflector.synced.then(
      () => !signal.aborted && partition.complete(),
      () => {},
    );
  }
}
