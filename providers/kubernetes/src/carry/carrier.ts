import { withDeadline } from "@virtual-kubelet/async";
import { isTerminalPhase, type PodRef, type ResolvedPod } from "@virtual-kubelet/core";
import { isNotFound, messageOf, UnavailableError } from "@virtual-kubelet/errdefs";
import {
  backoffMs,
  Reflector,
  WorkQueue,
  type ConfigMap,
  type DeepReadonly,
  type ObjectMeta,
  type Pod,
  type Secret,
  type StoreChange,
  type WorkFailure,
  type WorkResult,
} from "@virtual-kubelet/kube-client";
import type { FarNode } from "../far/far-node.ts";
import { farMetrics } from "../far/far-metrics.ts";
import { podSecretName } from "../identity/names.ts";
import { ownerSelector } from "../identity/tags.ts";
import { carriedBy } from "../translate/far-pod.ts";
import type { Carried } from "./carried.ts";
import { readHomeObject, readPodFiles, tokenSecretError, type Content, type HomeObject } from "./content.ts";
import { CopyUsers } from "./copy-users.ts";
import { FarCopy } from "./far-copy.ts";
import { copyOf, keyOf, podSecretOf, resourceOf, type FarObject } from "./far-object.ts";
import { FarWriter } from "./far-writer.ts";
import { FilesWatch } from "./files-watch.ts";
import { Leftovers } from "./leftovers.ts";
import { usedObjects } from "./used-objects.ts";

/** What {@link Carrier.provide} carries, and where to. */
export interface CarryRequest {
  readonly ref: PodRef;
  readonly farNamespace: string;
  readonly carried: Carried;
  readonly resolved: ResolvedPod;
}

/** A pod whose far pod needs objects. */
interface CarriedPod {
  readonly ref: PodRef;
  readonly farNamespace: string;
  /** What its home pod refers to; `undefined` while the home pod is not known, after a restart of the program. */
  carried: Carried | undefined;
}

/** A far object, and where its values come from. */
interface Entry {
  readonly copy: FarCopy;
  /** The home object; `undefined` for the files of a single pod. */
  readonly home: HomeObject | undefined;
  /** Monotonic time since which no pod uses it; `undefined` while one does. */
  unusedSinceMs: number | undefined;
  /** Monotonic time at which a copy of an earlier program is written once more, in case that somebody has changed its values. */
  verifyAtMs: number | undefined;
  /** Monotonic time at which the copy was last brought up to date in the background. */
  updatedMs: number;
  /** How often in a row somebody else has changed the far object, and when it was last. */
  disturbances: number;
  disturbedMs: number;
}

type Listed = ConfigMap & Secret;

const kinds = ["ConfigMap", "Secret"] as const;

/** Time for which a copy without users is kept, because the next pod of a Deployment or job may need it. */
const graceMs = 300_000;
/** Interval in which each copy is compared with its home object, besides all notifications. */
const resyncMs = 600_000;
/** Interval of sweeps. */
const sweepMs = 60_000;
/** Maximum time of one sweep, in which the far pods may be listed. */
const sweepTimeoutMs = 60_000;
/** Delay before something that cannot be decided now is looked at again. */
const unclearMs = 15_000;
/** Maximum time that a pod waits for the first list of copies. */
const listTimeoutMs = 10_000;
/** Delay before a copy is looked at again while it is not known which copies there are. */
const unlistedMs = 500;
/** Maximum time until an adopted copy is verified. */
const verifyMs = 120_000;
/** Number of objects that are written at once in the background. */
const concurrency = 4;
/** Minimum time between two updates of a copy, whose home object may change many times a second. Kubelets look once a minute. */
const updatePauseMs = 1_000;
/** Delays before a copy is restored that something else keeps changing. */
const disturbance = { initialMs: 1_000, maxMs: 300_000 };

const sweepKey = "sweep";
const podPrefix = "pod/";

/**
 * Copies what pods refer to into the far cluster, keeps the copies current, and removes them when no pod needs them. Calls for one pod never
 * overlap.
 */
