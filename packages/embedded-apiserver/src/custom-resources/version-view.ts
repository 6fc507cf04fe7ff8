import type { ApiObject, Kind } from "../kinds/kind.ts";
import { StoredObject, type ObjectCollection, type StorageEvent } from "../storage/storage.ts";

/** Cache of converted objects. */
const converted = new WeakMap<StoredObject, Map<string, StoredObject>>();

/**
 * Collection of a custom resource in one of its versions. Versions differ only in `apiVersion`.
 *
 * @param collection - objects as stored
 */
export function viewInVersion(collection: ObjectCollection, kind: Kind): ObjectCollection {
  const apiVersion = `${kind.group}/${kind.version}`;
  const storedVersion = `${kind.group}/${kind.storageVersion ?? kind.version}`;
  const view = (stored: StoredObject): StoredObject => inVersion(stored, apiVersion);
  const viewEvent = (event: StorageEvent): StorageEvent => ({
    ...event,
    current: view(event.current),
    previous: event.previous === undefined ? undefined : view(event.previous),
  });
  return {
    kind,
    get: (namespace, name) => {
      const stored = collection.get(namespace, name);
      return stored === undefined ? undefined : view(stored);
    },
    list: (namespace) => collection.list(namespace).map(view),
    listAt: (resourceVersion, namespace) => collection.listAt(resourceVersion, namespace).map(view),
    count: (namespace) => collection.count(namespace),
    *values(namespace) {
      for (const stored of collection.values(namespace)) yield view(stored);
    },
    put: (object) => view(collection.put(withVersion(object, storedVersion))),
    remove: (stored) => view(collection.remove(inVersion(stored, storedVersion))),
    eventsSince: (resourceVersion) => collection.eventsSince(resourceVersion).map(viewEvent),
    subscribe: (listener) => collection.subscribe((event) => listener(viewEvent(event))),
  };
}

function inVersion(stored: StoredObject, apiVersion: string): StoredObject {
  if (stored.object.apiVersion === apiVersion) return stored;
  const known = converted.get(stored)?.get(apiVersion);
  if (known !== undefined) return known;
  const made = new StoredObject(withVersion(stored.object, apiVersion), stored.resourceVersion);
  const versions = converted.get(stored) ?? new Map<string, StoredObject>();
  converted.set(stored, versions.set(apiVersion, made));
  return made;
}

/** `kind` and `apiVersion` come first, as in other objects. */
function withVersion({ kind, apiVersion: _old, ...fields }: Readonly<ApiObject>, apiVersion: string): ApiObject {
  return { kind, apiVersion, ...fields };
}
