import { expect, test } from "vitest";
import { toOutcomes } from "./test-outcomes.ts";

const spec = (text: string, state: string, type = "It") => ({
  ContainerHierarchyTexts: type === "It" ? ["Client"] : null,
  LeafNodeText: text,
  LeafNodeType: type,
  State: state,
  Failure: { Message: `about ${text}` },
});

test("specs are named by their containers; setup counts only if it fails", () => {
  const specs = [spec("creates", "passed"), spec("applies", "panicked"), spec("later", "pending")];
  const setup = [spec("", "passed", "BeforeSuite"), spec("", "failed", "AfterSuite")];

  expect(toOutcomes("", [{ SpecReports: [...specs, ...setup] }, { SpecReports: null }])).toEqual([
    { name: "Client creates", outcome: "passed", message: "about creates" },
    { name: "Client applies", outcome: "failed", message: "about applies" },
    { name: "Client later", outcome: "skipped", message: "about later" },
    { name: "AfterSuite", outcome: "failed", message: "about " },
  ]);
});

test("tests of Go count, except one that runs a suite", () => {
  const output = `=== RUN   TestMapper
=== RUN   TestMapper/cached
--- FAIL: TestMapper (0.10s)
    --- SKIP: TestMapper/cached (0.10s)
=== RUN   TestClient
Running Suite: Client Suite - /source/pkg/client
--- PASS: TestClient (5.00s)
`;

  expect(toOutcomes(output, [])).toEqual([
    { name: "TestMapper", outcome: "failed" },
    { name: "TestMapper/cached", outcome: "skipped" },
  ]);
});
