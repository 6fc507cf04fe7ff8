import { expect, test } from "vitest";
import type { JsonValue } from "../../json/json-value.ts";
import { unstructuredProblem } from "./unstructured-problem.ts";

const problem = (value: JsonValue): string => unstructuredProblem("io.k8s.api.apps.v1.Deployment", value, "the decoder's");

test.each<[string, JsonValue]>([
  ["cannot restore struct from: int64", { spec: 5 }],
  ["cannot restore map from slice", { metadata: { labels: ["a"] } }],
  ["cannot restore slice from map", { metadata: { finalizers: {} } }],
  ["cannot convert int64 to string", { metadata: { labels: { a: 5 } } }],
  ["unrecognized type: string", { metadata: { labels: { a: 1.5 } } }],
  ["unrecognized type: string", { metadata: { name: true } }],
  ["cannot convert float64 to int32", { spec: { replicas: 1.5 } }],
  ["unrecognized type: int32", { spec: { replicas: "1" } }],
  ["unrecognized type: bool", { spec: { paused: 1 } }],
  ["json: cannot unmarshal number into Go value of type string", { metadata: { creationTimestamp: 5 } }],
  ["json: cannot unmarshal bool into Go value of type int32", { spec: { strategy: { rollingUpdate: { maxSurge: true } } } }],
  ["unrecognized type: string", { spec: { template: { spec: { containers: [{ name: "a" }, { name: {} }] } } } }],
])("%s", (message, value) => {
  expect(problem(value)).toBe(message);
});

test("the decoder's problem is told if the converter has none", () => {
  expect(problem({ spec: { replicas: 1, paused: null } })).toBe("the decoder's");
  expect(unstructuredProblem("io.k8s.api.core.v1.Secret", { data: { a: "*" } }, "illegal base64 data at input byte 0")).toBe(
    "error decoding from json: illegal base64 data at input byte 0",
  );
});
