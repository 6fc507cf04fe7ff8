import type { DeepReadonly, Pod, Store, StoreChange } from "@virtual-kubelet/kube-client";
import { homePodOf, labelValue, tagLabels, type FarOwner } from "../identity/tags.ts";
import { ownPodRef } from "../identity/own-pod.ts";

type Listener = (change: StoreChange<Pod>) => void;

/** Far pods by the UID of their home pods, and the listeners of their nodes. */
export class PodIndex implements Disposable {
  readonly #byHomeUid = new Map<string, Map<string, DeepReadonly<Pod>>>();
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
    for (const pod of this.#byHomeUid.get(homeUid)?.values() ?? []) if (ownPodRef(pod.metadata, owner)) return pod;
    return undefined;
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
    addTo(this.#byNode, nodeOf(pod), uid, pod);
    const homeUid = homePodOf(pod.metadata)?.uid;
    if (homeUid !== undefined) addTo(this.#byHomeUid, homeUid, uid, pod);
  }

  #remove(uid: string, pod: DeepReadonly<Pod>): void {
    removeFrom(this.#byNode, nodeOf(pod), uid);
    removeFrom(this.#byHomeUid, homePodOf(pod.metadata)?.uid ?? "", uid);
  }
}

type Pods = Map<string, Map<string, DeepReadonly<Pod>>>;

function addTo(pods: Pods, key: string, uid: string, pod: DeepReadonly<Pod>): void {
  const inner = pods.get(key);
  if (inner) inner.set(uid, pod);
  else pods.set(key, new Map([[uid, pod]]));
}

function removeFrom(pods: Pods, key: string, uid: string): void {
  const inner = pods.get(key);
  if (inner?.delete(uid) && inner.size === 0) pods.delete(key);
}

function nodeOf(pod: DeepReadonly<Pod>): string {
  return pod.metadata?.labels?.[tagLabels.node] ?? "";
}
