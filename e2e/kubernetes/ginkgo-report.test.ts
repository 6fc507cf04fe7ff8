import { expect, test } from "vitest";
import { chosenSpecs, specResults, type GinkgoReport, type GinkgoSpec } from "./ginkgo-report.ts";

function spec(text: string, State: string, message?: string): GinkgoSpec {
  return {
    ContainerHierarchyTexts: ["[sig-node] Pods"],
    LeafNodeType: "It",
    LeafNodeText: text,
    LeafNodeLocation: { FileName: "k8s.io/kubernetes/test/e2e/common/node/pods.go" },
    State,
    RunTime: 2e9,
    ...(message !== undefined && { Failure: { Message: message } }),
  };
}

const report = (...specs: GinkgoSpec[]): GinkgoReport => [{ SpecReports: specs }];
const chosen = chosenSpecs(report(spec("runs", "passed"), spec("ends", "passed"), spec("waits", "passed"), spec("other", "skipped")));

test("the tests that pass in a dry run are selected", () => {
  expect([...chosen]).toEqual(["[sig-node] Pods runs", "[sig-node] Pods ends", "[sig-node] Pods waits"]);
});

test("a selected test that fails, is skipped or does not run has failed, with the reason", () => {
  const results = specResults(report(spec("runs", "passed"), spec("ends", "failed", "it\ndid not"), spec("other", "skipped")), chosen);
  expect(results.map(({ name, passed, reason }) => [name, passed, reason])).toEqual([
    ["[sig-node] Pods runs", true, undefined],
    ["[sig-node] Pods ends", false, "failed: it did not"],
    ["[sig-node] Pods waits", false, "it was not run"],
  ]);
  const [first] = specResults(report(spec("runs", "skipped", "no feature")), chosen);
  expect(first).toMatchObject({ passed: false, reason: "skipped: no feature", file: "common/node/pods.go" });
});
