import { apiVersionOf } from "../../kinds/api-version.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import { namespaceKind } from "../../kinds/namespace.ts";
import type { Cluster } from "../../rest/cluster.ts";
import type { OwnerReference } from "../shared/ownership.ts";
import { isWaiting, type OwnerClasses } from "./owner-classes.ts";

/** Coordinates of a deleted owner. */
interface Identity {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | undefined;
}

/** Finds the objects that owner references name. */
export class OwnerLookup implements Disposable {
  readonly #cluster: Cluster;
  readonly #watch: Disposable;
  /** Served kinds by `apiVersion/kind`; `undefined` if it has to be computed. */
  #served: Map<string, Kind> | undefined;
  /** Deleted owners that still have dependents. Their kind may be gone as well. */
  readonly #gone = new Map<string, Identity>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#watch = cluster.watchKinds(() => (this.#served = undefined));
  }

  /** Kind of an owner; `undefined` if it is not served. */
  kindOf({ apiVersion, kind }: OwnerReference): Kind | undefined {
    this.#served ??= new Map(this.#cluster.kinds().map((each) => [`${apiVersionOf(each)}/${each.kind}`, each]));
    return this.#served.get(`${apiVersion}/${kind}`);
  }

  /** The owner; `undefined` if it does not exist or has another UID. @param namespace - namespace of the dependent */
  find(reference: OwnerReference, namespace: string | undefined): Readonly<ApiObject> | undefined {
    const kind = this.kindOf(reference);
    const owner = kind === undefined ? undefined : this.#cluster.get(kind, kind.namespaced ? namespace : undefined, reference.name);
    return owner?.metadata.uid === reference.uid ? owner : undefined;
  }

  /** Remembers a deleted owner. */
  addGone(kind: Kind, { metadata: { uid, name, namespace } }: Readonly<ApiObject>): void {
    this.#gone.set(uid, { apiVersion: apiVersionOf(kind), kind: kind.kind, name, namespace });
  }

  /** Forgets a deleted owner. */
  forgetGone(uid: string): void {
    this.#gone.delete(uid);
  }

  /**
   * Classifies the owners of an object.
   *
   * Source: Kubernetes v1.36.3 pkg/controller/garbagecollector/garbagecollector.go, `classifyReferences`.
   */
  classify({ metadata: { namespace, ownerReferences = [] } }: Readonly<ApiObject>): OwnerClasses | "unknown kind" | "namespaced owner" {
    const classes = { solid: [] as OwnerReference[], dangling: [] as OwnerReference[], waiting: [] as OwnerReference[] };
    for (const reference of ownerReferences) {
      if (this.#isGone(reference, namespace)) {
        classes.dangling.push(reference);
        continue;
      }
      const kind = this.kindOf(reference);
      if (kind === undefined) return "unknown kind";
      if (kind.namespaced && namespace === undefined) return "namespaced owner";
      const owner = this.find(reference, namespace);
      classes[owner === undefined ? "dangling" : isWaiting(owner) ? "waiting" : "solid"].push(reference);
    }
    return classes;
  }

  /** Whether an owner that was not deleted exists in another namespace than that of its dependent. */
  isElsewhere(reference: OwnerReference, namespace: string | undefined): boolean {
    const kind = this.kindOf(reference);
    if (kind?.namespaced !== true || this.#isGone(reference, namespace)) return false;
    const namespaces = this.#cluster.list(namespaceKind);
    return namespaces.some(({ metadata: { name } }) => this.#cluster.get(kind, name, reference.name)?.metadata.uid === reference.uid);
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }

  /** Whether the reference names a remembered owner, with all its coordinates. */
  #isGone({ uid, apiVersion, kind, name }: OwnerReference, namespace: string | undefined): boolean {
    const identity = this.#gone.get(uid);
    if (identity === undefined || identity.apiVersion !== apiVersion || identity.kind !== kind || identity.name !== name) return false;
    return identity.namespace === undefined || identity.namespace === namespace;
  }
}
