import { expect, test } from "vitest";
import { parse } from "yaml";
import { renderManifests } from "./render-manifests.ts";

test("what kubectl's YAML takes for a bool or a number stays the text that it is", async () => {
  const names = ["no", "on", "y", "off", "0b11", "012", "12:30", "1_000", "1e3", "vk-1"];
  const object = { apiVersion: "v1", kind: "Node", metadata: { name: "no" }, names };

  const text = await renderManifests([{ head: [], objects: [{ why: "a node", object }] }]);

  // kubectl reads YAML 1.1.
  expect(parse(text, { version: "1.1" })).toEqual(object);
});
