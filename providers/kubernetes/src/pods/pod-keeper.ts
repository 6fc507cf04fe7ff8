import { untilAborted } from "@virtual-kubelet/async";
import {
  ObjectReader,
  podRef,
  type DeletePodOptions,
  type PodChanges,
  type PodLifecycleHandler,
  type PodNotifier,
  type PodRef,
  type PodUpdate,
  type ProviderPod,
  type ProviderPodList,
  type ProviderPodStatus,
  type ResolvedPod,
} from "@virtual-kubelet/core";
import {
  ConflictError,
  InvalidInputError,
  isConflict,
  isInvalidInput,
  isNotFound,
  isTerminal,
  isUnsupported,
  messageOf,
  NotFoundError,
  UnavailableError,
} from "@virtual-kubelet/errdefs";
import { isGoneObject, resources, type DeepReadonly, type OwnerReference, type Pod, type StoreChange } from "@virtual-kubelet/kube-client";
import type { Carried } from "../carry/carried.ts";
import type { Carrier } from "../carry/carrier.ts";
import type { FarNode } from "../far/far-node.ts";
import { notTheFarCluster } from "../far/not-the-far-cluster.ts";
import { farPodName } from "../identity/names.ts";
import { ownPodRef } from "../identity/own-pod.ts";
import { addressMap } from "../status/address-map.ts";
import { endedStatusOf, withReason } from "../status/ended-status.ts";
import { podStatusOf, type StatusView } from "../status/pod-status.ts";
import { tagAnnotations } from "../identity/tags.ts";
import type { KubernetesReason } from "../reasons.ts";
import { farChangesOf, type FarPodPatch, type RefusedContainer } from "../translate/far-changes.ts";
import { farTags, isOutdated } from "../translate/far-metadata.ts";
import { farPodOf } from "../translate/far-pod.ts";
import { readFacts, readServiceFacts } from "../translate/translation-facts.ts";
import { creationError } from "./creation-error.ts";
import { updateError } from "./update-error.ts";
import { PodEndings } from "./pod-endings.ts";

/**
 * Shortest grace of a far pod, in seconds. With none at all its object goes before its containers do, whose kubelet may not even have heard
 * of it.
 */
const minGraceSeconds = 1;

/** Time that an inventory waits for the far cluster's first list. */
const firstListMs = 10_000;

/** A far pod of a home pod. */
interface FarPodRef {
  readonly ref: PodRef;
  readonly farUid: string | undefined;
}

/** Creates, finds, follows and deletes the far pods of one node. */
export class PodKeeper implements PodLifecycleHandler, PodNotifier, AsyncDisposable {
  readonly #node: FarNode;
  readonly #carrier: Carrier;
  readonly #view: StatusView;
  readonly #endings: PodEndings;
  readonly #reader: ObjectReader<"pod">;
  readonly #abort = new AbortController();
  /** Far pods that were created and that the watch has not shown yet, by home UID. */
  readonly #unseen = new Map<string, FarPodRef>();
  /** Records that were sent and that the far pod has lost, by home UID. */
  readonly #records = new Map<string, string>();
  #report: (update: PodUpdate) => void = () => {};
  #subscription: Disposable | undefined;
  #confirming: Promise<void> | undefined;

