import { resources, type DeepReadonly, type KubeClient, type Node, type Store, type StoreChange } from "@virtual-kubelet/kube-client";
import type { NodeWatch } from "../node/node-keeper.ts";

/** A reflector's behaviour on one node, without its recovery; what it sees can be kept back. */
export class FakeNodeWatch implements NodeWatch {
  /** While set, events wait. */
  isHeld = false;
  readonly synced: Promise<void>;
  readonly store: Store<Node>;
  readonly #client: KubeClient;
  readonly #name: string;
  readonly #nodes = new Map<string, DeepReadonly<Node>>();
  readonly #listeners = new Set<(change: StoreChange<Node>) => void>();
  readonly #synced = Promise.withResolvers<void>();

  constructor(client: KubeClient, name: string) {
    this.#client = client;
    this.#name = name;
    this.synced = this.#synced.promise;
    const nodes = this.#nodes;
    this.store = {
      get size() {
        return nodes.size;
      },
      get: (uid) => nodes.get(uid),
      getByName: (_namespace, wanted) => [...nodes.values()].find((node) => node.metadata?.name === wanted),
      list: () => nodes.values(),
      subscribe: (listener) => {
        this.#listeners.add(listener);
        return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
      },
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    const events = await this.#client.watch(resources.nodes, { fieldSelector: `metadata.name=${this.#name}` }, { signal });
    this.#synced.resolve();
    const held: (() => void)[] = [];
    for await (const event of events) {
      if (event.type === "ERROR" || event.type === "BOOKMARK") continue;
      const { type, object } = event;
      held.push(() => this.#apply(type, object));
      if (!this.isHeld) for (const apply of held.splice(0)) apply();
    }
  }

  #apply(type: "ADDED" | "MODIFIED" | "DELETED", object: Node): void {
    const uid = object.metadata?.uid ?? "";
    const previous = this.#nodes.get(uid);
    if (type === "DELETED") this.#nodes.delete(uid);
    else this.#nodes.set(uid, object);
    const seen: StoreChange<Node> = previous ? { type: "updated", uid, object, previous } : { type: "added", uid, object };
    const change: StoreChange<Node> = type === "DELETED" ? { type: "deleted", missed: false, uid, object } : seen;
    for (const listener of this.#listeners) listener(change);
  }
}
