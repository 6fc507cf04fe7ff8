import {
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
import { ConflictError, isConflict, isNotFound, NotFoundError } from "@virtual-kubelet/errdefs";
import { resources, type DeepReadonly, type Pod, type StoreChange } from "@virtual-kubelet/kube-client";
import type { Carried } from "../carry/carried.ts";
import type { Carrier } from "../carry/carrier.ts";
import type { FarNode } from "../far/far-node.ts";
import { farPodName } from "../identity/names.ts";
import { ownPodRef } from "../identity/own-pod.ts";
import { podStatusOf } from "../status/pod-status.ts";
import { farChangesOf } from "../translate/far-changes.ts";
import { farPodOf, type TranslationNote } from "../translate/far-pod.ts";
import { readFacts, readServiceFacts } from "../translate/translation-facts.ts";

/** Creates, finds, follows and deletes the far pods of one node. */
export class PodKeeper implements PodLifecycleHandler, PodNotifier, Disposable {
  readonly #node: FarNode;
  readonly #carrier: Carrier;
  #subscription: Disposable | undefined;

  constructor(node: FarNode, carrier: Carrier) {
    this.#node = node;
    this.#carrier = carrier;
  }

  async createPod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal): Promise<void> {
    const { far, owner } = this.#node;
    const ref = podRef(pod);
    const known = far.podOf(owner, ref.uid);
    if (known) return this.#carrier.adopt(ref, known);
    const { pod: farPod, carried, notes } = farPodOf(pod, await readFacts(pod, resolved, this.#node, signal), this.#node);
    const ownerReference = await this.#provide(ref, carried, resolved, signal);
    const object: Pod = { ...farPod, metadata: { ...farPod.metadata, ownerReferences: [ownerReference] } };
    try {
      await far.connection.client.create(resources.pods, object, { signal, answer: "metadata" });
    } catch (error) {
      if (!isConflict(error)) throw error;
      this.#carrier.adopt(ref, await this.#read(ref, signal));
    }
    this.#tell(ref, notes);
  }

  async updatePod(pod: DeepReadonly<Pod>, resolved: ResolvedPod, signal: AbortSignal, _changes: PodChanges): Promise<void> {
    const { client } = this.#node.far.connection;
    const ref = podRef(pod);
    const farPod = await this.#find(ref, signal);
    const facts = await readServiceFacts(resolved, this.#node, signal);
    const { patches, carried } = farChangesOf(pod, farPod, facts, this.#node);
    if (carried) await this.#provide(ref, carried, resolved, signal);
    for (const { subresource, patch } of patches) await client.patch(resources.pods, nameOf(farPod), patch, { signal, subresource });
  }

  async deletePod(ref: PodRef, { gracePeriodSeconds }: DeletePodOptions, signal: AbortSignal): Promise<void> {
    const { client } = this.#node.far.connection;
    try {
      const farPod = await this.#find(ref, signal);
      const preconditions = { uid: farPod.metadata?.uid };
      await client.delete(resources.pods, nameOf(farPod), { gracePeriodSeconds, preconditions }, { signal });
    } catch (error) {
      if (isNotFound(error)) this.#carrier.release(ref);
      throw error;
    }
  }

  async getPod(ref: PodRef, signal: AbortSignal): Promise<ProviderPod> {
    return this.#describe(ref, await this.#read(ref, signal));
  }

  async getPodStatus(ref: PodRef, signal: AbortSignal): Promise<ProviderPodStatus> {
    return this.#statusOf(await this.#read(ref, signal));
  }

  async getPods(signal: AbortSignal): Promise<ProviderPodList> {
    const { far, owner } = this.#node;
    signal.throwIfAborted();
    const pods: ProviderPod[] = [];
    for (const farPod of far.pods.list()) {
      const ref = ownPodRef(farPod.metadata, owner);
      if (ref) pods.push(this.#describe(ref, farPod));
    }
    return { pods, complete: far.isCurrent };
  }

  notifyPods(listener: (update: PodUpdate) => void): void {
    const { far, owner } = this.#node;
    this.#subscription ??= far.onPodChange(owner, (change) => this.#onChange(change, listener));
  }

  [Symbol.dispose](): void {
    this.#subscription?.[Symbol.dispose]();
  }

  #onChange(change: StoreChange<Pod>, listener: (update: PodUpdate) => void): void {
    const ref = ownPodRef(change.object.metadata, this.#node.owner);
    if (!ref) return;
    if (change.type !== "deleted") {
      if (change.type === "added") this.#carrier.adopt(ref, change.object);
      listener({ ref, status: this.#statusOf(change.object) });
    } else if (!change.missed) {
      this.#carrier.release(ref);
      listener({ ref, gone: true });
    }
  }

  async #provide(ref: PodRef, carried: Carried, resolved: ResolvedPod, signal: AbortSignal) {
    const { far, owner, namespaces } = this.#node;
    const farNamespace = namespaces.toFar(ref.namespace);
    const ownerReference = await far.ownerReference(owner, farNamespace, signal);
    await this.#carrier.provide({ ref, farNamespace, carried, resolved }, signal);
    return ownerReference;
  }

  async #find(ref: PodRef, signal: AbortSignal): Promise<DeepReadonly<Pod>> {
    const { far, owner } = this.#node;
    return far.podOf(owner, ref.uid) ?? this.#read(ref, signal);
  }

  /** Reads the far pod. @throws NotFoundError; ConflictError if its name is somebody else's */
  async #read(ref: PodRef, signal: AbortSignal): Promise<DeepReadonly<Pod>> {
    const { far, owner, namespaces } = this.#node;
    const name = { namespace: namespaces.toFar(ref.namespace), name: farPodName(owner, ref) };
    const farPod = await far.connection.client.get(resources.pods, name, { signal });
    const found = ownPodRef(farPod.metadata, owner);
    if (found?.uid === ref.uid) return farPod;
    throw new ConflictError(
      `the far pod ${name.namespace}/${name.name} has not the labels of pod ${ref.namespace}/${ref.name}, so that it is somebody else's; delete it`,
    );
  }

  #describe(ref: PodRef, farPod: DeepReadonly<Pod>): ProviderPod {
    return { ref, owner: this.#node.owner, createdAt: farPod.metadata?.creationTimestamp, status: this.#statusOf(farPod) };
  }

  #statusOf(farPod: DeepReadonly<Pod>): ProviderPodStatus {
    return podStatusOf(farPod, this.#node.config.network);
  }

  #tell(ref: PodRef, notes: readonly TranslationNote[]): void {
    for (const { reason, message } of notes) this.#node.host.recordEvent(ref, { type: "Warning", reason, message });
  }
}

function nameOf({ metadata }: DeepReadonly<Pod>): { readonly namespace: string | undefined; readonly name: string } {
  if (metadata?.name === undefined) throw new NotFoundError("the far pod has no name");
  return { namespace: metadata.namespace, name: metadata.name };
}
