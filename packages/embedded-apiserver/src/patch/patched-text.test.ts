import { expect, test } from "vitest";
import type { JsonObject } from "../json/json-value.ts";
import type { Kind } from "../kinds/kind.ts";
import { patchJson, type ParsedPatch } from "./patch-json.ts";
import { patchedText } from "./patched-text.ts";

const kind: Kind = {
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments",
  singular: "deployment",
  namespaced: true,
  schema: "io.k8s.api.apps.v1.Deployment",
};
const deployment: JsonObject = {
  kind: "Deployment",
  apiVersion: "apps/v1",
  metadata: { labels: { b: "1", a: "<" }, name: "d" },
  spec: { template: { spec: { dnsPolicy: "Default", containers: [{ image: "m", name: "a" }] } }, replicas: 1 },
};

function shown(patch: ParsedPatch): string {
  return patchedText(kind, deployment, patch, patchJson(deployment, patch, kind.schema));
}

test("objects that a JSON patch opens are sorted, others have the order of the struct", () => {
  expect(shown({ type: "json", body: [{ op: "replace", path: "/spec/template/spec/dnsPolicy", value: 5 }] })).toBe(
    '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","labels":{"a":"\\u003c","b":"1"}},' +
      '"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"a","image":"m"}],"dnsPolicy":5}}}}',
  );
});

test("a value of a JSON patch stays as it was sent", () => {
  expect(shown({ type: "json", body: [{ op: "add", path: "/metadata", value: { z: 1, a: { c: 1, b: 2 } } }] })).toContain(
    '"metadata":{"z":1,"a":{"c":1,"b":2}},"spec":{"replicas":1,',
  );
});

test("what a merge patch adds is sorted, and the rest has the order of the struct", () => {
  expect(shown({ type: "merge", body: { spec: { selector: { z: 1, a: [{ c: 1, b: 2 }] } } } })).toBe(
    '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","labels":{"a":"\\u003c","b":"1"}},' +
      '"spec":{"replicas":1,"selector":{"a":[{"b":2,"c":1}],"z":1},"template":{"spec":{"containers":[{"name":"a","image":"m"}],"dnsPolicy":"Default"}}}}',
  );
});

test("a strategic merge patch is shown itself", () => {
  expect(
    shown({
      type: "strategic",
      body: { spec: { replicas: null, paused: true }, metadata: { labels: { x: "a b" }, finalizers: ["x", "y"] } },
    }),
  ).toBe("map[metadata:map[finalizers:[x y] labels:map[x:a b]] spec:map[paused:true replicas:<nil>]]");
});
