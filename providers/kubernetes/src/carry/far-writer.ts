import { ConflictError, InvalidInputError, isConflict, isInvalidInput, isNotFound, UnavailableError } from "@virtual-kubelet/errdefs";
import type { ObjectMeta, OwnerReference } from "@virtual-kubelet/kube-client";
import type { FarCluster } from "../far/far-cluster.ts";
import { isAbsent } from "../far/is-absent.ts";
import { isOwnedBy, type FarOwner } from "../identity/tags.ts";
import { carryError } from "./carry-error.ts";
import type { Content } from "./content.ts";
import { newObject, objectPatch, resourceOf, type FarObject } from "./far-object.ts";

/** An object as the far API server stored it. */
export interface Stored {
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface FarWriterOptions {
  readonly far: Pick<FarCluster, "connection" | "ownerReference">;
  readonly owner: FarOwner;
}

/** How often a write looks at what it found in its way. Each time something else has changed the object in between. */
const maxAttempts = 4;

/** Writes and removes config maps and secrets of one node in the far cluster. Never touches an object that is not the node's. */
export class FarWriter {
  readonly #options: FarWriterOptions;

  constructor(options: FarWriterOptions) {
    this.#options = options;
  }

  /**
   * Makes the far object hold the content; one request if the guess is right.
   *
   * @param knownUid - UID of the node's object of that name; `undefined`: there is none. A guess
   * @throws ForbiddenError, QuotaExceededError, ConflictError (the name is taken) and InvalidInputError make a pod wait as
   * `CreateContainerConfigError`; UnavailableError
   */
  async write(object: FarObject, content: Content, knownUid: string | undefined, signal: AbortSignal): Promise<Stored> {
    const { namespace } = object;
    try {
      const owner = await this.#options.far.ownerReference(this.#options.owner, namespace, signal);
      let uid = knownUid;
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const stored = await (uid === undefined
          ? this.#create(object, content, owner, signal)
          : this.#patch(object, content, { uid, owner }, signal));
        if (stored) return stored;
        uid = await this.#ownUid(object, signal);
      }
      throw new UnavailableError("something else creates and deletes it all the time");
    } catch (error) {
      signal.throwIfAborted();
      throw carryError(object, error, content);
    }
  }

  /** Removes the object if it is the node's. @returns whether it was there */
  async remove(object: Pick<FarObject, "kind" | "namespace" | "name">, signal: AbortSignal): Promise<boolean> {
    const { kind, namespace, name } = object;
    const metadata = await this.#find(object, signal);
    if (!metadata?.uid || !isOwnedBy(metadata, this.#options.owner)) return false;
    return this.#delete({ kind, namespace, name }, metadata.uid, signal);
  }

  /** @returns `undefined` if there is an object of that name */
  async #create(object: FarObject, content: Content, owner: OwnerReference, signal: AbortSignal): Promise<Stored | undefined> {
    const body = newObject(object, content, owner);
    try {
      return storedAs(await this.#client.create(resourceOf(object.kind), body, { signal, answer: "metadata", managedFields: "drop" }));
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw error;
    }
  }

  /** @returns `undefined` if there is no object of that UID any more */
  async #patch(
    object: FarObject,
    content: Content,
    known: { readonly uid: string; readonly owner: OwnerReference },
    signal: AbortSignal,
  ): Promise<Stored | undefined> {
    const patch = { type: "strategic", body: objectPatch(object, content, known) } as const;
    try {
      return storedAs(
        await this.#client.patch(resourceOf(object.kind), object, patch, { signal, answer: "metadata", managedFields: "drop" }),
      );
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return undefined;
      if (isInvalidInput(error) && (await this.#makesRoom(object, content, known.uid, signal))) return undefined;
      throw error;
    }
  }

  /**
   * Deletes the object after an invalid patch if it can only be replaced: somebody made it immutable, or a secret has to get another type.
   *
   * @returns whether another attempt may succeed, also because there is another object of that name; a patch with the UID of the former one
   * is invalid
   */
  async #makesRoom(object: FarObject, content: Content, uid: string, signal: AbortSignal): Promise<boolean> {
    const { immutable, type, metadata } = await this.#client.get(resourceOf(object.kind), object, { signal });
    if (metadata?.uid !== uid) return true;
    const isFixed = immutable === true || (object.kind === "Secret" && type !== content.type);
    if (isFixed && isOwnedBy(metadata, this.#options.owner)) await this.#delete(object, uid, signal);
    return isFixed;
  }

  /** UID of the object of that name; `undefined` if there is none. @throws ConflictError if it is not the node's */
  async #ownUid(object: FarObject, signal: AbortSignal): Promise<string | undefined> {
    const metadata = await this.#find(object, signal);
    if (!metadata) return undefined;
    if (!isOwnedBy(metadata, this.#options.owner))
      throw new ConflictError(
        "an object of that name exists and does not have the labels of this node; it is left alone. Rename or delete it",
      );
    if (metadata.deletionTimestamp !== undefined) throw new UnavailableError("the earlier copy is still being deleted");
    return metadata.uid;
  }

  async #find(object: Pick<FarObject, "kind" | "namespace" | "name">, signal: AbortSignal): Promise<ObjectMeta | undefined> {
    const { kind, namespace, name } = object;
    try {
      const { metadata } = await this.#client.get(resourceOf(kind), { namespace, name }, { signal, answer: "metadata" });
      return metadata;
    } catch (error) {
      if (isAbsent(error, resourceOf(kind), name)) return undefined;
      throw error;
    }
  }

  /** @returns whether the object of that UID was there */
  async #delete(
    { kind, namespace, name }: Pick<FarObject, "kind" | "namespace" | "name">,
    uid: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    try {
      await this.#client.delete(resourceOf(kind), { namespace, name }, { preconditions: { uid } }, { signal });
      return true;
    } catch (error) {
      // Another object has the name now, or none.
      if (isConflict(error) || isAbsent(error, resourceOf(kind), name)) return false;
      throw error;
    }
  }

  get #client() {
    return this.#options.far.connection.client;
  }
}

function storedAs({ metadata }: { readonly metadata?: ObjectMeta | undefined }): Stored {
  const { uid, resourceVersion } = metadata ?? {};
  if (!uid || !resourceVersion) throw new InvalidInputError("the far API server's answer has no metadata.uid or metadata.resourceVersion");
  return { uid, resourceVersion };
}
