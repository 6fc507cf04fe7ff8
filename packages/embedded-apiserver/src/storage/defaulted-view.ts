import type { ApiObject, Kind } from "../kinds/kind.ts";
import { mapCollection } from "./mapped-collection.ts";
import { StoredObject, type ObjectCollection } from "./storage.ts";

/** Forms of stored objects by the function that completed them. A definition whose schema changes has a new function. */
const completed = new WeakMap<NonNullable<Kind["completeStored"]>, WeakMap<StoredObject, StoredObject>>();

/**
 * Collection whose objects are read with the fields and defaults that their schema has today.
 *
 * @param complete - returns its argument if it changes nothing
 */
export function viewWithDefaults(collection: ObjectCollection, complete: NonNullable<Kind["completeStored"]>): ObjectCollection {
  const known = completed.get(complete) ?? new WeakMap<StoredObject, StoredObject>();
  completed.set(complete, known);
  const view = (stored: StoredObject): StoredObject => {
    let result = known.get(stored);
    if (result === undefined) known.set(stored, (result = withDefaults(stored, complete)));
    return result;
  };
  return mapCollection(collection, {
    kind: collection.kind,
    view,
    put: (object) => view(collection.put(object)),
    remove(viewed) {
      const { namespace = "", name } = viewed.object.metadata;
      const stored = collection.get(namespace, name);
      return view(collection.remove(stored !== undefined && view(stored) === viewed ? stored : viewed));
    },
  });
}

function withDefaults(stored: StoredObject, complete: (stored: Readonly<ApiObject>) => Readonly<ApiObject>): StoredObject {
  const object = complete(stored.object);
  return object === stored.object ? stored : new StoredObject(object, stored.resourceVersion);
}
