import { expect, test } from "vitest";
import { guideProblems, readGuide, renderGuideList } from "./guides.ts";

test("the front page lists guides by category, in the site's order", () => {
  const guides = [
    { path: "docs/guides/b.md", title: "B", category: "Operate", description: "Runs B" },
    { path: "docs/guides/a.md", title: "A", category: "Start", description: "Starts A" },
  ];
  expect(renderGuideList(guides, ["Start", "Test", "Operate"], "docs")).toBe(
    "## Start\n\n- [A](guides/a.md): Starts A\n\n## Operate\n\n- [B](guides/b.md): Runs B",
  );
});

test("a guide without a description is refused with the name of the field", () => {
  expect(() => readGuide("docs/guides/a.md", "---\ntitle: A\ncategory: Start\n---\n\n# A\n")).toThrow(
    "docs/guides/a.md: the front matter lacks description",
  );
});

test("a guide without front matter is refused", () => {
  expect(() => readGuide("docs/guides/a.md", "# A\n")).toThrow("docs/guides/a.md: expected front matter");
});

test("every guide is on the site, in a category that the site has", () => {
  expect(guideProblems()).toEqual([]);
});
