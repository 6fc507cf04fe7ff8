import { expect, test } from "vitest";
import { replaceRegion } from "./marked-region.ts";

const page = "# Title\n\n<!-- generated:list -->\n\nold\n\n<!-- /generated:list -->\n\nAfter.\n";

test("only what stands between the marks changes", () => {
  expect(replaceRegion(page, "list", "new\n")).toBe(page.replace("old", "new"));
});

test("writing the same content again changes nothing", () => {
  expect(replaceRegion(page, "list", "old")).toBe(page);
});

test("a page without the marks is refused", () => {
  expect(() => replaceRegion(page, "table", "new")).toThrow(
    'there is no region "<!-- generated:table --> … <!-- /generated:table -->" to write to',
  );
});
