import { expect, test } from "vitest";
import { conformanceSections, groupRecord, summaryOf, type GroupOutcome, type JudgedSpec } from "./conformance-page.ts";
import { parseConformanceRun, renderConformanceRun, type ConformanceRun } from "./conformance-record.ts";

function judged(name: string, more: Partial<JudgedSpec> = {}): JudgedSpec {
  return { name, file: "common/node/pods.go", passed: true, seconds: 1, attempts: 1, output: "", ...more };
}

const outcome: GroupOutcome = {
  title: "Pods",
  minutes: 12.44,
  starts: { pods: 3, p50: 1, p90: 2, p99: 3 },
  leftOut: [{ tests: "back-off", why: "it takes long", count: 2 }],
  results: [
    judged("[sig-node] Pods waits", { passed: false, reason: "failed: late", limit: "no disk" }),
    judged("[sig-node] Pods ends", { passed: false, reason: "failed: a | b" }),
    judged("[sig-node] Pods runs", { who: "API server" }),
    judged("[sig-node] Lease", { file: "common/node/lease.go" }),
  ],
};
const refused: GroupOutcome = { ...outcome, minutes: 0.2, starts: undefined, results: outcome.results.slice(1) };

const run: ConformanceRun = {
  commit: "0123456789abcdef0123456789abcdef01234567",
  date: "2026-01-02",
  circumstances: ["here"],
  policies: [
    { name: "open", about: "all is allowed", groups: [groupRecord(outcome)] },
    { name: "default", about: "nothing is", groups: [groupRecord(refused)] },
  ],
};

test("results are counted by file, and keep the reasons of failures", () => {
  expect(groupRecord(outcome)).toEqual({
    title: "Pods",
    minutes: 12.4,
    starts: outcome.starts,
    files: [
      { file: "common/node/lease.go", of: 1, passed: 1, others: undefined },
      { file: "common/node/pods.go", of: 3, passed: 1, others: { count: 1, who: "API server" } },
    ],
    failed: [
      { name: "[sig-node] Pods waits", reason: "no disk" },
      { name: "[sig-node] Pods ends", reason: "failed: a | b" },
    ],
    leftOut: outcome.leftOut,
  });
  expect(summaryOf(groupRecord(outcome))).toBe("2 of 4, in 12 minutes");
});

test("the page names the commit and each policy, and shows their numbers side by side", () => {
  const page = conformanceSections(run, "##");

  expect(page).toContain("One run of commit `0123456789abcdef0123456789abcdef01234567`, 2026-01-02:");
  expect(page).toContain("- policy *open*: all is allowed\n- policy *default*: nothing is\n");
  expect(page).toContain("| Pods | **2 of 4** | **2 of 3** |");
  expect(page).toContain("- *open*: 2 of 4, in 12 minutes; 3 pods from their creation until they were seen running: p50 1.0 s, p90 2.0 s");
  expect(page).toContain("- *default*: 2 of 3, in 1 minutes\n");
  expect(page).toContain("| common/node/pods.go | 3 | 1 | 1 | 1: API server |");
});

test("the page names every failure under each policy, and every omitted test once", () => {
  const page = conformanceSections(run, "##");
  const [, open = "", rest = ""] = page.split("What does not pass with policy ");

  expect(open).toContain("- \\[sig-node\\] Pods waits: no disk\n");
  expect(open).toContain("- \\[sig-node\\] Pods ends: failed: a \\| b\n");
  expect(rest).not.toContain("Pods waits");
  expect(page.split("- 2 with `back-off` in the name: it takes long")).toHaveLength(2);
});

test("a record is read back unchanged, and a record without a commit is refused", () => {
  expect(conformanceSections(parseConformanceRun(renderConformanceRun(run)), "##")).toBe(conformanceSections(run, "##"));
  expect(() => parseConformanceRun(renderConformanceRun({ ...run, commit: "main" }))).toThrow("commit");
});
