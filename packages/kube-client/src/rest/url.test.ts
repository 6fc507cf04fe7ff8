import { expect, test } from "vitest";
import { resources } from "./resources.ts";
import { listQueryString, resourcePath } from "./url.ts";

test("resourcePath names objects, collections and subresources of core and other groups", () => {
  expect(resourcePath(resources.pods, { namespace: "default", name: "web", subresource: "status" })).toBe(
    "/api/v1/namespaces/default/pods/web/status",
  );
  expect(resourcePath(resources.pods, { namespace: "default" })).toBe("/api/v1/namespaces/default/pods");
  expect(resourcePath(resources.pods, {})).toBe("/api/v1/pods");
  expect(resourcePath(resources.nodes, { name: "vk" })).toBe("/api/v1/nodes/vk");
  expect(resourcePath(resources.leases, { namespace: "kube-node-lease", name: "vk" })).toBe(
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/vk",
  );
});

test("a namespace given for a resource that has none is not part of the path", () => {
  expect(resourcePath(resources.nodes, { namespace: "default", name: "vk" })).toBe("/api/v1/nodes/vk");
});

test.each(["", ".", "..", "a/b", "a%2fb"])("a name such as %j never reaches the path", (name) => {
  expect(() => resourcePath(resources.pods, { namespace: "default", name })).toThrow(`name "${name}" cannot be part of a path`);
});

test("an object of a namespaced resource needs its namespace", () => {
  expect(() => resourcePath(resources.pods, { name: "web" })).toThrow('path of pods "web": its namespace is missing');
});

test("listQueryString leaves out what is not asked for, and the namespace", () => {
  expect(listQueryString({ namespace: "default", labelSelector: undefined })).toBe("");
  expect(listQueryString({ fieldSelector: "spec.nodeName=vk", limit: 500, resourceVersion: "" }, { watch: "true" })).toBe(
    "?watch=true&fieldSelector=spec.nodeName%3Dvk&limit=500&resourceVersion=",
  );
});

test("what has a meaning in a URL loses it in a path", () => {
  expect(resourcePath(resources.nodes, { name: "system:node?a=b#c d" })).toBe("/api/v1/nodes/system%3Anode%3Fa%3Db%23c%20d");
});

test.each(["a.b", "...", ".a", "a..b"])("dots in a name such as %j are no steps", (name) => {
  expect(resourcePath(resources.nodes, { name })).toBe(`/api/v1/nodes/${name}`);
});

test.each([
  [{ namespace: "", name: "web" }, 'namespace "" cannot be part of a path'],
  [{ namespace: "..", name: "web" }, 'namespace ".." cannot be part of a path'],
  [{ namespace: "default", name: "web", subresource: "" }, 'subresource "" cannot be part of a path'],
  [{ namespace: "default", name: "web", subresource: "proxy/.." }, 'subresource ".." cannot be part of a path'],
])("%j never reaches the path", (parts, problem) => {
  expect(() => resourcePath(resources.pods, parts)).toThrow(`path of pods: ${problem}`);
});

test("a subresource may have several parts", () => {
  expect(resourcePath(resources.nodes, { name: "vk", subresource: "proxy/metrics" })).toBe("/api/v1/nodes/vk/proxy/metrics");
});

test("listQueryString writes numbers and switches, also those that are off", () => {
  expect(listQueryString({ limit: 0, allowWatchBookmarks: false, continue: "a b&c" })).toBe(
    "?limit=0&allowWatchBookmarks=false&continue=a+b%26c",
  );
});