export class Carrier implements AsyncDisposable {
  readonly #node: FarNode;
  readonly #writer: FarWriter;
  readonly #reflectors: Readonly<Record<FarObject["kind"], Reflector<Listed>>>;
  readonly #entries = new Map<string, Entry>();
  readonly #pods = new Map<string, CarriedPod>();
  readonly #users = new CopyUsers();
  readonly #queue: WorkQueue;
  readonly #files: FilesWatch;
  readonly #leftovers: Leftovers;
  readonly #abort = new AbortController();
  #subscriptions: readonly (Disposable | undefined)[] = [];
  #running: readonly Promise<void>[] = [];
  /** The last failure of each object that was told in an event. */
  readonly #told = new Map<string, string>();

  /** @param node - whose pods' objects it carries */
  constructor(node: FarNode) {
    const { far, host, owner } = node;
    this.#node = node;
    this.#writer = new FarWriter({ far, owner });
    this.#reflectors = { ConfigMap: this.#reflectorOf("ConfigMap"), Secret: this.#reflectorOf("Secret") };
    this.#queue = new WorkQueue({ ...host, name: "far-copies" });
    this.#files = new FilesWatch({
      clock: host.clock,
      logger: host.logger,
      resolvePod: (ref) => host.resolvePod(ref),
      onChange: (ref) => this.#refreshFiles(ref),
    });
    this.#leftovers = new Leftovers({
      node,
      listed: () => this.#listed(),
      isCurrent: () => this.#isCurrent,
      isKnown: (key) => this.#entries.has(key) || this.#users.isUsed(key),
      remove: async (object, signal) => void (await this.#writer.remove(object, signal)),
    });
  }

  /** Starts to follow both clusters. Called once, before all other methods. */
  start(): void {
    const { host } = this.#node;
    const { signal } = this.#abort;
    this.#subscriptions = [
      ...kinds.map((kind) => this.#reflectors[kind].store.subscribe((change) => this.#onFarChange(kind, change))),
      host.onConfigChanged?.((ref) => this.#onHomeChange(ref)),
    ];
    this.#running = [
      ...kinds.map((kind) => this.#reflectors[kind].run(signal)),
      this.#queue.run({
        concurrency,
        handler: (key, inner) => this.#work(key, inner),
        signal,
        onError: (failure) => this.#onFailure(failure),
      }),
    ];
    this.#queue.addAfter(sweepKey, sweepMs);
  }

  /**
   * Makes everything that the pod refers to exist in the far cluster. Called before the pod is created, and again when it refers to more. An
   * object that is missing at home is no error: the far pod waits for it, as on any node, and it is copied when it appears.
   *
   * @throws UnsupportedError for a secret that never leaves the home cluster; what `resolved` throws for what cannot be read, and what
   * {@link FarWriter.write} throws for what cannot be written
   */
  async provide({ ref, farNamespace, carried, resolved }: CarryRequest, signal: AbortSignal): Promise<void> {
    const keys = this.#register(ref, farNamespace, carried);
    if (keys.length === 0) return;
    await this.#waitForList(signal);
    const results = await Promise.allSettled(
      keys.map(async (key) => {
        const entry = this.#entries.get(key);
        if (!entry) return;
        await entry.copy.settle((inner) => this.#readFor(entry, { carried, resolved }, inner), signal);
        if (entry.home) this.#queue.addAfter(key, entry.copy.isUnverified ? this.#verifyDelay() : resyncMs);
      }),
    );
    const failed = results.find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
    this.#follow(ref, carried);
  }

  /** Keeps the copies of a far pod that was found, such as after a restart of the program. Returns at once; may be called again. */
  adopt(ref: PodRef, farPod: DeepReadonly<Pod>): void {
    const keys = usedObjects(farPod);
    const known = this.#pods.get(ref.uid);
    // Most pods use nothing.
    if (!known && keys.size === 0) return;
    this.#users.add(ref.uid, keys);
    if (known?.carried) return;
    if (!known) this.#pods.set(ref.uid, { ref, farNamespace: farPod.metadata?.namespace ?? "", carried: undefined });
    this.#queue.add(`${podPrefix}${ref.uid}`);
  }

  /** Lets the copies of a pod go, because its far pod is gone. Returns at once; may be called again, and for an unknown pod. */
  release(ref: PodRef): void {
    if (this.#pods.has(ref.uid)) this.#queue.add(`${podPrefix}${ref.uid}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const subscription of this.#subscriptions) subscription?.[Symbol.dispose]();
    this.#abort.abort(new Error("the provider is closed"));
    await this.#files[Symbol.asyncDispose]();
    await Promise.allSettled(this.#running);
  }

  #reflectorOf(kind: FarObject["kind"]): Reflector<Listed> {
    const { far, host, namespaces, owner } = this.#node;
    const { clock, random, logger } = host;
    const metrics = farMetrics(host.metrics);
    const query = { namespace: namespaces.only, labelSelector: ownerSelector(owner) };
    const { history } = far;
    const { client } = far.connection;
    return new Reflector({ client, history, resource: resourceOf(kind), query, content: "metadata", clock, random, logger, metrics });
  }

  get #isCurrent(): boolean {
    return kinds.every((kind) => this.#reflectors[kind].isCurrent);
  }

  get #isListed(): boolean {
    return kinds.every((kind) => this.#reflectors[kind].inspect().lists > 0);
  }

  *#listed(): Generator<{ readonly kind: FarObject["kind"]; readonly metadata: DeepReadonly<ObjectMeta> | undefined }> {
    for (const kind of kinds) for (const { metadata } of this.#reflectors[kind].store.list()) yield { kind, metadata };
  }

  /** Waits until it is known which copies there are. */
  async #waitForList(signal: AbortSignal): Promise<void> {
    if (this.#isListed) return;
    const { clock } = this.#node.host;
    const synced = Promise.all(kinds.map((kind) => this.#reflectors[kind].synced));
    try {
      await withDeadline({ clock, timeoutMs: listTimeoutMs, what: "list the copies in the far cluster" }, signal, () => synced);
    } catch (error) {
      signal.throwIfAborted();
      const failures = kinds.flatMap((kind) => this.#reflectors[kind].inspect().failure?.error ?? []);
      const problem = messageOf(failures[0] ?? error);
      throw new UnavailableError(`the copies of config maps and secrets in the far cluster cannot be listed: ${problem}`);
    }
  }

  /** Notes what a pod needs, in addition to what it needed before. @returns keys of what it needs now */
  #register(ref: PodRef, farNamespace: string, carried: Carried): readonly string[] {
    const { owner } = this.#node;
    const keys = carried.references.map(({ kind, namespace, name }) => {
      const home = { kind, namespace, name };
      return this.#enter(copyOf(owner, home, farNamespace), home);
    });
    if (carried.files.length > 0) keys.push(this.#enter(podSecretOf(owner, ref, farNamespace), undefined));
    if (keys.length === 0 && !this.#pods.has(ref.uid)) return keys;
    this.#pods.set(ref.uid, { ref, farNamespace, carried: merged(this.#pods.get(ref.uid)?.carried, carried) });
    this.#users.add(ref.uid, keys);
    for (const key of keys) this.#setUnused(key, undefined);
    return keys;
  }

  #enter(object: FarObject, home: HomeObject | undefined): string {
    const key = keyOf(object);
    if (this.#entries.has(key)) return key;
    const { store } = this.#reflectors[object.kind];
    const copy = new FarCopy({
      object,
      owner: this.#node.owner,
      writer: this.#writer,
      clock: this.#node.host.clock,
      listed: () => store.getByName(object.namespace, object.name)?.metadata,
    });
    this.#entries.set(key, {
      copy,
      home,
      unusedSinceMs: undefined,
      verifyAtMs: undefined,
      updatedMs: -Infinity,
      disturbances: 0,
      disturbedMs: 0,
    });
    return key;
  }

  #setUnused(key: string, sinceMs: number | undefined): void {
    const entry = this.#entries.get(key);
    if (entry) entry.unusedSinceMs = sinceMs;
  }

  #follow(ref: PodRef, { files }: Carried): void {
    if (files.length > 0) this.#files.follow(ref, new Set(files.map(({ volume }) => volume)));
  }

  /** Reads an object's values for a pod that waits for them. */
  async #readFor(
    { home, copy }: Entry,
    { carried, resolved }: Pick<CarryRequest, "carried" | "resolved">,
    signal: AbortSignal,
  ): Promise<Content | undefined> {
    if (!home) return readPodFiles(resolved, carried.files, signal);
    const content = await readHomeObject(resolved, home, signal);
    if (content !== "refused") return content;
    const fieldPath = carried.references.find(({ kind, name }) => kind === home.kind && name === home.name)?.fieldPath;
    throw tokenSecretError(copy.object.title, fieldPath);
  }

  #onHomeChange({ uid }: PodRef): void {
    const nowMs = this.#node.host.clock.monotonic();
    for (const key of this.#users.keysOf(uid)) {
      const entry = this.#entries.get(key);
      if (entry?.home) this.#queue.addAfter(key, entry.updatedMs + updatePauseMs - nowMs);
    }
  }

  #refreshFiles(ref: PodRef): void {
    const { farNamespace: namespace } = this.#pods.get(ref.uid) ?? {};
    if (namespace !== undefined) this.#queue.add(keyOf({ kind: "Secret", namespace, name: podSecretName(this.#node.owner, ref) }));
  }

  #onFarChange(kind: FarObject["kind"], change: StoreChange<Listed>): void {
    const { namespace = "", name = "" } = change.object.metadata ?? {};
    const key = keyOf({ kind, namespace, name });
    const entry = this.#entries.get(key);
    if (!entry?.copy.onChange(change) || !this.#users.isUsed(key)) return;
    // Another controller may change the object again and again.
    const { clock, random } = this.#node.host;
    const nowMs = clock.monotonic();
    entry.disturbances = nowMs - entry.disturbedMs > 2 * disturbance.maxMs ? 0 : entry.disturbances + 1;
    entry.disturbedMs = nowMs;
    if (entry.disturbances < 3) this.#queue.add(key);
    else this.#queue.addAfter(key, backoffMs(disturbance, entry.disturbances - 2, random));
  }

  #work(key: string, signal: AbortSignal): Promise<WorkResult | void> {
    if (key === sweepKey) return this.#sweep(signal);
    return key.startsWith(podPrefix) ? this.#lookAtPod(key.slice(podPrefix.length), signal) : this.#lookAtCopy(key, signal);
  }

  /** Looks for pods that are gone without a notification, and for what earlier programs have left. */
  async #sweep(signal: AbortSignal): Promise<WorkResult> {
    const { far, host, owner } = this.#node;
    for (const uid of this.#pods.keys()) if (!far.podOf(owner, uid)) this.#queue.add(`${podPrefix}${uid}`);
    try {
      await withDeadline(
        { clock: host.clock, timeoutMs: sweepTimeoutMs, what: "remove what earlier programs have left" },
        signal,
        (inner) => this.#leftovers.sweep(inner),
      );
    } catch (error) {
      signal.throwIfAborted();
      host.logger.warn({ err: messageOf(error) }, "what earlier programs have left cannot be removed now");
    }
    return { requeueAfterMs: sweepMs };
  }

  async #lookAtPod(uid: string, signal: AbortSignal): Promise<WorkResult | void> {
    const { far, host, owner } = this.#node;
    const pod = this.#pods.get(uid);
    if (!pod) return;
    const home = host.findPod(pod.ref);
    const farPod = far.podOf(owner, uid);
    if (!farPod && !(home && isWanted(home))) {
      if (!far.isCurrent) return { requeueAfterMs: unclearMs };
      return this.#forget(uid);
    }
    if (pod.carried) return;
    // Far pods without a home pod are orphans, which core removes, or the home cluster's pods are not listed yet.
    if (!home) return { requeueAfterMs: unclearMs };
    const ephemeral = new Set(farPod?.spec?.ephemeralContainers?.map(({ name }) => name));
    const carried = carriedBy(home, this.#node, ephemeral);
    for (const key of this.#register(pod.ref, pod.farNamespace, carried)) this.#queue.add(key);
    this.#follow(pod.ref, carried);
    await this.#hold(pod.ref, carried, signal);
  }

  /** Reads for this pod, too, what others may have read already, so that changes are told until this pod has ended. */
  async #hold(ref: PodRef, { references }: Carried, signal: AbortSignal): Promise<void> {
    try {
      const resolved = this.#node.host.resolvePod(ref);
      await Promise.all(references.map((home) => readHomeObject(resolved, home, signal)));
    } catch (error) {
      signal.throwIfAborted();
      if (!isNotFound(error)) throw error;
    }
  }

  #forget(uid: string): void {
    const nowMs = this.#node.host.clock.monotonic();
    this.#files.stop(uid);
    this.#pods.delete(uid);
    for (const key of this.#users.remove(uid)) {
      this.#setUnused(key, nowMs);
      if (this.#entries.has(key)) this.#queue.add(key);
    }
  }

  async #lookAtCopy(key: string, signal: AbortSignal): Promise<WorkResult | void> {
    const entry = this.#entries.get(key);
    if (!entry) return;
    // Copies that are not listed yet would be written for nothing.
    if (!this.#isListed) return { requeueAfterMs: unlistedMs };
    if (this.#users.isUsed(key)) return this.#update(entry, key, signal);
    const { clock } = this.#node.host;
    const unusedMs = clock.monotonic() - (entry.unusedSinceMs ??= clock.monotonic());
    const leftMs = (entry.home ? graceMs : 0) - unusedMs;
    if (leftMs > 0) return { requeueAfterMs: leftMs };
    if (!this.#isCurrent) return { requeueAfterMs: unclearMs };
    await entry.copy.remove(() => !this.#users.isUsed(key), signal);
    if (!this.#users.isUsed(key)) this.#entries.delete(key);
    this.#told.delete(key);
  }

  async #update(entry: Entry, key: string, signal: AbortSignal): Promise<WorkResult | void> {
    const { clock } = this.#node.host;
    const reader = this.#readerOf(entry, key);
    if (!reader) return { requeueAfterMs: unclearMs };
    const { copy } = entry;
    if (entry.verifyAtMs !== undefined && entry.verifyAtMs <= clock.monotonic() && copy.isUnverified) copy.distrust();
    await copy.settle(reader, signal);
    entry.updatedMs = clock.monotonic();
    this.#told.delete(key);
    if (!copy.isUnverified) {
      entry.verifyAtMs = undefined;
      return entry.home ? { requeueAfterMs: resyncMs } : undefined;
    }
    const delayMs = entry.verifyAtMs === undefined ? this.#verifyDelay() : Math.max(0, entry.verifyAtMs - clock.monotonic());
    entry.verifyAtMs ??= clock.monotonic() + delayMs;
    return { requeueAfterMs: delayMs };
  }

  /** Reads an object's values for one of the pods that use it; `undefined` if none of them is known at home now. */
  #readerOf({ home }: Entry, key: string): ((signal: AbortSignal) => Promise<Content | undefined>) | undefined {
    const { host } = this.#node;
    for (const uid of this.#users.usersOf(key)) {
      const pod = this.#pods.get(uid);
      if (!pod?.carried) continue;
      const { files } = pod.carried;
      try {
        const resolved = host.resolvePod(pod.ref);
        if (!home) return (signal) => readPodFiles(resolved, files, signal);
        return async (signal) => {
          const content = await readHomeObject(resolved, home, signal);
          return content === "refused" ? undefined : content;
        };
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
    return undefined;
  }

  #verifyDelay(): number {
    return verifyMs * (0.5 + 0.5 * this.#node.host.random.next());
  }

  #onFailure({ key, error, failures, delayMs }: WorkFailure): void {
    const { host } = this.#node;
    const message = messageOf(error);
    host.logger.warn({ key, attempt: failures, delayMs: Math.round(delayMs), err: message }, "a far copy is not up to date");
    if (this.#told.get(key) === message) return;
    this.#told.set(key, message);
    for (const uid of this.#users.usersOf(key)) {
      const pod = this.#pods.get(uid);
      if (pod) host.recordEvent(pod.ref, { type: "Warning", reason: "FarCopyFailed", message });
      // One of many pods is enough.
      return;
    }
  }
}

/** Whether a home pod needs a far pod. */
function isWanted({ metadata, status }: DeepReadonly<Pod>): boolean {
  return metadata?.deletionTimestamp === undefined && !isTerminalPhase(status?.phase);
}

function merged(before: Carried | undefined, more: Carried): Carried {
  if (!before) return more;
  const references = new Map([...before.references, ...more.references].map((each) => [`${each.kind}/${each.name}`, each]));
  const files = new Map([...before.files, ...more.files].map((each) => [each.key, each]));
  return { references: [...references.values()], files: [...files.values()] };
}
