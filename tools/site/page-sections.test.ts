import { expect, test } from "vitest";
import { sectionsOf, textOf } from "./page-sections.ts";

test("a page is split at its headings", () => {
  const html =
    '<p>First.</p><h1 id="a" class="x">A <code>b</code><a href="#a"><svg><use/></svg></a></h1><p>One &amp; two</p><h2 id="c">C</h2><table><tr><td>x</td><td>y</td></tr></table>';
  expect(sectionsOf(html)).toEqual([
    { heading: "", anchor: "", text: "First." },
    { heading: "A b", anchor: "a", text: "One & two" },
    { heading: "C", anchor: "c", text: "x y" },
  ]);
});

test("a page without headings is one section", () => {
  expect(sectionsOf("<p>Text</p>")).toEqual([{ heading: "", anchor: "", text: "Text" }]);
});

test("inline marks do not split a word, and cells of a table do", () => {
  expect(textOf("<td>a<code>b</code></td><td>c</td><script>x()</script>")).toBe("ab c");
});
