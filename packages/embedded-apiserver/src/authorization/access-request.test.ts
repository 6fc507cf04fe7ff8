import { expect, test } from "vitest";
import { parseResourcePath } from "../http/request-target.ts";
import { accessOf } from "./access-request.ts";

test.each([
  ["GET", "/api/v1/namespaces/a/pods", { verb: "list", resource: "pods", namespace: "a", name: "" }],
  ["GET", "/api/v1/namespaces/a/pods?watch=1", { verb: "watch" }],
  ["GET", "/api/v1/watch/pods", { verb: "watch", resource: "pods", namespace: "" }],
  ["GET", "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dx", { verb: "list", name: "x" }],
  ["HEAD", "/api/v1/namespaces/a/pods/x/status", { verb: "get", subresource: "status", name: "x" }],
  ["DELETE", "/apis/apps/v1/namespaces/a/deployments", { verb: "deletecollection", group: "apps" }],
  ["PATCH", "/api/v1/namespaces/a", { verb: "patch", resource: "namespaces", namespace: "a", name: "a" }],
  ["POST", "/healthz", { verb: "post", path: "/healthz" }],
])("%s %s is an access of its own", (method, url, expected) => {
  const { pathname, searchParams } = new URL(url, "http://server");

  expect(accessOf(method, { path: pathname, query: searchParams, target: parseResourcePath(pathname) })).toMatchObject(expected);
});
