import { describe, expect, test } from "vitest";
import { silentLogger } from "../telemetry/logger.ts";
import { noMetrics } from "../telemetry/metrics.ts";
import { ObjectStore } from "./object-store.ts";
import type { Pod } from "../rest/objects.ts";
import type { StoreChange } from "./store.ts";

describe("ObjectStore", () => {
  test("finds objects by UID and by name", () => {
    const { store } = create();
    const web = pod("u1", "web", "1");

    store.put(web);

    expect(store.get("u1")).toBe(web);
    expect(store.getByName("default", "web")).toBe(web);
    expect(store.getByName("other", "web")).toBeUndefined();
    expect([...store.list()]).toEqual([web]);
    expect(store.size).toBe(1);
  });

  test("tells additions, updates with what was before, and deletions with the last state", () => {
    const { store, changes } = create();
    const [first, second, last] = [pod("u1", "web", "1"), pod("u1", "web", "2"), pod("u1", "web", "3")];

    store.put(first);
    store.put(second);
    store.remove(last);

    expect(changes).toEqual([
      { type: "added", uid: "u1", object: first },
      { type: "updated", uid: "u1", object: second, previous: first },
      { type: "deleted", uid: "u1", object: last, missed: false },
    ]);
    expect(store.size).toBe(0);
    expect(store.getByName("default", "web")).toBeUndefined();
  });

  test("holds the change before it tells of it", () => {
    const { store } = create();
    const seen: unknown[] = [];
    store.subscribe((change) => void seen.push(store.get(change.uid)));
    const web = pod("u1", "web", "1");

    store.put(web);
    store.remove(web);

    expect(seen).toEqual([web, undefined]);
  });

  test("says nothing about an object it holds in that version, and about a deletion of one it does not hold", () => {
    const { store, changes } = create();
    store.put(pod("u1", "web", "1"));
    changes.length = 0;

    store.put(pod("u1", "web", "1"));
    store.remove(pod("u2", "db", "5"));

    expect(changes).toEqual([]);
  });

  test("takes an object under another's name for two events: the first was deleted, and nobody said so", () => {
    const { store, changes } = create();
    const [old, young] = [pod("u1", "web", "1"), pod("u2", "web", "9")];
    store.put(old);
    changes.length = 0;

    store.put(young);
    store.remove(old);

    expect(changes).toEqual([
      { type: "deleted", uid: "u1", object: old, missed: false },
      { type: "added", uid: "u2", object: young },
    ]);
    expect(store.getByName("default", "web")).toBe(young);
  });

  test("a late deletion of the old object leaves the young one's name alone", () => {
    const { store } = create();
    const [old, young] = [pod("u1", "web", "1"), pod("u2", "web", "9")];
    store.put(old);
    store.put(young);

    store.remove(old);

    expect(store.getByName("default", "web")).toBe(young);
    expect(store.size).toBe(1);
  });
});

describe("ObjectStore.replace", () => {
  test("tells the differences by UID, deletions first, and counts them", () => {
    const { store, changes } = create();
    const [same, old, changed] = [pod("u1", "same", "1"), pod("u2", "web", "2"), pod("u3", "db", "3")];
    for (const each of [same, old, changed]) store.put(each);
    changes.length = 0;
    const [young, newer] = [pod("u4", "web", "7"), pod("u3", "db", "8")];

    const count = store.replace([pod("u1", "same", "1"), young, newer]);

    expect(count).toBe(3);
    expect(changes).toEqual([
      { type: "deleted", uid: "u2", object: old, missed: false },
      { type: "added", uid: "u4", object: young },
      { type: "updated", uid: "u3", object: newer, previous: changed },
    ]);
    expect(store.get("u1")).toBe(same);
    expect(store.getByName("default", "web")).toBe(young);
    expect(store.size).toBe(3);
  });

  test("takes a list in which an object stands twice, deleted and made again between two pages, and the name is the young one's", () => {
    const { store } = create();
    const [old, young] = [pod("u1", "web", "1"), pod("u2", "web", "9")];

    store.replace([old, young]);
    store.remove(old);

    expect(store.getByName("default", "web")).toBe(young);
    expect(store.size).toBe(1);
  });

  test("is whole before the first difference is told", () => {
    const { store } = create();
    const sizes: number[] = [];
    store.subscribe(() => void sizes.push(store.size));

    store.replace([pod("u1", "a", "1"), pod("u2", "b", "1")]);

    expect(sizes).toEqual([2, 2]);
  });
});

