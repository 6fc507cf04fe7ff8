import { wasStarted, type PodRef, type PodUpdate, type ProviderPodStatus } from "@virtual-kubelet/core";
import { isConflict, isNotFound } from "@virtual-kubelet/errdefs";
import { WorkQueue, type DeepReadonly, type Pod, type WorkResult } from "@virtual-kubelet/kube-client";
import { readEndingCause, type EndingCause } from "../events/ending-cause.ts";
import type { FarNode } from "../far/far-node.ts";
import { farPodName } from "../identity/names.ts";
import { endedStatusOf, lastStatusOf } from "../status/ended-status.ts";

/**
 * Time for which pods are kept that the far cluster lacks together with their owner object: another server may answer in its place, or it
 * may have lost its data and get them back. As long as a cluster tolerates a node that does not answer.
 */
const suspicionMs = 300_000;
/** Pause between two looks at such a pod. */
const lookAgainMs = 15_000;
/** Number of concurrent confirmations. */
const concurrency = 8;

/** A far pod that the watch no longer shows, or has never shown. */
interface MissingPod {
  readonly ref: PodRef;
  /** As last seen; `undefined` if it has been missing since the program started. */
  readonly farPod: DeepReadonly<Pod> | undefined;
  /** Monotonic time since which it is missing. */
  readonly sinceMs: number;
  /** Whether its name, or the pod itself, is somebody else's now. */
  readonly isForeign: boolean;
}

/** What {@link PodEndings} needs. */
export interface PodEndingsOptions {
  readonly node: FarNode;
  /** Reads a far pod. @throws NotFoundError only if the far cluster itself says that there is none */
  readonly read: (ref: PodRef, signal: AbortSignal) => Promise<DeepReadonly<Pod>>;
  readonly statusOf: (farPod: DeepReadonly<Pod>) => ProviderPodStatus;
  readonly report: (update: PodUpdate) => void;
  /** Called when a far pod is certainly gone. */
  readonly onGone: (ref: PodRef) => void;
}

/**
 * Ends of far pods. A pod whose deletion was asked for is gone. A pod that somebody else ended keeps its last status, as Failed with the
 * reason, until it is deleted at home. A pod that is only missing, because a relist did not contain it, it lost its labels, or the program was
 * stopped when it ended, is asked for.
 */
export class PodEndings {
  readonly #options: PodEndingsOptions;
  /** Pods whose deletion was asked for, by UID. */
  readonly #deleted = new Map<string, PodRef>();
  readonly #ended = new Map<string, { readonly ref: PodRef; readonly farPod: DeepReadonly<Pod>; readonly status: ProviderPodStatus }>();
  readonly #missing = new Map<string, MissingPod>();
  /** Pods that are gone, by far UID, until the watch shows the same. */
  readonly #settled = new Map<string, PodRef>();
  readonly #queue: WorkQueue;

  constructor(options: PodEndingsOptions) {
    const { clock, random } = options.node.host;
    this.#options = options;
    this.#queue = new WorkQueue({ name: "far-pods-missing", clock, random, backoff: { initialMs: 1_000, maxMs: 30_000 } });
  }

  /** Pods that somebody else ended. */
  get all(): IterableIterator<{ readonly ref: PodRef; readonly farPod: DeepReadonly<Pod>; readonly status: ProviderPodStatus }> {
    this.#prune();
    return this.#ended.values();
  }

  /** The last status of a pod that somebody else ended. */
  of(uid: string): { readonly farPod: DeepReadonly<Pod>; readonly status: ProviderPodStatus } | undefined {
    return this.#ended.get(uid);
  }

