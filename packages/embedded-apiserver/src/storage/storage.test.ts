import { expect, test } from "vitest";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { Storage, type Collection } from "./storage.ts";

const kind: Kind = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  singular: "configmap",
  namespaced: true,
  schema: "",
};

function collection(historyLimit = 100): Collection {
  return new Storage({ historyLimit }).collection(kind);
}

function object(name: string, value = "", namespace = "ns"): ApiObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace, uid: name, resourceVersion: "", creationTimestamp: "" },
    data: { value },
  };
}

function statesOf(stored: readonly { object: Readonly<ApiObject> }[]): string[] {
  return stored.map(({ object: { metadata, data } }) => `${metadata.namespace}/${metadata.name}=${data.value}`);
}

test("one counter numbers the changes of all kinds", () => {
  const storage = new Storage({ historyLimit: 10 });
  const other: Kind = { ...kind, plural: "others" };

  const first = storage.collection(kind).put(object("a"));
  const second = storage.collection(other).put(object("a"));

  expect([second.resourceVersion - first.resourceVersion, second.object.metadata.resourceVersion]).toEqual([
    1,
    String(second.resourceVersion),
  ]);
  expect(storage.resourceVersion).toBe(second.resourceVersion);
});

test("objects are ordered as etcd orders their keys", () => {
  const objects = collection();
  for (const [namespace, name] of [
    ["b", "a"],
    ["a", "z"],
    ["a-b", "x"],
    ["a", "B"],
  ] as const)
    objects.put(object(name, "", namespace));

  expect(statesOf(objects.list())).toEqual(["a-b/x=", "a/B=", "a/z=", "b/a="]);
});

test("the state of an earlier version can be listed", () => {
  const objects = collection();
  objects.put(object("a", "1"));
  const removed = objects.put(object("b", "1"));
  const { resourceVersion } = objects.put(object("other", "1", "x"));
  objects.put(object("a", "2"));
  objects.remove(removed);
  objects.put(object("c", "1"));
  objects.put(object("a", "3"));

  expect(statesOf(objects.listAt(resourceVersion))).toEqual(["ns/a=1", "ns/b=1", "x/other=1"]);
  expect(statesOf(objects.listAt(resourceVersion, "ns"))).toEqual(["ns/a=1", "ns/b=1"]);
  expect(statesOf(objects.list())).toEqual(["ns/a=3", "ns/c=1", "x/other=1"]);
});

test("the history is bounded, and older versions get a 410", () => {
  const objects = collection(10);
  const { resourceVersion } = objects.put(object("a"));
  for (let index = 0; index < 50; index++) objects.put(object("a", String(index)));

  expect(() => objects.eventsSince(resourceVersion)).toThrow(/^too old resource version: \d+ \(\d+\)$/);
  expect(objects.eventsSince(resourceVersion + 45).map(({ resourceVersion: version }) => version - resourceVersion)).toEqual([
    46, 47, 48, 49, 50,
  ]);
});

test("an object's JSON is encoded once while it is the latest version", () => {
  const objects = collection();
  const first = objects.put(object("a", "1"));

  const json = first.json;
  const again = first.json;
  objects.put(object("a", "2"));

  expect(again).toBe(json);
  expect(first.json).toEqual(json);
  expect(JSON.parse(json.toString())).toEqual(first.object);
});

test("if a listener writes, the other listeners still see the first change first", () => {
  const objects = collection();
  const seen: string[] = [];
  objects.subscribe(({ type, current }) => {
    if (type === "DELETED") objects.put(object("a", "again"));
    seen.push(`early ${type} ${current.object["data"].value}`);
  });
  objects.subscribe(({ type, current }) => void seen.push(`late ${type} ${current.object["data"].value}`));

  objects.remove(objects.put(object("a", "1")));

  expect(seen.filter((line) => line.startsWith("late"))).toEqual(["late ADDED 1", "late DELETED 1", "late ADDED again"]);
});
