import { expect, test } from "vitest";
import { LruMap } from "./lru-map.ts";

test("it holds what was set, up to its limit, and forgets what was not used for longest", () => {
  const map = new LruMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);

  expect(map.get("a")).toBe(1);
  map.set("c", 3);

  expect(map.size).toBe(2);
  expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([1, undefined, 3]);
});

test("a value that is set again counts as used, and takes no room of its own", () => {
  const map = new LruMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);

  map.set("a", 9);
  map.set("c", 3);

  expect(map.size).toBe(2);
  expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([9, undefined, 3]);
});

test("what was never set is not there, and takes no room", () => {
  const map = new LruMap<string, number>(1);

  expect(map.get("a")).toBeUndefined();
  expect(map.size).toBe(0);
});
