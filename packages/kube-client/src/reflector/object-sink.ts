import type { DeepReadonly, KubernetesObject } from "../rest/objects.ts";

/** Where a reflector puts its objects. Each has a UID and a version. */
export interface ObjectSink<T extends KubernetesObject> {
  /** Number of objects that it holds. */
  readonly size: number;
  /** Whether the sink holds such an object; one that it does not hold may nevertheless be put. */
  accepts(object: DeepReadonly<T>): boolean;
  /** The held state of the object; `undefined` if there is none. */
  heldOf(object: DeepReadonly<T>): DeepReadonly<T> | undefined;
  /** A new list begins: its objects are collected, and then passed to {@link replace}. The collection may begin anew. */
  begin(): void;
  /** Adds the object, or replaces its earlier state. */
  put(object: DeepReadonly<T>): void;
  /** Removes the object, whose last state this is. */
  remove(object: DeepReadonly<T>): void;
  /**
   * Replaces the whole content.
   *
   * @param isSame - whether two states of one object are the same. Default: they have the same version
   * @returns number of differences
   */
  replace(objects: Iterable<DeepReadonly<T>>, isSame?: (a: DeepReadonly<T>, b: DeepReadonly<T>) => boolean): number;
}