  constructor(node: FarNode, carrier: Carrier) {
    const { network } = node.config;
    const { logger, metrics } = node.host;
    this.#node = node;
    this.#carrier = carrier;
    this.#view = { addresses: addressMap(network.podIPs), hostIPs: network.hostIPs };
    this.#reader = new ObjectReader({ logger, metrics, backEnd: "Kubernetes", idOf: () => undefined });
    this.#endings = new PodEndings({
      node,
      read: (ref, signal) => this.#read(ref, signal),
      statusOf: (farPod) => this.#statusOf(farPod),
      report: (update) => this.#report(update),
      onGone: (ref) => {
        this.#records.delete(ref.uid);
        carrier.release(ref);
      },
    });
  }

  /**
   * Creates the far pod, or adopts that of an earlier call whose outcome is unknown.
   *
   * @throws UnsupportedError naming the field; QuotaExceededError, InvalidInputError with the far cluster's words
   */
  async createPod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    const { far, owner } = this.#node;
    const ref = podRef(pod);
    const known = far.podOf(owner, ref.uid);
    if (known && !this.#endings.isSettled(known.metadata?.uid ?? "")) return this.#carrier.adopt(ref, known);
    const { pod: farPod, carried, notes } = farPodOf(pod, await readFacts(pod, resolved, this.#node, signal), this.#node);
    const namespace = farPod.metadata?.namespace ?? "";
    try {
      const ownerReference = await this.#provide(ref, carried, resolved, signal);
      const object: Pod = { ...farPod, metadata: { ...farPod.metadata, ownerReferences: [ownerReference] } };
      const { metadata } = await far.connection.client.create(resources.pods, object, {
        signal,
        answer: "metadata",
        managedFields: "drop",
      });
      if (!ownPodRef(metadata, owner)) await this.#refuseUntagged(metadata, signal);
      this.#noteRecord(ref, object.metadata?.annotations?.[tagAnnotations.carried], metadata);
      this.#begin(ref, metadata?.uid);
    } catch (error) {
      if (!isConflict(error)) throw creationError(error, namespace);
      await this.#adopt(ref, error, signal);
    }
    for (const { reason, message } of notes) this.#node.host.recordEvent(ref, { type: "Warning", reason, message });
  }

  /** Sends each change whatever becomes of the others. */
  async updatePod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal, { previous }: PodChanges): Promise<void> {
    const ref = podRef(pod);
    // The store may be older than the last update.
    const far = await this.#read(ref, signal);
    const facts = await readServiceFacts(resolved, this.#node, signal);
    const record = this.#records.get(ref.uid) ?? (previous?.spec && farTags(previous, this.#node).annotations[tagAnnotations.carried]);
    const changes = farChangesOf({ home: pod, far, record }, facts, this.#node);
    const errors: unknown[] = [];
    const attempt = async (send: () => Promise<unknown>): Promise<boolean> => {
      try {
        await send();
        return true;
      } catch (error) {
        signal.throwIfAborted();
        errors.push(error);
        return isRefusal(error);
      }
    };
    const isResized = await attempt(async () => changes.resize && (await this.#patch(far, changes.resize, signal)));
    await attempt(async () => {
      if (!changes.ephemeralContainers) return;
      if (changes.carried) await this.#provide(ref, changes.carried, resolved, signal);
      await this.#patch(far, changes.ephemeralContainers, signal);
    });
    const main = changes.main(isResized);
    await attempt(async () => main && this.#noteRecord(ref, main.record, await this.#patch(far, main, signal)));
    const failed = errors.find((error) => !isRefusal(error));
    if (failed) throw failed;
    for (const refused of changes.refused)
      if (!previous?.spec?.ephemeralContainers?.some(({ name }) => name === refused.name)) this.#tellRefused(ref, refused);
    if (errors.length > 0) throw errors[0];
  }

  async deletePod(ref: PodRef, { gracePeriodSeconds }: DeletePodOptions, signal: AbortSignal): Promise<void> {
    const { client } = this.#node.far.connection;
    if (this.#endings.delete(ref)) throw new NotFoundError(`pod ${ref.namespace}/${ref.name} has ended in the far cluster`);
    const known = this.#node.far.podOf(this.#node.owner, ref.uid);
    const farPod = known ?? (await this.#read(ref, signal));
    const { uid } = farPod.metadata ?? {};
    const name = nameOf(farPod);
    const query = { gracePeriodSeconds: Math.max(minGraceSeconds, gracePeriodSeconds), preconditions: { uid } };
    this.#records.delete(ref.uid);
    try {
      await client.delete(resources.pods, name, query, { signal });
    } catch (error) {
      if (isNotFound(error) && !isGoneObject(error, resources.pods, name.name)) throw notTheFarCluster(error);
      if (isNotFound(error) && uid !== undefined) this.#endings.settle(ref, uid);
      // What the store knows may be older than what has the name now.
      if (!isConflict(error) || !known || (await this.#read(ref, signal)).metadata?.uid === uid) throw error;
      throw new ConflictError(`the far pod ${name.namespace}/${name.name} was created again; its deletion is tried again`, {
        cause: error,
      });
    }
  }

  async getPod(ref: PodRef, signal: AbortSignal): Promise<ProviderPod> {
    const ended = this.#endings.of(ref.uid);
    if (ended) return this.#describe(ref, ended.farPod, ended.status);
    const farPod = await this.#look(ref, signal);
    return this.#describe(ref, farPod, this.#statusOf(farPod));
  }

  async getPodStatus(ref: PodRef, signal: AbortSignal): Promise<ProviderPodStatus> {
    return this.#endings.of(ref.uid)?.status ?? this.#statusOf(await this.#look(ref, signal));
  }

  /** Reads what the watch has shown. A request is sent only for a pod that was just created, or is gone and the watch still shows it. */
  async getPods(signal: AbortSignal): Promise<ProviderPodList> {
    const { far, owner } = this.#node;
    await this.#firstList(signal);
    const pods: ProviderPod[] = [];
    const settled: FarPodRef[] = [];
    for (const farPod of far.podsOf(owner)) {
      const ref = ownPodRef(farPod.metadata, owner);
      const farUid = farPod.metadata?.uid ?? "";
      if (ref && this.#endings.isSettled(farUid)) settled.push({ ref, farUid });
      else if (ref) pods.push(this.#describe(ref, farPod, this.#statusOf(farPod)));
    }
    for (const { ref, farPod, status } of this.#endings.all) pods.push(this.#describe(ref, farPod, status));
    const known = new Set(pods.map(({ ref }) => ref.uid));
    const read = await Promise.allSettled([
      ...[...this.#unseen.values()].map((pod) => this.#readUnseen(pod, signal)),
      ...settled.filter(({ ref }) => !known.has(ref.uid) && !this.#unseen.has(ref.uid)).map((pod) => this.#readSettled(pod, signal)),
    ]);
    signal.throwIfAborted();
    for (const result of read)
      if (result.status === "fulfilled" && result.value && !known.has(result.value.ref.uid)) pods.push(result.value);
    const isClear = !this.#endings.areOpen && read.every(({ status }) => status === "fulfilled");
    return { pods, complete: far.isCurrent && isClear };
  }

  notifyPods(listener: (update: PodUpdate) => void): void {
    const { far, owner } = this.#node;
    this.#report = listener;
    this.#subscription ??= far.onPodChange(owner, (change) => this.#onChange(change));
    this.#confirming ??= this.#endings.run(this.#abort.signal);
    // Another node of the process may have opened the far cluster long ago.
    for (const farPod of far.podsOf(owner)) {
      const ref = ownPodRef(farPod.metadata, owner);
      if (ref) this.#carrier.adopt(ref, farPod);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#subscription?.[Symbol.dispose]();
    this.#abort.abort(new Error("the provider of the far cluster is disposed"));
    await this.#confirming;
  }

  #onChange(change: StoreChange<Pod>): void {
    const { object } = change;
    const ref = ownPodRef(object.metadata, this.#node.owner);
    if (change.type === "updated") this.#checkTags(change.previous, ref);
    if (!ref) return change.type === "deleted" ? undefined : this.#skip(object);
    const farUid = object.metadata?.uid ?? "";
    const unseen = this.#unseen.get(ref.uid);
    if (unseen?.farUid === farUid) this.#unseen.delete(ref.uid);
    // It is an earlier far pod of the home pod.
    else if (unseen) return;
    if (change.type !== "deleted" && this.#endings.isSettled(farUid)) return;
    if (change.type === "deleted") {
      // A pod that loses our labels leaves the watch as if it were deleted; only one that was being deleted is certainly gone.
      if (change.missed || object.metadata?.deletionTimestamp === undefined) this.#endings.missing(ref, object);
      else this.#endings.gone(ref, object);
      return;
    }
    this.#endings.found(ref.uid);
    if (change.type === "added") {
      this.#reader.accept("pod", idOf(object));
      this.#carrier.adopt(ref, object);
    }
    this.#report({ ref, status: this.#statusOf(object) });
  }

  /** Looks for a pod whose tags somebody has changed. */
  #checkTags(previous: DeepReadonly<Pod>, now: PodRef | undefined): void {
    const before = ownPodRef(previous.metadata, this.#node.owner);
    if (before && before.uid !== now?.uid) this.#endings.missing(before, previous);
  }

  #skip(farPod: DeepReadonly<Pod>): void {
    const { clusterId, nodeName } = this.#node.owner;
    const why = `it has the label of node ${nodeName} of cluster ${clusterId}, but not the name, labels and annotations of one of its pods; delete it, or its labels that begin with virtual-kubelet.io/`;
    this.#reader.skip("pod", idOf(farPod), why);
  }

  /** Sends a patch of a far pod. @returns the metadata that the far pod has then */
  async #patch(farPod: DeepReadonly<Pod>, { subresource, patch }: FarPodPatch, signal: AbortSignal): Promise<Pod["metadata"]> {
    const { client } = this.#node.far.connection;
    const name = nameOf(farPod);
    try {
      return (await client.patch(resources.pods, name, patch, { signal, subresource, answer: "metadata", managedFields: "drop" })).metadata;
    } catch (error) {
      throw updateError(error, name.name, subresource);
    }
  }

  /** Remembers the record that was sent, if the far cluster has removed it. */
  #noteRecord({ uid }: PodRef, record: string | undefined, stored: Pod["metadata"]): void {
    if (record === undefined || stored?.annotations?.[tagAnnotations.carried] === record) this.#records.delete(uid);
    else this.#records.set(uid, record);
  }

  #tellRefused(ref: PodRef, { name, fieldPath, message }: RefusedContainer): void {
    const reason: KubernetesReason = "NotCarried";
    const words = `the ephemeral container ${name} is left out: ${fieldPath}: ${message}`;
    this.#node.host.recordEvent(ref, { type: "Warning", reason, message: words });
  }

  /**
   * Deletes a far pod that was just created and has not the labels and annotations that it was created with: it would run, and nobody would
   * follow it.
   *
   * @throws InvalidInputError always
   */
  async #refuseUntagged(metadata: Pod["metadata"], signal: AbortSignal): Promise<never> {
    const { namespace, name = "", uid } = metadata ?? {};
    const query = { gracePeriodSeconds: minGraceSeconds, preconditions: { uid } };
    await this.#node.far.connection.client.delete(resources.pods, { namespace, name }, query, { signal });
    throw new InvalidInputError(
      `far cluster: its admission has changed the labels or annotations of the pod ${namespace}/${name} that begin with virtual-kubelet.io/, by which it is found; the far pod was deleted. Exempt them in the far cluster's policies`,
    );
  }

  #begin(ref: PodRef, farUid: string | undefined): void {
    const { far, owner } = this.#node;
    if (this.#endings.begin(ref, farUid) && far.podOf(owner, ref.uid)?.metadata?.uid !== farUid) this.#unseen.set(ref.uid, { ref, farUid });
  }

  async #adopt(ref: PodRef, conflict: unknown, signal: AbortSignal): Promise<void> {
    try {
      const farPod = await this.#read(ref, signal);
      this.#carrier.adopt(ref, farPod);
      this.#begin(ref, farPod.metadata?.uid);
    } catch (error) {
      // It was deleted meanwhile: the creation is tried again.
      throw isNotFound(error) ? conflict : error;
    }
  }

  async #provide(ref: PodRef, carried: Carried, resolved: ResolvedPod, signal: AbortSignal): Promise<OwnerReference> {
    const { far, owner, namespaces } = this.#node;
    const farNamespace = namespaces.toFar(ref.namespace);
    const ownerReference = await far.ownerReference(owner, farNamespace, signal);
    await this.#carrier.provide({ ref, farNamespace, carried, resolved }, signal);
    return ownerReference;
  }

  /** Reads a far pod that the watch has not shown yet; `undefined` if it is gone, or has lost its labels. */
  async #readUnseen({ ref, farUid }: FarPodRef, signal: AbortSignal): Promise<ProviderPod | undefined> {
    try {
      const farPod = await this.#look(ref, signal);
      // Somebody has created it again, so that changes of this one count.
      if (farPod.metadata?.uid !== farUid) this.#unseen.delete(ref.uid);
      return this.#describe(ref, farPod, this.#statusOf(farPod));
    } catch (error) {
      // Its name is somebody else's.
      if (isConflict(error)) return undefined;
      if (!isNotFound(error)) throw error;
      this.#unseen.delete(ref.uid);
      return undefined;
    }
  }

  /**
   * Reads a far pod that is thought to be gone and that the watch still shows, because another server may have answered in the far cluster's
   * place; `undefined` if it is gone.
   */
  async #readSettled({ ref, farUid }: FarPodRef, signal: AbortSignal): Promise<ProviderPod | undefined> {
    try {
      const farPod = await this.#read(ref, signal);
      if (farPod.metadata?.uid === farUid) this.#endings.unsettle(farUid ?? "");
      return this.#describe(ref, farPod, this.#statusOf(farPod));
    } catch (error) {
      if (isNotFound(error) || isConflict(error)) return undefined;
      throw error;
    }
  }

  /** Waits for the first list, at most some seconds. */
  async #firstList(signal: AbortSignal): Promise<void> {
    const { far, host } = this.#node;
    const limit = new AbortController();
    const timer = host.clock.setTimer(firstListMs, () => {
      const why = far.failure === undefined ? "no answer yet" : messageOf(far.failure);
      limit.abort(new UnavailableError(`the pods of the far cluster are not listed yet: ${why}`, { cause: far.failure }));
    });
    try {
      await untilAborted(far.synced, AbortSignal.any([signal, limit.signal]));
    } finally {
      timer[Symbol.dispose]();
    }
  }

  /** Reads the far pod of a pod that is wanted. @throws NotFoundError only if it is certain that the pod has not run, or is no longer there */
  async #look(ref: PodRef, signal: AbortSignal): Promise<DeepReadonly<Pod>> {
    try {
      return await this.#read(ref, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const { far, owner } = this.#node;
      const known = far.podOf(owner, ref.uid);
      if (known ? !this.#endings.isSettled(known.metadata?.uid ?? "") : this.#endings.hasRun(ref)) this.#endings.missing(ref, known);
      if (!this.#endings.isOpen(ref.uid)) throw error;
      throw new UnavailableError(`pod ${ref.namespace}/${ref.name} is missing in the far cluster, and it is not clear yet why`, {
        cause: error,
      });
    }
  }

  /** A deleted pod that the watch has not shown yet is gone. */
  #settleUnseen(ref: PodRef): void {
    const farUid = this.#unseen.get(ref.uid)?.farUid;
    if (farUid === undefined) return;
    this.#endings.settle(ref, farUid);
    this.#unseen.delete(ref.uid);
  }

  /** Reads the far pod. @throws NotFoundError if there is none; ConflictError if its name is somebody else's */
  async #read(ref: PodRef, signal: AbortSignal): Promise<DeepReadonly<Pod>> {
    const { far, owner, namespaces } = this.#node;
    const name = { namespace: namespaces.toFar(ref.namespace), name: farPodName(owner, ref) };
    let farPod: Pod;
    try {
      farPod = await far.connection.client.get(resources.pods, name, { signal });
    } catch (error) {
      if (isNotFound(error) && !isGoneObject(error, resources.pods, name.name)) throw notTheFarCluster(error);
      if (isNotFound(error) && this.#endings.isDeleted(ref.uid)) this.#settleUnseen(ref);
      throw error;
    }
    if (ownPodRef(farPod.metadata, owner)?.uid === ref.uid) return farPod;
    // It may be ours without our tags, and mounts what it mounts.
    this.#carrier.adopt(ref, farPod);
    throw new ConflictError(
      `the far pod ${name.namespace}/${name.name} has not the labels and annotations of pod ${ref.namespace}/${ref.name}, so that it is somebody else's; delete it`,
    );
  }

  #describe(ref: PodRef, farPod: DeepReadonly<Pod>, status: ProviderPodStatus): ProviderPod {
    return { ref, owner: this.#node.owner, createdAt: farPod.metadata?.creationTimestamp, status };
  }

  #statusOf(farPod: DeepReadonly<Pod>): ProviderPodStatus {
    const ref = ownPodRef(farPod.metadata, this.#node.owner);
    const home = ref && this.#node.host.findPod(ref);
    const seen = withReason(podStatusOf(farPod, this.#view));
    const status = home && isOutdated(home, farPod, this.#node) ? { ...seen, isMetadataOutdated: true } : seen;
    return status.phase === "Succeeded" && isEndedByOthers(farPod, home)
      ? endedStatusOf(status, farPod, { nowMs: this.#node.host.clock.now() })
      : status;
  }
}

/** Whether somebody deletes the far pod while home keeps its own. */
function isEndedByOthers(far: DeepReadonly<Pod>, home: DeepReadonly<Pod> | undefined): boolean {
  return far.metadata?.deletionTimestamp !== undefined && home !== undefined && home.metadata?.deletionTimestamp === undefined;
}

/** Whether an update that failed with the error is not tried again before the next change. */
function isRefusal(error: unknown): boolean {
  return isInvalidInput(error) || isUnsupported(error) || isTerminal(error);
}

function idOf({ metadata }: DeepReadonly<Pod>): string {
  return `${metadata?.namespace}/${metadata?.name}`;
}

function nameOf({ metadata }: DeepReadonly<Pod>): { readonly namespace: string | undefined; readonly name: string } {
  return { namespace: metadata?.namespace, name: metadata?.name ?? "" };
}
