import type { ObjectCollection, StorageEvent, StoredObject } from "./storage.ts";

/** How {@link mapCollection} shows and changes objects. */
export interface CollectionMapping extends Pick<ObjectCollection, "kind" | "put" | "remove"> {
  /** Form of an object in which it is read. It must return the same form for the same object. */
  readonly view: (stored: StoredObject) => StoredObject;
}

/** A collection whose reads, lists and events show each object in another form. */
export function mapCollection(collection: ObjectCollection, { kind, view, put, remove }: CollectionMapping): ObjectCollection {
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
    put,
    remove,
    eventsSince: (resourceVersion) => collection.eventsSince(resourceVersion).map(viewEvent),
    subscribe: (listener) => collection.subscribe((event) => listener(viewEvent(event))),
  };
}
