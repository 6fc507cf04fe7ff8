import { expect, test } from "vitest";
import { discoveredMarks, discoveredNodeName, fleetLabelValue, isDiscoveredName, rememberedName } from "./discovered-name.ts";

test.each([
  ["far", "worker-1", "far-worker-1"],
  ["far", "ip-10-0-1-23.eu-central-1.compute.internal", "far-ip-10-0-1-23.eu-central-1.compute.internal"],
])("the virtual node of %s for %s is called %s", (prefix, name, expected) => {
  expect(discoveredNodeName(prefix, name)).toBe(expected);
});

test("a name that is too long for a label's value is cut, and a hash tells it from others", () => {
  const long = (end: string): string => discoveredNodeName("far", `${"a".repeat(70)}${end}`);

  expect(long("1")).toHaveLength(63);
  expect(long("1")).not.toBe(long("2"));
  expect(discoveredNodeName("far", `${"a".repeat(47)}.b${"c".repeat(40)}`)).toMatch(/^far-a{47}-[0-9a-f]{10}$/);
  expect(fleetLabelValue("far")).toBe("far");
  expect(fleetLabelValue("f".repeat(64))).toMatch(/^[0-9a-f]{10}$/);
});

test("a Node is known again by its marks, and no copy of them on another Node is", () => {
  const name = "a".repeat(70);
  const marks = discoveredMarks("far", name);
  const node = (nodeName: string) => ({ metadata: { name: nodeName, ...marks } });

  expect(rememberedName("far", node(discoveredNodeName("far", name)))).toBe(name);
  expect(rememberedName("far", node("another"))).toBeUndefined();
  expect(rememberedName("f", node(discoveredNodeName("f", name)))).toBeUndefined();
  expect(rememberedName("far", { metadata: { name: "far-a" } })).toBeUndefined();
});

test.each([
  ["a", true],
  ["a.b-c", true],
  ["A", false],
  ["a_b", false],
  ["-a", false],
  ["", false],
  ["a".repeat(254), false],
  [1, false],
  [undefined, false],
])("%j can be the name of a node: %s", (name, isName) => {
  expect(isDiscoveredName(name)).toBe(isName);
});
