import { DecodeError } from "../errors/decode-error.ts";
import type { KubernetesObject } from "../rest/objects.ts";
import type { Resource } from "../rest/resources.ts";
import { deepFreeze } from "./deep-freeze.ts";
import type { ObjectSink } from "./object-sink.ts";
import { SharedParts } from "./shared-parts.ts";

/** Options of {@link ObjectPreparation}, as in `ReflectorOptions`. */
export interface ObjectPreparationOptions<T extends KubernetesObject> {
  readonly resource: Resource<T>;
  readonly content?: "object" | "metadata" | undefined;
  readonly compact?: ((object: T) => void) | undefined;
  readonly freeze?: boolean | undefined;
  /** Where the objects go. */
  readonly sink: Pick<ObjectSink<T>, "accepts" | "heldOf">;
}

/** Normalizes freshly parsed objects for a store, and lets them share their equal parts. */
export class ObjectPreparation<T extends KubernetesObject> {
  readonly #options: ObjectPreparationOptions<T>;
  readonly #parts = new SharedParts();

  constructor(options: ObjectPreparationOptions<T>) {
    this.#options = options;
  }

  /**
   * Normalizes a freshly parsed object, in place.
   *
   * @param isKept - whether the store will hold it, if it accepts such objects
   * @throws DecodeError for an accepted object without UID or version
   */
  prepare(object: T, isKept: boolean): void {
    const { resource, content, freeze, compact, sink } = this.#options;
    // What is not kept need not be complete, either.
    if (!sink.accepts(object)) return;
    const { metadata } = object;
    if (!metadata?.uid || !metadata.resourceVersion)
      throw new DecodeError(`watch ${resource.plural}: an object without UID or resourceVersion`);
    // A list has them, and so may a watch whose server writes them elsewhere. Deleting the field would make the object slower and larger than leaving it empty.
    if (metadata.managedFields) metadata.managedFields = undefined;
    if (content === "metadata") {
      // The answer names another kind, and a server that does not know the form sends whole objects.
      for (const field in object) if (field !== "metadata") delete object[field];
    }
    object.apiVersion ??= resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
    object.kind ??= resource.kind;
    compact?.(object);
    if (isKept) this.#parts.share(object, sink.heldOf(object));
    if (freeze) deepFreeze(object);
  }
}
