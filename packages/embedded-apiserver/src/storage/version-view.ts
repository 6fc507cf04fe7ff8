import { apiVersionOf } from "../kinds/api-version.ts";
import { isStorageKind, storageFormOf, type ApiObject, type Kind } from "../kinds/kind.ts";
import { mapCollection } from "./mapped-collection.ts";
import { StoredObject, type ObjectCollection } from "./storage.ts";

/** Cache of converted objects by kind. */
const converted = new WeakMap<StoredObject, WeakMap<Kind, StoredObject>>();

/**
 * Collection of a kind that is stored as another version, or as a kind of another group. Without {@link Kind.conversion} the versions differ
 * only in `apiVersion`.
 *
 * @param collection - objects as stored
 */
export function viewInVersion(collection: ObjectCollection, kind: Kind): ObjectCollection {
  const view = (stored: StoredObject): StoredObject => inVersion(stored, kind);
  return mapCollection(collection, {
    kind,
    view,
    put: (object) => view(collection.put(toStorage(object, kind))),
    remove: (viewed) => view(collection.remove(originalOf(collection, viewed, kind))),
  });
}

/**
 * Remembers the form of a stored object in a kind's version, so that {@link Kind.conversion} is not called for it.
 *
 * @param object - in the version of `kind`, with the resourceVersion of `stored`
 */
export function rememberConverted(stored: StoredObject, kind: Kind, object: ApiObject): StoredObject {
  const made = new StoredObject(object, stored.resourceVersion);
  const kinds = converted.get(stored) ?? new WeakMap<Kind, StoredObject>();
  converted.set(stored, kinds.set(kind, made));
  return made;
}

/** Form of a stored object in a kind's version that is already known; `undefined` before its first conversion. */
export function knownConversion(stored: StoredObject, kind: Kind): StoredObject | undefined {
  return stored.object.apiVersion === apiVersionOf(kind) ? stored : converted.get(stored)?.get(kind);
}

function inVersion(stored: StoredObject, kind: Kind): StoredObject {
  const known = knownConversion(stored, kind);
  if (known !== undefined) return known;
  const { conversion } = kind;
  const object = conversion === undefined ? stored.object : conversion.fromStorage(stored.object);
  return rememberConverted(stored, kind, withVersion(object, apiVersionOf(kind)));
}

function toStorage(object: ApiObject, kind: Kind): ApiObject {
  const storageVersion = apiVersionOf(storageFormOf(kind));
  if (object.apiVersion === storageVersion) return object;
  return withVersion(kind.conversion === undefined ? object : kind.conversion.toStorage(object), storageVersion);
}

/** Converts an object between two kinds that are stored as the same one. The argument is not modified. */
export function convertObject(object: Readonly<ApiObject>, from: Kind, to: Kind): ApiObject {
  if (from === to) return object;
  const stored = toStorage(object, from);
  if (stored.apiVersion === apiVersionOf(to)) return stored === object ? { ...object } : stored;
  return withVersion(to.conversion === undefined ? stored : to.conversion.fromStorage(stored), apiVersionOf(to));
}

/**
 * The object as it is read after it has been stored, for a write that stores nothing: with the defaults of fields that the write has dropped.
 *
 * Source: k8s.io/apiserver v0.36.3 pkg/registry/generic/registry/dryrun.go, `copyInto`.
 */
export function asRead(object: ApiObject, kind: Kind): ApiObject {
  const { completeStored, conversion, webhookConversion } = kind;
  if (completeStored === undefined || (webhookConversion !== undefined && !isStorageKind(kind))) return object;
  const stored = completeStored(toStorage(object, kind));
  if (stored.apiVersion === apiVersionOf(kind)) return stored;
  return withVersion(conversion === undefined ? stored : conversion.fromStorage(stored), apiVersionOf(kind));
}

/** Stored object behind a view; converted back if the view's object is a later state of it. */
function originalOf(collection: ObjectCollection, viewed: StoredObject, kind: Kind): StoredObject {
  const { namespace = "", name } = viewed.object.metadata;
  const stored = collection.get(namespace, name);
  if (stored !== undefined && knownConversion(stored, kind) === viewed) return stored;
  return new StoredObject(toStorage({ ...viewed.object, metadata: { ...viewed.object.metadata } }, kind), viewed.resourceVersion);
}

/** `kind` and `apiVersion` come first, as in other objects. */
function withVersion({ kind, apiVersion: _old, ...fields }: Readonly<ApiObject>, apiVersion: string): ApiObject {
  return { kind, apiVersion, ...fields };
}
