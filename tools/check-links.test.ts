import { expect, test } from "vitest";
import { linkedFiles } from "./check-links.ts";

test("only links to files count, without their fragment", () => {
  const page = "[a](docs/a.md#part) [b](https://example.org/b.md) [c](#c) [d](../d)";

  expect(linkedFiles(page)).toEqual(["docs/a.md", "../d"]);
});

test("code is not looked into", () => {
  expect(linkedFiles("```md\n[a](a.md)\n```\n`[b](b.md)`\n")).toEqual([]);
});