describe("ObjectStore.subscribe", () => {
  test("ends when disposed, and a listener that throws is counted and disturbs no other", () => {
    const counted: string[] = [];
    const store = new ObjectStore<Pod>({ logger: silentLogger, metrics: { ...noMetrics, count: (name) => void counted.push(name) } });
    const seen: string[] = [];
    store.subscribe(() => {
      throw new Error("bad listener");
    });
    const subscription = store.subscribe((change) => void seen.push(change.type));

    store.put(pod("u1", "web", "1"));
    subscription[Symbol.dispose]();
    store.put(pod("u1", "web", "2"));

    expect(seen).toEqual(["added"]);
    expect(counted).toEqual(["vk_store_listener_errors_total", "vk_store_listener_errors_total"]);
  });

  test("made inside a listener does not hear of the change under way", () => {
    const { store } = create();
    const heard: string[] = [];
    const first = store.subscribe(() => {
      first[Symbol.dispose]();
      store.subscribe((change) => void heard.push(change.type));
    });

    store.put(pod("u1", "web", "1"));
    expect(heard).toEqual([]);

    store.put(pod("u1", "web", "2"));
    expect(heard).toEqual(["updated"]);
  });
});

describe("ObjectStore, of objects as they may be,", () => {
  test("finds one without a namespace by its name", () => {
    const { store } = create();
    const node: Pod = { metadata: { uid: "n1", name: "vk", resourceVersion: "1" } };

    store.put(node);

    expect(store.getByName(undefined, "vk")).toBe(node);
    expect(store.getByName("default", "vk")).toBeUndefined();
  });

  test("takes those without a version for changed each time", () => {
    const { store, changes } = create();
    const web: Pod = { metadata: { uid: "u1", name: "web", namespace: "default" } };

    store.put(web);
    store.put({ ...web });
    store.replace([{ ...web }]);

    expect(changes.map(({ type }) => type)).toEqual(["added", "updated", "updated"]);
  });

  test("keeps namesakes of several namespaces apart", () => {
    const { store, changes } = create();
    const other: Pod = { metadata: { uid: "u2", name: "web", namespace: "other", resourceVersion: "1" } };

    store.put(pod("u1", "web", "1"));
    store.put(other);
    store.remove(other);

    expect(changes.map(({ type, uid }) => `${type} ${uid}`)).toEqual(["added u1", "added u2", "deleted u2"]);
    expect(store.getByName("default", "web")?.metadata?.uid).toBe("u1");
    expect(store.getByName("other", "web")).toBeUndefined();
  });

  test("moves the name on with each state of one object", () => {
    const { store } = create();
    const newer = pod("u1", "web", "2");

    store.put(pod("u1", "web", "1"));
    store.put(newer);

    expect(store.getByName("default", "web")).toBe(newer);
    expect(store.get("u1")).toBe(newer);
  });

  test("holds a namesake only once its predecessor is gone, and tells that first", () => {
    const { store } = create();
    store.put(pod("u1", "web", "1"));
    const sizes: number[] = [];
    store.subscribe(() => void sizes.push(store.size));

    store.put(pod("u2", "web", "2"));

    expect(sizes).toEqual([1, 1]);
  });
});

test("an empty list empties the store, names too, and the same list again is no difference", () => {
  const { store, changes } = create();
  store.put(pod("u1", "web", "1"));
  changes.length = 0;

  expect(store.replace([])).toBe(1);
  expect(changes).toEqual([{ type: "deleted", uid: "u1", object: pod("u1", "web", "1"), missed: true }]);
  expect(store.getByName("default", "web")).toBeUndefined();
  expect(store.replace([])).toBe(0);

  expect(store.replace([pod("u1", "web", "1")])).toBe(1);
  expect(store.replace([pod("u1", "web", "1")])).toBe(0);
});

test("a listener that fails is logged with the change, at the level that somebody looks at", () => {
  const records: object[] = [];
  const logger = { ...silentLogger, error: (fields: object) => void records.push(fields) };
  const store = new ObjectStore<Pod>({ logger, metrics: noMetrics });
  const error = new Error("bad listener");
  store.subscribe(() => {
    throw error;
  });

  store.put(pod("u1", "web", "1"));

  expect(records).toEqual([{ uid: "u1", change: "added", err: error }]);
});

test("a function that listens twice hears everything twice, until one of its subscriptions ends", () => {
  const { store } = create();
  let heard = 0;
  const listener = (): void => void heard++;
  const first = store.subscribe(listener);
  store.subscribe(listener);
  store.put(pod("u1", "web", "1"));
  expect(heard).toBe(2);

  first[Symbol.dispose]();
  first[Symbol.dispose]();
  store.put(pod("u1", "web", "2"));

  expect(heard).toBe(3);
});

function create(): { store: ObjectStore<Pod>; changes: StoreChange<Pod>[] } {
  const store = new ObjectStore<Pod>({ logger: silentLogger, metrics: noMetrics });
  const changes: StoreChange<Pod>[] = [];
  store.subscribe((change) => void changes.push(change));
  return { store, changes };
}

function pod(uid: string, name: string, resourceVersion: string): Pod {
  return { metadata: { uid, name, namespace: "default", resourceVersion } };
}
