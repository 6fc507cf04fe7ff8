import type { Steps } from "../rest/steps.ts";
import { apiVersionOf } from "../kinds/api-version.ts";
import { isStorageKind, storageFormOf, type ApiObject, type Kind, type WebhookConversion } from "../kinds/kind.ts";
import { StoredObject, type ObjectCollection, type StorageEvent } from "./storage.ts";
import { knownConversion, rememberConverted } from "./version-view.ts";

/** A read needs objects that a webhook has to convert first. The read succeeds when it is repeated afterwards. */
export class ConversionPending extends Error {
  /** Settled when the objects are converted, with the error of the conversion. */
  readonly settled: Promise<void>;

  constructor(kind: Kind, settled: Promise<void>) {
    super(`read ${kind.plural} as ${apiVersionOf(kind)}: a webhook has to convert objects first; read them again afterwards`);
    this.name = "ConversionPending";
    this.settled = settled;
    // The caller may not look at it.
    settled.catch(() => undefined);
  }
}

/** Reads or writes objects, again after a webhook has converted them. @param run - throws {@link ConversionPending} as long as it has to wait */
export function* afterConversion<Result>(run: () => Result | Steps<Result>): Steps<Result> {
  for (;;) {
    try {
      const result = run();
      return isSteps(result) ? yield* result : result;
    } catch (error) {
      if (!(error instanceof ConversionPending)) throw error;
      yield error.settled;
    }
  }
}

function isSteps<Result>(result: Result | Steps<Result>): result is Steps<Result> {
  return typeof result === "object" && result !== null && Symbol.iterator in result;
}

/** Stored form of a new object, and that form as the kind's version. */
interface PreparedWrite {
  readonly stored: ApiObject;
  readonly shown: ApiObject;
}

const prepared = new WeakMap<ApiObject, PreparedWrite>();

/**
 * Converts an object to its stored form and back before it is stored, as the real server does.
 *
 * @returns `undefined` if no webhook has to convert it
 */
export function prepareWrite(kind: Kind, object: ApiObject): Promise<void> | undefined {
  const { webhookConversion: convert } = kind;
  if (convert === undefined || isStorageKind(kind)) return undefined;
  return convertBothWays(convert, kind, object).then((write) => void prepared.set(object, write));
}

/** The object as it is read after {@link prepareWrite}. */
export function afterWrite(object: ApiObject): ApiObject {
  return prepared.get(object)?.shown ?? object;
}

async function convertBothWays(convert: WebhookConversion, kind: Kind, object: ApiObject): Promise<PreparedWrite> {
  const [stored] = await convert([object], apiVersionOf(storageFormOf(kind)));
  const [shown] = stored === undefined ? [] : await convert([stored], apiVersionOf(kind));
  if (stored === undefined || shown === undefined) throw new RangeError("convert an object: the conversion returned none");
  return { stored, shown };
}

/**
 * Collection of a kind whose objects a webhook converts. Each stored object is converted once per version; a list needs one call.
 *
 * @param collection - objects as stored
 * @returns a collection whose reads throw {@link ConversionPending} if objects are not converted yet
 */
