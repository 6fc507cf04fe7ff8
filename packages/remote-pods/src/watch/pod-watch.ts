import { Signal } from "@virtual-kubelet/async";
import type { ProviderHost } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import { isDeepStrictEqual } from "node:util";
import type { RemoteBackend } from "../backend/remote-backend.ts";
import type { PodCreator } from "../pods/pod-creator.ts";
import type { PodEndings } from "../pods/pod-endings.ts";
import type { Listing, PodFinder } from "../pods/pod-finder.ts";
import type { PodTable } from "../pods/pod-table.ts";
import { identityOf, objectOf, type PodState } from "../state/pod-state.ts";
import { LeftoverSweep } from "./leftover-sweep.ts";
import { LookPlan } from "./look-plan.ts";
import { NextObjects } from "./next-objects.ts";
import { ParallelTasks } from "./parallel-tasks.ts";
import { ReportedIds } from "./reported-ids.ts";
import { isChanging } from "./schedule.ts";

/** Longest delay between attempts to list while the back end fails. */
const longestFailureMs = 60_000;
/** Lists of an unchanging node are this many times rarer. */
const stableFactor = 6;
/** Lists of a back end that reports changes by itself are this many times rarer again. */
const watchedFactor = 4;
/** Batches of descriptions that are under way at the same time. */
const batchesAtOnce = 16;
/** A batch that is under way for longer no longer counts, so that calls that hang do not hold up those of other pods. */
const slowBatchMs = 5_000;
const watchRetryMs = 5_000;

export interface PodWatchOptions<Request, Remote, Memory> {
  readonly backend: RemoteBackend<Request, Remote, Memory>;
  readonly table: PodTable<Remote, Memory>;
  readonly finder: PodFinder<Request, Remote, Memory>;
  readonly creator: PodCreator<Request, Remote, Memory>;
  readonly endings: PodEndings<Request, Remote, Memory>;
  readonly host: Pick<ProviderHost, "clock" | "random" | "logger" | "recordEvent">;
  /** Milliseconds between lists while something changes. */
  readonly pollIntervalMs: number;
  /** Called after each list. */
  readonly onListed?: (() => void) | undefined;
}

/**
 * Follows all pods: one list for all, descriptions of the objects that change or are due, the next step of each deletion, and the next object of
 * each pod that waits for one. All calls of the back end run beside each other, so that one that hangs holds up only the pods that it is about.
 */
export class PodWatch<Request, Remote, Memory> {
  readonly #options: PodWatchOptions<Request, Remote, Memory>;
  readonly #looks: LookPlan<Remote, Memory>;
  readonly #nextObjects: NextObjects<Request, Remote, Memory>;
  readonly #leftovers: LeftoverSweep<Request, Remote, Memory>;
  readonly #versions = new Map<string, string>();
  readonly #unsettled = new Set<string>();
  readonly #reported = new ReportedIds();
  readonly #disposal = new AbortController();
  readonly #wake = new Signal();
  readonly #tasks: ParallelTasks;
  #listDueMs = Number.NEGATIVE_INFINITY;
  #listedMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #isWatched = false;
  #isListing = false;
  #batches = 0;
  #running: Promise<unknown> | undefined;

  constructor(options: PodWatchOptions<Request, Remote, Memory>) {
    this.#options = options;
    const onError = (err: unknown): void => options.host.logger.error({ err }, "following the pods failed; trying again");
    this.#tasks = new ParallelTasks({ signal: this.#disposal.signal, onEnd: () => this.#wake.notify(), onError });
    const { backend, table, pollIntervalMs } = options;
    const { clock, random } = options.host;
    const isUnsettled = (uid: string): boolean => backend.settle !== undefined && this.#unsettled.has(uid);
    this.#looks = new LookPlan({ table, limits: backend.limits, clock, random, pollIntervalMs, isUnsettled });
    this.#nextObjects = new NextObjects(options);
    this.#leftovers = new LeftoverSweep({ ...options, tasks: this.#tasks });
  }

  /** Starts following. */
  start(): void {
    this.#running ??= Promise.all([this.#run(), this.#follow()]);
  }

  /** Looks at a pod soon, because it was changed. */
  lookSoon(uid: string): void {
    this.#looks.lookSoon(uid);
    this.#wake.notify();
  }

  /** Notes what a list shows of objects that will be described after it. */
  noteVersions(ids: readonly string[], versions: Listing["versions"]): void {
    for (const id of ids) {
      const version = versions.get(id);
      if (version !== undefined) this.#versions.set(id, version);
    }
  }

