import { expect, test } from "vitest";
import { matchesAny, matchesObject } from "./pattern.ts";

test.for([
  ["app", "app", true],
  ["app", "apps", false],
  ["*", "", true],
  ["*", "team/a", true],
  ["topology.kubernetes.io/*", "topology.kubernetes.io/zone", true],
  ["topology.kubernetes.io/*", "topologyXkubernetes.io/zone", false],
  ["*-tls", "web-tls", true],
  ["*-tls", "web-tls-2", false],
  ["a*b*c", "a-b-b-c", true],
  ["a*b*c", "a-c-b", false],
  ["aa*aa", "aaa", false],
  ["a*a*a", "aa", false],
] as const)("%s and %s: %s", ([pattern, text, matches]) => {
  expect(matchesAny([pattern], text)).toBe(matches);
});

test("one of several patterns is enough, and none matches nothing", () => {
  expect(matchesAny(["x", "y*"], "yes")).toBe(true);
  expect(matchesAny([], "")).toBe(false);
});

test("a pattern with many stars is matched in no time", () => {
  expect(matchesAny([`${"a*".repeat(50)}b`], "a".repeat(5_000))).toBe(false);
});

test.for([
  [["*"], true],
  [["web"], true],
  [["shop/web"], true],
  [["shop/*"], true],
  [["*/web"], true],
  [["shop*"], false],
  [["other/*"], false],
  [[], false],
] as const)("of the object shop/web and %j: %s", ([patterns, matches]) => {
  expect(matchesObject(patterns, { namespace: "shop", name: "web" })).toBe(matches);
});
