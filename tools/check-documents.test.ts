import { expect, test } from "vitest";
import { linkedFiles, namedSources, numberProblems } from "./check-documents.ts";

test("only links to files count, without their fragment", () => {
  const page = "[a](docs/a.md#part) [b](https://example.org/b.md) [c](#c) [d](../d)";

  expect(linkedFiles(page)).toEqual(["docs/a.md", "../d"]);
});

test("links inside code are skipped", () => {
  expect(linkedFiles("```md\n[a](a.md)\n```\n`[b](b.md)`\n")).toEqual([]);
});

test("a page names source files in prose, in code and in trees of folders", () => {
  const page = "`src/pod/next-action.ts`, `lease.test.ts`\n```text\nnetwork/  cni/run-plugin.ts\n```\nNAME.test.ts, `*.test.ts`, a.tsx";

  expect(namedSources(page)).toEqual(["next-action.ts", "lease.test.ts", "run-plugin.ts"]);
});

test("decision records are numbered from 1 without gaps, and no number is used twice", () => {
  expect(numberProblems(["0002-b.md", "0001-a.md"])).toEqual([]);
  expect(numberProblems(["0001-a.md", "0003-c.md"])).toEqual([
    "docs/adr/0003-c.md: expected number 0002, because records are numbered without gaps",
  ]);
  expect(numberProblems(["0001-a.md", "0001-b.md"])).toHaveLength(1);
});
