import type { DeepReadonly, Pod, Store, StoreChange } from "@virtual-kubelet/kube-client";
import { homePodOf, labelValue, tagLabels, type FarOwner } from "../identity/tags.ts";
import { ownPodRef } from "../identity/own-pod.ts";

type Listener = (change: StoreChange<Pod>) => void;

/** Far pods by the UID of their home pods, and the listeners of their nodes. */
export class PodIndex implements Disposable {
  /** A list, because it takes less memory than a map, and more than one pod is rare. */
  readonly #byHomeUid = new Map<string, readonly DeepReadonly<Pod>[]>();
  /** Far pods by UID, by the label of the node. */
  readonly #byNode = new Map<string, Map<string, DeepReadonly<Pod>>>();
  /** By the label of the node. */
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #subscription: Disposable;

  constructor(store: Store<Pod>) {
    this.#subscription = store.subscribe((change) => this.#apply(change));
  }

  /** The owner's far pod of a home pod. */
  podOf(owner: FarOwner, homeUid: string): DeepReadonly<Pod> | undefined {
    return this.#byHomeUid.get(homeUid)?.find(({ metadata }) => ownPodRef(metadata, owner));
  }

  /** All far pods with the label of the owner's node. */
  podsOf({ nodeName }: FarOwner): Iterable<DeepReadonly<Pod>> {
    return this.#byNode.get(labelValue(nodeName))?.values() ?? [];
  }

  onChange({ nodeName }: FarOwner, listener: Listener): Disposable {
    const node = labelValue(nodeName);
    const listeners = this.#listeners.get(node) ?? new Set();
    this.#listeners.set(node, listeners.add(listener));
    return {
      [Symbol.dispose]: () => {
        listeners.delete(listener);
        if (listeners.size === 0) this.#listeners.delete(node);
      },
    };
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }

  #apply(change: StoreChange<Pod>): void {
    if (change.type === "updated") this.#remove(change.uid, change.previous);
    if (change.type === "deleted") this.#remove(change.uid, change.object);
    else this.#add(change.uid, change.object);
    const nodes = new Set([change.object, ...(change.type === "updated" ? [change.previous] : [])].map(nodeOf));
    for (const node of nodes) for (const listener of this.#listeners.get(node) ?? []) listener(change);
  }

  #add(uid: string, pod: DeepReadonly<Pod>): void {
    const node = nodeOf(pod);
    const pods = this.#byNode.get(node) ?? new Map<string, DeepReadonly<Pod>>();
    this.#byNode.set(node, pods.set(uid, pod));
    const homeUid = homePodOf(pod.metadata)?.uid;
    if (homeUid === undefined) return;
    const others = this.#byHomeUid.get(homeUid);
    this.#byHomeUid.set(homeUid, others ? [...others, pod] : [pod]);
  }

  #remove(uid: string, pod: DeepReadonly<Pod>): void {
    const pods = this.#byNode.get(nodeOf(pod));
    if (pods?.delete(uid) && pods.size === 0) this.#byNode.delete(nodeOf(pod));
    const homeUid = homePodOf(pod.metadata)?.uid ?? "";
    const others = this.#byHomeUid.get(homeUid)?.filter(({ metadata }) => metadata?.uid !== uid) ?? [];
    if (others.length > 0) this.#byHomeUid.set(homeUid, others);
    else this.#byHomeUid.delete(homeUid);
  }
}

function nodeOf(pod: DeepReadonly<Pod>): string {
  return pod.metadata?.labels?.[tagLabels.node] ?? "";
}