export function viewByWebhook(collection: ObjectCollection, kind: Kind, convert: WebhookConversion): ObjectCollection {
  const apiVersion = apiVersionOf(kind);
  const known = (stored: StoredObject): StoredObject => knownConversion(stored, kind) ?? stored;
  const convertAll = async (missing: readonly StoredObject[]): Promise<void> => {
    const objects = await convert(
      missing.map(({ object }) => object),
      apiVersion,
    );
    missing.forEach((stored, index) => {
      const object = objects[index];
      if (object !== undefined) rememberConverted(stored, kind, object);
    });
  };
  const missingOf = (all: readonly StoredObject[]): StoredObject[] => all.filter((stored) => knownConversion(stored, kind) === undefined);
  const view = (all: readonly StoredObject[]): StoredObject[] => {
    const missing = missingOf(all);
    if (missing.length > 0) throw new ConversionPending(kind, convertAll(missing));
    return all.map(known);
  };
  const viewEvents = (events: readonly StorageEvent[]): StorageEvent[] => {
    view(events.flatMap(statesOf));
    return events.map((event) => ({ ...event, current: known(event.current), previous: event.previous && known(event.previous) }));
  };
  return {
    kind,
    get: (namespace, name) => {
      const stored = collection.get(namespace, name);
      return stored === undefined ? undefined : view([stored])[0];
    },
    list: (namespace) => view(collection.list(namespace)),
    listAt: (resourceVersion, namespace) => view(collection.listAt(resourceVersion, namespace)),
    count: (namespace) => collection.count(namespace),
    *values(namespace) {
      yield* view([...collection.values(namespace)]);
    },
    put(object) {
      const write = prepared.get(object);
      const stored = collection.put(write?.stored ?? (object.apiVersion === apiVersion && isStorageKind(kind) ? object : marked(object)));
      const shown = write?.shown ?? object;
      return stored.object === object ? stored : rememberConverted(stored, kind, withVersionOf(shown, stored));
    },
    remove({ object }) {
      const { namespace = "", name } = object.metadata;
      const current = collection.get(namespace, name);
      if (current === undefined) throw new RangeError(`remove ${kind.plural} ${name}: it is not stored`);
      const removed = collection.remove(current);
      return rememberConverted(removed, kind, withVersionOf(object, removed));
    },
    eventsSince: (resourceVersion) => viewEvents(collection.eventsSince(resourceVersion)),
    subscribe: (listener) => subscribeInOrder(collection, listener, { convertAll, missingOf, viewEvents }),
  };

  /** The stored object with the metadata of a deletion, which changes nothing else. */
  function marked({ metadata }: Readonly<ApiObject>): ApiObject {
    const current = collection.get(metadata.namespace ?? "", metadata.name)?.object;
    if (current === undefined) throw new RangeError(`store ${kind.plural} ${metadata.name}: it was not converted before`);
    const { labels, annotations } = current.metadata;
    const { labels: _labels, annotations: _annotations, ...rest } = metadata;
    return {
      ...current,
      metadata: { ...rest, ...(labels === undefined ? {} : { labels }), ...(annotations === undefined ? {} : { annotations }) },
    };
  }
}

function statesOf({ current, previous }: StorageEvent): StoredObject[] {
  return previous === undefined ? [current] : [current, previous];
}

function withVersionOf(object: Readonly<ApiObject>, { object: { metadata } }: StoredObject): ApiObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: metadata.resourceVersion } };
}

interface EventConversion {
  readonly convertAll: (missing: readonly StoredObject[]) => Promise<void>;
  readonly missingOf: (all: readonly StoredObject[]) => StoredObject[];
  readonly viewEvents: (events: readonly StorageEvent[]) => StorageEvent[];
}

/** Delivers changes in order, each when its object is converted. A change that cannot be converted is left out. */
function subscribeInOrder(
  collection: ObjectCollection,
  listener: (event: StorageEvent) => void,
  { convertAll, missingOf, viewEvents }: EventConversion,
): Disposable {
  let last: Promise<void> | undefined;
  let isEnded = false;
  const deliver = (event: StorageEvent): void => {
    if (!isEnded) for (const viewed of viewEvents([event])) listener(viewed);
  };
  const subscription = collection.subscribe((event) => {
    if (last === undefined && missingOf(statesOf(event)).length === 0) return deliver(event);
    const turn = (last ?? Promise.resolve())
      .then(() => convertAll(missingOf(statesOf(event))))
      .then(() => deliver(event))
      .catch(() => undefined)
      .then(() => {
        if (last === turn) last = undefined;
      });
    last = turn;
  });
  return {
    [Symbol.dispose]() {
      isEnded = true;
      subscription[Symbol.dispose]();
    },
  };
}
