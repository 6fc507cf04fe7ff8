import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseQuery } from "./query.ts";
import { Refusal } from "./refusal.ts";
import { parseRequestTarget } from "./request-target.ts";

function statusOf(run: () => unknown): number | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.status;
    throw error;
  }
}

describe("parseRequestTarget", () => {
  test("splits path and query, and decodes the segments of the path", () => {
    expect(parseRequestTarget("/containerLogs/default/web-0/ma%69n?follow=true&a=?")).toEqual({
      path: "/containerLogs/default/web-0/ma%69n",
      segments: ["containerLogs", "default", "web-0", "main"],
      query: "follow=true&a=?",
    });
  });

  test("adds no segment for a trailing slash, and an empty one for two slashes", () => {
    expect(parseRequestTarget("/runningpods/").segments).toEqual(["runningpods"]);
    expect(parseRequestTarget("/").segments).toEqual([]);
    expect(parseRequestTarget("/containerLogs/default//main").segments).toEqual(["containerLogs", "default", "", "main"]);
  });

  test("accepts the form that clients send to proxies", () => {
    expect(parseRequestTarget("http://node:10250/pods?x=1")).toEqual({ path: "/pods", segments: ["pods"], query: "x=1" });
  });

  test.each([
    "/pods/%zz",
    "/pods/%",
    "/pods/%ff",
    "/containerLogs/../secret",
    "/containerLogs/%2e%2e/x",
    "/containerLogs/a%2fb/c/d",
    "/containerLogs/a%5cb/c/d",
    "/containerLogs/a%00/c/d",
    "/containerLogs/a\u0001/c/d",
    "*",
    "pods",
    "",
  ])("refuses %j with 400", (url) => {
    expect(statusOf(() => parseRequestTarget(url))).toBe(400);
  });

  test("refuses a URL of more than 16 KiB with 414, except for commands", () => {
    const long = "x".repeat(16 * 1024);
    expect(statusOf(() => parseRequestTarget(`/pods?${long}`))).toBe(414);
    expect(statusOf(() => parseRequestTarget(`/exec/default/web/main?command=${long}`))).toBeUndefined();
    expect(statusOf(() => parseRequestTarget(`/nodes/vk-1/exec/default/web/main?command=${long}`))).toBeUndefined();
    expect(statusOf(() => parseRequestTarget(`/nodes/exec/pods?${long}`))).toBe(414);
  });

  test("refuses every URL with 4xx, or splits it into segments without separators, none of which is ..", () => {
    const unit = fc.constantFrom("/", "%", "2", "f", "F", "e", ".", "?", "&", "=", "\\", "\0", "é", "😀", "\ud800", "a", "exec", "+", ";");
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 60 }), (tail) => {
        const status = statusOf(() => {
          const { segments } = parseRequestTarget(`/${tail}`);
          for (const segment of segments) expect(segment === ".." || /[/\\\0]/.test(segment)).toBe(false);
        });
        expect([undefined, 400]).toContain(status);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("parseQuery", () => {
  test("keeps all values of a parameter in order", () => {
    const query = parseQuery("command=sh&command=-c&command=exit+7%26&input=1&flag");

    expect(query.all("command")).toEqual(["sh", "-c", "exit 7&"]);
    expect(query.first("command")).toBe("sh");
    expect(query.first("flag")).toBe("");
    expect(query.first("none")).toBeUndefined();
    expect(query.all("none")).toEqual([]);
  });

  test.each(["a=%zz", "%=1", "command=%ff"])("refuses %j with 400", (query) => {
    expect(statusOf(() => parseQuery(query))).toBe(400);
  });

  test("reads what URLSearchParams wrote", () => {
    const word = fc.string({ unit: "binary-ascii", maxLength: 8 });
    fc.assert(
      fc.property(fc.array(fc.tuple(word, word)), (pairs) => {
        const query = parseQuery(new URLSearchParams(pairs).toString());
        for (const [name] of pairs) expect(query.all(name)).toEqual(pairs.filter(([other]) => other === name).map(([, value]) => value));
      }),
    );
  });

  test("refuses every query with 400, or parses it", () => {
    const unit = fc.constantFrom("%", "2", "f", "&", "=", "+", ";", "é", "\ud800", "__proto__", "constructor", "command");
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 60 }), (text) => {
        expect([undefined, 400]).toContain(statusOf(() => parseQuery(text).all("__proto__")));
      }),
      { numRuns: 2000 },
    );
  });
});

test.each([
  ["https://node:10250/pods", "/pods"],
  ["HTTP://node/pods?x", "/pods"],
  ["//pods", "//pods"],
])("the path of %s is %s", (url, path) => {
  expect(parseRequestTarget(url).path).toBe(path);
});

test.each(["http://node", "ftp://node/pods", "xhttp://node/pods", "?x"])("%s has no path", (url) => {
  expect(statusOf(() => parseRequestTarget(url))).toBe(400);
});

test.each(["\u001f", "\u007f", "/", "\\", "\u0000"])("a segment may not contain %j", (character) => {
  expect(statusOf(() => parseRequestTarget(`/a${encodeURIComponent(character)}b`))).toBe(400);
});

test("a segment may contain a space, and dots beside other characters", () => {
  expect(parseRequestTarget("/a%20b/.../..a/.b").segments).toEqual(["a b", "...", "..a", ".b"]);
  for (const part of [".", ".."])
    expect(
      statusOf(() => parseRequestTarget(`/a/${part}/b`)),
      part,
    ).toBe(400);
});

test("a URL of more than 16 KiB is refused unless it carries a command", () => {
  const url = (root: string, length: number): string => `/${root}?`.padEnd(length, "x");

  expect(statusOf(() => parseRequestTarget(url("pods", 16_384)))).toBeUndefined();
  expect(() => parseRequestTarget(url("pods", 16_385))).toThrow("414: URI Too Long: 16385 bytes, at most 16384");
  for (const root of ["exec", "run"])
    expect(
      statusOf(() => parseRequestTarget(url(root, 60_000))),
      root,
    ).toBeUndefined();
});

test("an error explains in a few words what is wrong", () => {
  expect(() => parseRequestTarget("*")).toThrow("400: Bad Request: the URL has no path");
  expect(() => parseQuery("a=%zz")).toThrow("400: Bad Request: the query has an invalid escape");
});

test("a query has parameters with and without values, in order and decoded", () => {
  const query = parseQuery("a=1&b&&a=2&c=x=y&d+e=f%2Bg&=h");

  expect([query.all("a"), query.all("b"), query.all("c"), query.all("d e"), query.all(""), query.all("none")]).toEqual([
    ["1", "2"],
    [""],
    ["x=y"],
    ["f+g"],
    ["h"],
    [],
  ]);
  expect([query.first("a"), query.first("b"), query.first("none")]).toEqual(["1", "", undefined]);
});