  /** Whether it is not known of some pod if it still exists. */
  get areOpen(): boolean {
    return [...this.#missing.values()].some(({ isForeign }) => !isForeign);
  }

  /** Whether it is not known if the pod still exists. */
  isOpen(uid: string): boolean {
    return this.#missing.has(uid);
  }

  /**
   * The pod is created, or was found.
   *
   * @returns `false` if the watch has already shown that this far pod is no longer there
   */
  begin({ uid }: PodRef, farUid: string | undefined): boolean {
    this.#deleted.delete(uid);
    this.unsettle(farUid ?? "");
    const known = this.#ended.get(uid) ?? this.#missing.get(uid);
    if (farUid !== undefined && known?.farPod?.metadata?.uid === farUid) return false;
    this.#ended.delete(uid);
    this.found(uid);
    return true;
  }

  /** A pod is there, whatever was thought. */
  found(uid: string): void {
    if (this.#missing.delete(uid)) this.#queue.forget(uid);
  }

  /** Its deletion is asked for. Returns whether somebody else had already ended it. */
  delete(ref: PodRef): boolean {
    this.#deleted.set(ref.uid, ref);
    return this.#ended.delete(ref.uid);
  }

  /** Whether its deletion was asked for. */
  isDeleted(uid: string): boolean {
    return this.#deleted.has(uid);
  }

  /** Whether the pod is wanted at home and has run, so that somebody else has ended it if there is no far pod. */
  hasRun(ref: PodRef): boolean {
    const home = this.#wanted(ref);
    return home !== undefined && !this.#deleted.has(ref.uid) && wasStarted(home);
  }

  /** A far pod is certainly gone, although the watch still shows it, or is about to show it. */
  settle(ref: PodRef, farUid: string): void {
    this.#settled.set(farUid, ref);
  }

  /** A far pod that was thought to be gone is there: another server has answered in the far cluster's place. */
  unsettle(farUid: string): void {
    this.#settled.delete(farUid);
  }

  /** Whether a far pod is certainly gone, whatever the watch shows. */
  isSettled(farUid: string): boolean {
    return this.#settled.has(farUid);
  }

  /** The watch shows that it is gone. */
  gone(ref: PodRef, farPod: DeepReadonly<Pod>): void {
    if (!this.#settled.delete(farPod.metadata?.uid ?? "")) this.#end(ref, farPod);
  }

  /** @param cause - for a pod that was never seen */
  #end(ref: PodRef, farPod: DeepReadonly<Pod> | undefined, cause?: EndingCause): void {
    const { node, onGone, report, statusOf } = this.#options;
    this.found(ref.uid);
    onGone(ref);
    const home = this.#wanted(ref);
    if (this.#deleted.delete(ref.uid) || !home) return report({ ref, gone: true });
    const last = farPod ?? { metadata: this.#farName(ref), spec: home.spec };
    const status = endedStatusOf(farPod ? statusOf(farPod) : lastStatusOf(home), last, { ...cause, nowMs: node.host.clock.now() });
    // Of the object only the metadata is needed from now on.
    this.#ended.set(ref.uid, { ref, farPod: { metadata: last.metadata }, status });
    report({ ref, status });
  }

  /**
   * The watch, or an answer, no longer shows it, which may be wrong.
   *
   * @param farPod - as last seen; `undefined` if it has been missing since the program started
   */
  missing(ref: PodRef, farPod: DeepReadonly<Pod> | undefined): void {
    if (this.#settled.delete(farPod?.metadata?.uid ?? "") || this.#missing.has(ref.uid)) return;
    this.#missing.set(ref.uid, { ref, farPod, sinceMs: this.#options.node.host.clock.monotonic(), isForeign: false });
    this.#queue.add(ref.uid);
  }

  /** Asks for missing pods until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { logger } = this.#options.node.host;
    await this.#queue.run({ concurrency, signal, logger, handler: (uid, until) => this.#ask(uid, until) });
  }

  async #ask(uid: string, signal: AbortSignal): Promise<WorkResult | void> {
    const missing = this.#missing.get(uid);
    if (!missing) return;
    const { node, read, report, statusOf } = this.#options;
    const { ref, farPod, sinceMs } = missing;
    try {
      const found = await read(ref, signal);
      this.found(uid);
      return report({ ref, status: statusOf(found) });
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
      if (isConflict(error)) {
        this.#missing.set(uid, { ...missing, isForeign: true });
        return { requeueAfterMs: lookAgainMs };
      }
    }
    const isSuspicious = !(await this.#hasOwner(missing, signal)) && node.host.clock.monotonic() - sinceMs < suspicionMs;
    const cause = farPod || isSuspicious ? undefined : await readEndingCause(node, this.#farName(ref), signal);
    if (this.#missing.get(uid) !== missing) return;
    if (!isSuspicious || this.#deleted.has(uid)) {
      const farUid = farPod?.metadata?.uid;
      if (farUid !== undefined && node.far.pods.get(farUid)) this.settle(ref, farUid);
      return this.#end(ref, farPod, cause);
    }
    node.host.logger.warn(
      { pod: `${ref.namespace}/${ref.name}`, keptForMs: suspicionMs },
      "the far cluster lacks a pod together with the config map that owns it: another server may have answered, or the cluster may have lost data; the pod keeps its status for now",
    );
    return { requeueAfterMs: lookAgainMs };
  }

  /** Whether the object that owns the pod is still there: for a pod that was never seen, one that is older than this run of the program. */
  async #hasOwner({ ref, farPod }: MissingPod, signal: AbortSignal): Promise<boolean> {
    const { far, owner } = this.#options.node;
    const uid = await far.ownerUid(owner, this.#farName(ref).namespace, signal);
    if (uid === undefined) return false;
    if (!farPod) return !far.isNewOwner(uid);
    return farPod.metadata?.ownerReferences?.some((reference) => reference.controller === true && reference.uid === uid) === true;
  }

  #farName(ref: PodRef): { readonly namespace: string; readonly name: string } {
    const { owner, namespaces } = this.#options.node;
    return { namespace: namespaces.toFar(ref.namespace), name: farPodName(owner, ref) };
  }

  /** The home pod, unless it is being deleted or gone. */
  #wanted(ref: PodRef): DeepReadonly<Pod> | undefined {
    const home = this.#options.node.host.findPod(ref);
    return home?.metadata?.deletionTimestamp === undefined ? home : undefined;
  }

  /** Drops pods that are no longer at home. */
  #prune(): void {
    const { far, host } = this.#options.node;
    for (const [uid, { ref }] of this.#ended) if (!host.findPod(ref)) this.#ended.delete(uid);
    for (const [uid, ref] of this.#deleted) if (!host.findPod(ref)) this.#deleted.delete(uid);
    for (const [farUid, ref] of this.#settled) if (!host.findPod(ref) && !far.pods.get(farUid)) this.#settled.delete(farUid);
  }
}
