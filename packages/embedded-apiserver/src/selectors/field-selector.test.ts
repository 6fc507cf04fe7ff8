import { expect, test } from "vitest";
import { parseFieldSelector } from "./field-selector.ts";
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
  expect(parseFieldSelector(selector, kind)?.(pod)).toBe(expected);
});

test.each([
  ["foo=bar", "field label not supported: foo"],
  ["spec.nodeName", "invalid selector: 'spec.nodeName'; can't understand 'spec.nodeName'"],
  ["metadata.name=a=b", "invalid field selector: unescaped character in value: 61"],
])("%s is refused: %s", (selector, message) => {
  expect(() => parseFieldSelector(selector, kind)).toThrow(message);
});
