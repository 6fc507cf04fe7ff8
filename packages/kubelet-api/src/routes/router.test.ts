import fc from "fast-check";
import { expect, test } from "vitest";
import { text } from "../server/answer.ts";
import { Refusal } from "../server/refusal.ts";
import { Router } from "./router.ts";

const exec = () => text("exec");
const execByUid = () => text("exec by uid");
const files = () => text("files");
const router = new Router([
  { path: "/exec/{namespace}/{pod}/{container}", methods: ["GET", "POST"], handler: exec },
  { path: "/exec/{namespace}/{pod}/{uid}/{container}", methods: ["GET", "POST"], handler: execByUid },
  { path: "/logs/{path...}", methods: ["GET"], handler: files },
  { path: "/healthz", methods: "any", handler: exec },
]);

function refusalOf(method: string, path: string): Refusal | undefined {
  try {
    router.match(method, path.split("/"));
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

test("a route is matched by its number of segments, and its variables are returned", () => {
  expect(router.match("POST", ["exec", "default", "web", "main"])).toEqual({
    handler: exec,
    params: { namespace: "default", pod: "web", container: "main" },
  });
  expect(router.match("GET", ["exec", "default", "web", "u1", "main"])).toMatchObject({ handler: execByUid, params: { uid: "u1" } });
});

test("a final variable matches any number of segments, including none", () => {
  expect(router.match("GET", ["logs"])).toEqual({ handler: files, params: { path: "" } });
  expect(router.match("GET", ["logs", "a", "b"])).toEqual({ handler: files, params: { path: "a/b" } });
});

test("a route without methods accepts every method", () => {
  expect(router.match("OPTIONS", ["healthz"]).handler).toBe(exec);
});

test("a path without a route is 404 in a kubelet's words, also if only the letter case differs", () => {
  for (const path of ["", "exec", "exec/a/b", "EXEC/a/b/c", "exec/a/b/c/d/e", "healthz/x"])
    expect(refusalOf("GET", path), path).toMatchObject({ status: 404, message: "404: Page Not Found" });
});

test("a method that the route does not accept is 405, and the answer lists those that it accepts", () => {
  expect(refusalOf("DELETE", "exec/a/b/c")).toMatchObject({
    status: 405,
    message: "405: Method Not Allowed",
    headers: { allow: "GET, POST" },
  });
});

test("for every request there is a route, or the answer is 404 or 405", () => {
  const part = fc.oneof(fc.constantFrom("exec", "logs", "healthz", "__proto__", "constructor", ""), fc.string({ maxLength: 5 }));
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), fc.constantFrom("GET", "HEAD", "TRACE", ""), (parts, method) => {
      expect([undefined, 404, 405]).toContain(refusalOf(method, parts.join("/"))?.status);
    }),
    { numRuns: 1000 },
  );
});

test("the first matching route answers, and routes for other methods do not prevent that", () => {
  const [get, post, rest] = [() => text("get"), () => text("post"), () => text("rest")];
  const several = new Router([
    { path: "/a/{x}", methods: ["GET"], handler: get },
    { path: "/a/{y}", methods: ["POST"], handler: post },
    { path: "/a/{all...}", methods: ["POST", "PUT"], handler: rest },
  ]);

  expect(several.match("GET", ["a", "1"])).toEqual({ handler: get, params: { x: "1" } });
  expect(several.match("POST", ["a", "1"])).toEqual({ handler: post, params: { y: "1" } });
  expect(several.match("PUT", ["a", "1"])).toEqual({ handler: rest, params: { all: "1" } });
  expect(() => several.match("DELETE", ["a", "1"])).toThrow(expect.objectContaining({ headers: { allow: "GET, POST, PUT" } }));
});