  /** Plans the next look after a pod's state has changed. */
  noteChange(uid: string, after: PodState<Remote, Memory> | undefined, before: PodState<Remote, Memory> | undefined): void {
    if (after && objectOf(after) && objectOf(after)?.id !== objectOf(before)?.id) this.#unsettled.add(uid);
    if (!after || after.kind === "gone") return this.#forget(uid, objectOf(before)?.id);
    // The looks at a pod that is being deleted also take the steps of its deletion.
    if (isAlike(after, before) && after.kind === "present") return this.#looks.postpone(uid);
    if (isAlike(after, before) && this.#looks.has(uid)) return;
    this.#looks.restart(uid);
    const startsToChange = isChanging(after) && !(before && isChanging(before));
    if (startsToChange) this.#listDueMs = Math.min(this.#listDueMs, this.#options.host.clock.monotonic() + this.#options.pollIntervalMs);
    if (startsToChange || after.kind === "waiting") this.#wake.notify();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposal.abort(new Error("the provider is disposed"));
    await this.#running;
    await this.#tasks.ended();
  }

  #forget(uid: string, id: string | undefined): void {
    this.#looks.forget(uid);
    this.#nextObjects.forget(uid);
    this.#unsettled.delete(uid);
    if (id !== undefined) this.#versions.delete(id);
  }

  async #run(): Promise<void> {
    const { clock } = this.#options.host;
    const { signal } = this.#disposal;
    while (!signal.aborted) {
      if (!this.#isListing && clock.monotonic() >= this.#listDueMs) this.#startList();
      this.#startLooks();
      this.#nextObjects.createDue(signal);
      await this.#wake.wait(Math.max(0, this.#nextDueMs() - clock.monotonic()), clock, signal).catch(() => {});
    }
  }

  #startList(): void {
    const { clock } = this.#options.host;
    this.#isListing = true;
    this.#listedMs = clock.monotonic();
    this.#tasks.run(
      (signal) => this.#list(signal),
      () => {
        this.#isListing = false;
        this.#listDueMs = clock.monotonic() + this.#listPauseMs();
        if (this.#reported.isWaiting && this.#failures === 0) this.#listSoon();
      },
    );
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { finder, host, backend, table } = this.#options;
    const reported = this.#reported.take();
    try {
      const listing = await finder.list(signal);
      if (listing.isComplete)
        this.#reported.remember(reported.filter((id) => !table.byId(id) && !listing.unreadable.some((each) => each.id === id)));
      if (this.#failures > 0) host.logger.info({ attempts: this.#failures }, `${backend.name} lists the pods again`);
      this.#failures = 0;
      this.#noteListing(listing);
      this.#options.onListed?.();
      this.#leftovers.startDue(listing);
    } catch (err) {
      signal.throwIfAborted();
      // Logged once for each outage.
      if (this.#failures++ === 0)
        host.logger.warn({ err }, `the pods at ${backend.name} could not be listed; their last known state stays in use`);
    }
  }

  /** Lists shortly, because objects are reported that may be pods; many reports cost one list an interval. */
  #listSoon(): void {
    const { host, pollIntervalMs } = this.#options;
    const soonMs = Math.max(host.clock.monotonic() + this.#looks.firstMs, this.#listedMs + pollIntervalMs);
    this.#listDueMs = Math.min(this.#listDueMs, soonMs);
  }

  /** Marks as due what the list shows as changed, and what it lacks. */
  #noteListing({ listed, versions, unreadable, isComplete }: Listing): void {
    const { table } = this.#options;
    const there = new Set([...listed, ...unreadable.map(({ ref }) => ref.uid)]);
    for (const [uid, state] of table.all()) {
      const id = objectOf(state)?.id;
      if (id === undefined) continue;
      const version = versions.get(id);
      // A description before the first list may be older than that list.
      const isChanged = version !== undefined && this.#versions.get(id) !== version;
      if (version !== undefined) this.#versions.set(id, version);
      const isLost = isComplete && !there.has(uid) && (state.kind === "present" || state.kind === "deleting" || state.kind === "missing");
      const isUndescribed = state.kind === "present" && state.object.observation === undefined;
      if (isChanged || isLost || isUndescribed) this.#looks.lookAgain(uid);
    }
  }

