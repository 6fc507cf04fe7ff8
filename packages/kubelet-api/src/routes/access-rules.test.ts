import { expect, test } from "vitest";
import { subresourcesOf, verbOf } from "./access-rules.ts";

test.each([
  ["stats/summary", ["stats"]],
  ["stats", ["stats"]],
  ["statsfoo", ["proxy"]],
  ["metrics", ["metrics"]],
  ["metrics/resource", ["metrics"]],
  ["logs/kubelet.log", ["log"]],
  ["checkpoint/a/b/c", ["checkpoint"]],
  ["statusz", ["statusz"]],
  ["flagz", ["configz"]],
  ["pods", ["pods", "proxy"]],
  ["runningpods", ["pods", "proxy"]],
  ["healthz/ping", ["healthz", "proxy"]],
  ["configz", ["configz", "proxy"]],
  ["containerLogs/a/b/c", ["proxy"]],
  ["exec/a/b/c", ["proxy"]],
  ["EXEC/a/b/c", ["proxy"]],
  ["debug/pprof/heap", ["proxy"]],
  ["", ["proxy"]],
])("/%s needs %j", (path, expected) => {
  expect(subresourcesOf(path.split("/"))).toEqual(expected);
});

test("each HTTP method has its verb; a method without one has an empty verb", () => {
  const verbs = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"].map((method) => verbOf(method, ["pods"]));

  expect(verbs).toEqual(["get", "create", "update", "patch", "delete", "", ""]);
});

test.each(["exec", "attach", "run", "portForward"])("%s needs create with every method", (root) => {
  expect(["GET", "POST", "HEAD"].map((method) => verbOf(method, [root, "a", "b", "c"]))).toEqual(["create", "create", "create"]);
});

test.each(["", "exe", "execs", "Exec", "containerLogs", "portforward"])("%j needs the verb of its method", (root) => {
  expect(["GET", "POST"].map((method) => verbOf(method, [root]))).toEqual(["get", "create"]);
});
