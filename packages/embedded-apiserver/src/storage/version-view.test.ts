import { describe, expect, it } from "vitest";
import type { ApiObject, Kind } from "../kinds/kind.ts";
import { Storage, type ObjectCollection, type StorageEvent } from "./storage.ts";
import { viewInVersion } from "./version-view.ts";

const hub: Kind = { group: "", version: "v1", kind: "Note", plural: "notes", singular: "note", namespaced: true, schema: "" };
/** Stored as v1 of the core group, where `text` is called `message`. */
const view: Kind = {
  ...hub,
  group: "example.com",
  version: "v1",
  storageGroup: "",
  conversion: {
    fromStorage: ({ message, ...rest }) => ({ ...rest, text: message }),
    toStorage: ({ text, ...rest }) => ({ ...rest, message: text }),
  },
};

function note(apiVersion: string, fields: object): ApiObject {
  return { kind: "Note", apiVersion, metadata: { namespace: "default", name: "a" }, ...fields } as ApiObject;
}

function collections(): { hub: ObjectCollection; view: ObjectCollection } {
  const storage = new Storage({ historyLimit: 100 });
  return { hub: storage.collection(hub), view: viewInVersion(storage.collection(view), view) };
}

describe("viewInVersion", () => {
  it("stores an object of the view in the stored version and shows it in both", () => {
    const notes = collections();

    const put = notes.view.put(note("example.com/v1", { text: "hello" }));

    expect(put.object).toMatchObject({ apiVersion: "example.com/v1", text: "hello", metadata: { resourceVersion: "2" } });
    expect(notes.hub.get("default", "a")?.object).toMatchObject({ apiVersion: "v1", message: "hello" });
    expect(notes.view.list()).toEqual([put]);
  });

  it("converts an object once, so that its JSON is shared", () => {
    const notes = collections();
    notes.hub.put(note("v1", { message: "hello" }));

    expect(notes.view.get("default", "a")).toBe(notes.view.get("default", "a"));
  });

  it("converts the events of a watch, the last state of a removed object too", () => {
    const notes = collections();
    const seen: StorageEvent[] = [];
    notes.view.subscribe((event) => seen.push(event));
    notes.hub.put(note("v1", { message: "hello" }));
    const stored = notes.view.get("default", "a");
    if (stored !== undefined) notes.view.remove(stored);

    expect(seen.map(({ type, current }) => [type, current.object["text"]])).toEqual([
      ["ADDED", "hello"],
      ["DELETED", "hello"],
    ]);
    expect(notes.hub.list()).toEqual([]);
  });
});
