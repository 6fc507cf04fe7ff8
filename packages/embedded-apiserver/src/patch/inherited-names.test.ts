import { expect, test } from "vitest";
import { applyPatch, type PatchType } from "./apply-patch.ts";

const configMap = { group: "", version: "v1", kind: "ConfigMap" };
const patched = (data: string, type: PatchType, body: string): string => {
  const object = JSON.parse(`{"data":${data}}`) as object;
  return JSON.stringify(applyPatch(object, { type, body: JSON.parse(body) }, configMap));
};

// These names are valid keys of a config map, and every JavaScript object inherits them.
test.each<[PatchType, string]>([
  ["merge", '{"data":{"__proto__":"x","constructor":"y"}}'],
  ["strategic", '{"data":{"__proto__":"x","constructor":"y"}}'],
  ["json", '[{"op":"add","path":"/data/__proto__","value":"x"},{"op":"replace","path":"/data/constructor","value":"y"}]'],
])("a %s patch writes keys that every object inherits", (type, body) => {
  expect(patched('{"a":"1"}', type, body)).toBe('{"data":{"a":"1","__proto__":"x","constructor":"y"}}');
  expect(patched('{"a":"1","__proto__":"x"}', "merge", '{"data":{"__proto__":null}}')).toBe('{"data":{"a":"1"}}');
});

test("a JSON patch does not reach what objects inherit", () => {
  expect(() => patched("{}", "json", '[{"op":"add","path":"/data/__proto__/polluted","value":"x"}]')).toThrow();
  expect("polluted" in {}).toBe(false);
});
