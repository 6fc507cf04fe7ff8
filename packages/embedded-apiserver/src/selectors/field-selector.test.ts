import { expect, test } from "vitest";
import { fieldMatcher, parseFieldSelector } from "./field-selector.ts";
import type { ApiObject, Kind } from "../kinds/kind.ts";

const kind: Kind = {
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods",
  singular: "pod",
  namespaced: true,
  schema: "",
  fieldSelectors: { "spec.nodeName": (object) => object["spec"]?.nodeName ?? "" },
};
const pod: ApiObject = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "a,b", namespace: "ns", uid: "", resourceVersion: "", creationTimestamp: "" },
  spec: { nodeName: "n1" },
};

test.each([
  ["spec.nodeName=n1", true],
  ["spec.nodeName==n2", false],
  ["spec.nodeName!=n2", true],
  ["metadata.namespace=ns,spec.nodeName=n1", true],
  ["metadata.namespace=ns,spec.nodeName=n2", false],
  ["metadata.name=a\\,b", true],
])("%s selects: %s", (selector, expected) => {
  expect(fieldMatcher(parseFieldSelector(selector), kind)?.(pod)).toBe(expected);
});

test.each([
  ["spec.nodeName", "invalid selector: 'spec.nodeName'; can't understand 'spec.nodeName'"],
  ["metadata.name=a=b", "invalid field selector: unescaped character in value: 61"],
  ["metadata.name=a\\b", "invalid field selector: invalid escape sequence: \\b"],
  ["metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"],
  ["z,foo=b=c", "invalid field selector: unescaped character in value: 61"],
])("%s is refused: %s", (selector, message) => {
  expect(() => parseFieldSelector(selector)).toThrow(message);
});

test.each(["", ",", "=", "!="])("%j selects everything", (selector) => {
  expect(fieldMatcher(parseFieldSelector(selector), kind)).toBeUndefined();
});

test("a field that the kind does not support is refused", () => {
  expect(() => fieldMatcher(parseFieldSelector("foo=bar"), kind)).toThrow("field label not supported: foo");
});
