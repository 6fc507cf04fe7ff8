import { expect, test } from "vitest";
import { brokenLinks, foreignRequests, linksOf } from "./check-links.ts";

const pages = (texts: Readonly<Record<string, string>>): ReturnType<typeof brokenLinks> =>
  brokenLinks(new Map(Object.entries(texts).map(([path, html]) => [path, linksOf(html)])), new Set(["assets/a.css"]));

test("links to pages, anchors, files and other hosts are good", () => {
  expect(
    pages({
      "index.html":
        '<a href="guides/a.html#x"></a><link href="assets/a.css"/><a href="https://example.com/x"></a><a href="guides/a.html#a%26b">',
      "guides/a.html": '<h2 id="x"></h2><h2 id="a&amp;b"></h2><a href="#x"></a><a href="../"></a><a href=""></a>',
    }),
  ).toEqual([]);
});

test("a link to a missing page, a missing anchor or Markdown is reported with its page", () => {
  expect(pages({ "guides/a.html": '<a href="b.html"></a><a href="#y"></a><a href="../media/x.md"></a>' })).toEqual([
    "guides/a.html links to b.html, which does not exist",
    "guides/a.html links to #y, which has no such anchor",
    "guides/a.html links to ../media/x.md, which is Markdown and not a page",
  ]);
});

test("links inside scripts and comments do not count", () => {
  expect(pages({ "a.html": `<script>x('<a href="b.html">')</script><!-- <a href="c.html"> -->` })).toEqual([]);
});

test("scripts, styles, pictures and fonts of other hosts are reported, links to read are not", () => {
  const html =
    '<script src="https://cdn.example/x.js"></script><link rel="stylesheet" href="//a.example/y.css"><style>@import url(\'https://f.example/z\');</style><a href="https://example.com">';
  expect(foreignRequests(html)).toEqual(["https://cdn.example/x.js", "//a.example/y.css", "https://f.example/z"]);
});
