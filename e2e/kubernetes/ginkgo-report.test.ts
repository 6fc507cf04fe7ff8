import { expect, test } from "vitest";
import { groupSection, type GroupOutcome, type JudgedSpec } from "./conformance-page.ts";
import { chosenSpecs, specResults, type GinkgoReport, type GinkgoSpec } from "./ginkgo-report.ts";
import { whoInsteadOfKubelet } from "./spec-groups.ts";

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

test("what a dry run passes is chosen", () => {
  expect([...chosen]).toEqual(["[sig-node] Pods runs", "[sig-node] Pods ends", "[sig-node] Pods waits"]);
});

test("a chosen test that fails, is skipped or is not run has failed, with its reason", () => {
  const results = specResults(report(spec("runs", "passed"), spec("ends", "failed", "it\ndid not"), spec("other", "skipped")), chosen);
  expect(results.map(({ name, passed, reason }) => [name, passed, reason])).toEqual([
    ["[sig-node] Pods runs", true, undefined],
    ["[sig-node] Pods ends", false, "failed: it did not"],
    ["[sig-node] Pods waits", false, "it was not run"],
  ]);
  const [first] = specResults(report(spec("runs", "skipped", "no feature")), chosen);
  expect(first).toMatchObject({ passed: false, reason: "skipped: no feature", file: "common/node/pods.go" });
});

const group: Omit<GroupOutcome, "results"> = {
  title: "Pods",
  minutes: 12.4,
  starts: { pods: 3, p50: 1, p90: 2, p99: 3 },
  leftOut: [],
};

test("the page counts by file and names every failure, by its cause where that is known", () => {
  const results: JudgedSpec[] = [
    ...specResults(report(spec("runs", "passed"), spec("ends", "failed", "a | b"), spec("waits", "failed", "late")), chosen),
  ].map((result) => ({ ...result, limit: result.name.endsWith("waits") ? "no disk" : undefined }));
  const page = groupSection({ ...group, results }, ["today", "here"]);

  expect(page).toMatch(/^## Pods\n[^]*\n- today\n- here\n/);
  expect(page).toContain("**1 of 3, in 12 minutes**");
  expect(page).toContain("3 pods from their creation until they were seen running: p50 1.0 s, p90 2.0 s, p99 3.0 s.");
  expect(page).toContain("| common/node/pods.go | 1 | 3 |  |");
  expect(page).toContain("- \\[sig-node\\] Pods ends: failed: a \\| b");
  expect(page).toContain("- \\[sig-node\\] Pods waits: no disk");
});

test("the page tells which tests need no kubelet, and what is left out", () => {
  const [result] = specResults(report(spec("runs", "passed")), new Set(["[sig-node] Pods runs"]));
  const results: JudgedSpec[] = result ? [{ ...result, who: "API server" }] : [];
  const leftOut = [{ tests: "back-off", why: "it takes long", count: 2 }];
  const page = groupSection({ ...group, results, leftOut }, []);

  expect(page).toContain("| common/node/pods.go | 1 | 1 | 1: API server |");
  expect(page).toContain("- 2 with `back-off` in the name: it takes long");
});

test("who answers instead of a kubelet is told by file and name", () => {
  const file = "common/node/configmap.go";
  expect(whoInsteadOfKubelet({ file, name: "[sig-node] ConfigMap should run through a ConfigMap lifecycle [Conformance]" })).toBe(
    "API server",
  );
  expect(whoInsteadOfKubelet({ file, name: "[sig-node] ConfigMap should be consumable via the environment" })).toBeUndefined();
});