  /** Looks at the pods that are due, in batches that do not wait for each other. */
  #startLooks(): void {
    const { table, backend } = this.#options;
    const { describeBatch } = backend.limits;
    const due = this.#looks.due(this.#freeBatches);
    // A pod without an object needs no description.
    const described = due.filter((uid) => objectOf(table.get(uid)));
    for (let at = 0; at < described.length; at += describeBatch) this.#startBatch(described.slice(at, at + describeBatch));
    for (const uid of due) if (!objectOf(table.get(uid))) this.#startLook(uid, () => this.#afterLook(uid, false));
  }

  #startBatch(uids: readonly string[]): void {
    const { table, finder, host } = this.#options;
    const ids = uids.flatMap((uid) => objectOf(table.get(uid))?.id ?? []);
    const described = finder.describe(ids, this.#disposal.signal);
    this.#batches++;
    const slow = Promise.withResolvers<void>();
    const timer = host.clock.setTimer(slowBatchMs, () => slow.resolve());
    this.#tasks.run(
      () => Promise.race([described.then(() => {}), slow.promise]),
      () => {
        timer[Symbol.dispose]();
        this.#batches--;
      },
    );
    for (const [index, uid] of uids.entries())
      this.#startLook(uid, async () => this.#afterLook(uid, (await described).includes(ids[index] ?? "")));
  }

  #startLook(uid: string, look: () => Promise<void>): void {
    this.#looks.begin(uid);
    this.#tasks.run(look, () => this.#looks.end(uid));
  }

  get #freeBatches(): number {
    return Math.max(0, batchesAtOnce - this.#batches);
  }

  async #afterLook(uid: string, isFailed: boolean): Promise<void> {
    const { table, finder, endings, backend, host } = this.#options;
    const { signal } = this.#disposal;
    const state = table.get(uid);
    try {
      if (state?.kind === "unclear" || (state?.kind === "deleting" && !state.object)) await finder.adopt(state.identity, signal);
      if (table.get(uid)?.kind === "deleting") await endings.step(uid);
      const object = table.objectOf(uid);
      const hasStarted = object?.observation !== undefined && object.observation.progress !== "starting";
      if (hasStarted && this.#unsettled.has(uid) && table.get(uid)?.kind === "present") {
        await backend.settle?.(object, signal);
        this.#unsettled.delete(uid);
      }
    } catch (error) {
      signal.throwIfAborted();
      const { namespace, name } = (state && identityOf(state).ref) ?? {};
      host.logger.warn({ pod: `${namespace}/${name}`, err: messageOf(error) }, "work on a pod failed; trying again");
    }
    if (table.get(uid)) this.#looks.plan(uid, isFailed);
  }

  async #follow(): Promise<void> {
    const { backend, host } = this.#options;
    const { signal } = this.#disposal;
    if (!backend.watch) return;
    while (!signal.aborted) {
      try {
        for await (const id of backend.watch(signal)) {
          this.#isWatched = true;
          this.#onReported(id);
          this.#wake.notify();
        }
      } catch (error) {
        if (!signal.aborted) host.logger.debug({ err: messageOf(error) }, `${backend.name} reports no changes for now; lists show them`);
      }
      this.#isWatched = false;
      await host.clock.sleep(watchRetryMs, signal).catch(() => {});
    }
  }

  #onReported(id: string): void {
    const { table, finder } = this.#options;
    const state = table.byId(id);
    if (state) return this.#looks.lookNow(identityOf(state).ref.uid);
    if (finder.isForeign(id) || !this.#reported.add(id)) return;
    if (!this.#isListing) this.#listSoon();
  }

  #listPauseMs(): number {
    const { pollIntervalMs, table, host } = this.#options;
    const jitter = 0.8 + host.random.next() * 0.4;
    if (this.#failures > 0) return Math.min(pollIntervalMs * 2 ** Math.min(this.#failures, 10), longestFailureMs) * jitter;
    const isBusy = [...table.all()].some(([, state]) => isChanging(state));
    return pollIntervalMs * jitter * (isBusy ? 1 : stableFactor * (this.#isWatched ? watchedFactor : 1));
  }

  #nextDueMs(): number {
    const listDueMs = this.#isListing ? Number.POSITIVE_INFINITY : this.#listDueMs;
    const lookDueMs = this.#freeBatches > 0 ? this.#looks.nextDueMs() : Number.POSITIVE_INFINITY;
    return Math.min(listDueMs, lookDueMs, this.#nextObjects.nextDueMs());
  }
}

/** Whether nothing has changed of what the pace depends on. */
function isAlike<Remote, Memory>(after: PodState<Remote, Memory>, before: PodState<Remote, Memory> | undefined): boolean {
  if (after.kind !== before?.kind) return false;
  const [now, then] = [objectOf(after), objectOf(before)];
  if (after.kind === "deleting" && before.kind === "deleting" && !isDeepStrictEqual(after.deletion, before.deletion)) return false;
  return now?.id === then?.id && isDeepStrictEqual(now?.observation, then?.observation);
}
