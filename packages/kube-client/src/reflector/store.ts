import type { DeepReadonly, KubernetesObject } from "../rest/objects.ts";

/**
 * A change of one object in a {@link Store}. `object` of a deletion is the last known state; `missed` if no event reported
 * it: a later list did not contain the object, and may be wrong.
 */
export type StoreChange<T> =
  | { readonly type: "added"; readonly uid: string; readonly object: DeepReadonly<T> }
  | { readonly type: "updated"; readonly uid: string; readonly object: DeepReadonly<T>; readonly previous: DeepReadonly<T> }
  | { readonly type: "deleted"; readonly uid: string; readonly object: DeepReadonly<T>; readonly missed: boolean };

/**
 * The last known state of the objects that a reflector watches, keyed by UID: an object deleted and created again under
 * its name is two objects, even if the deletion itself was missed. Objects are shared and must not be changed.
 */
export interface Store<T extends KubernetesObject> {
  /** How many objects it holds. */
  readonly size: number;
  /** The object of that UID, if there is one. */
  get(uid: string): DeepReadonly<T> | undefined;
  /** The object of that name; for objects without a namespace, `namespace` is undefined. */
  getByName(namespace: string | undefined, name: string): DeepReadonly<T> | undefined;
  /** All objects, in no order. The iterator sees changes made while it runs. */
  list(): IterableIterator<DeepReadonly<T>>;
  /**
   * Calls the listener on every change, after the store has applied it, in order. The listener must return at
   * once; its exceptions are logged and counted. Earlier changes are not repeated.
   */
  subscribe(listener: (change: StoreChange<T>) => void): Disposable;
}
