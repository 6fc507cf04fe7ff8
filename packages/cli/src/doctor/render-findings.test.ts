import { expect, test } from "vitest";
import type { Finding } from "./finding.ts";
import { countFindings, renderCounts, renderFinding, sectionOf, toFindingsJson } from "./render-findings.ts";

const failed: Finding = {
  status: "fail",
  check: "node.ready",
  node: "vk",
  message: "NotReady since 2026-01-01T00:00:00Z: NodeStatusUnknown: Kubelet stopped posting node status.: no program reports it",
  repair: [
    "virtual-kubelet run --provider mock --nodename a-name-that-is-so-long-that-the-line-does-not-fit-into-the-terminal",
    "# or look why",
  ],
};

test("a finding fits into 80 columns, and its commands are not wrapped", () => {
  expect(renderFinding(failed, false).split("\n")).toEqual([
    "  FAIL  node.ready: NotReady since 2026-01-01T00:00:00Z: NodeStatusUnknown:",
    "        Kubelet stopped posting node status.: no program reports it",
    "          $ virtual-kubelet run --provider mock --nodename a-name-that-is-so-long-that-the-line-does-not-fit-into-the-terminal",
    "          # or look why",
    "",
  ]);
});

test("only the status is colored", () => {
  expect(renderFinding(failed, true).split("\n")[0]).toBe(
    "  \u001b[31mFAIL\u001b[0m  node.ready: NotReady since 2026-01-01T00:00:00Z: NodeStatusUnknown:",
  );
});

test("secrets and control characters are removed from text and JSON", () => {
  const finding = { ...failed, message: "proxy http://me:secret@p: \u001b[2J Bearer abcdefghij", repair: ["curl http://me:secret@p"] };

  for (const text of [renderFinding(finding, false), toFindingsJson([finding])]) {
    expect(text).not.toMatch(/secret|abcdefghij/);
    expect(text).not.toContain("\u001b");
  }
});

test("a private key is removed, but not a message about the line that begins one", () => {
  const begin = "-----BEGIN PRIVATE KEY-----";
  const shown = (message: string): string => toFindingsJson([{ ...failed, message }]);

  expect(shown(`expected a key in PEM, with ${begin}: correct it`)).toContain(`${begin}: correct it`);
  for (const key of [`${begin}\nMIGHAgEA\n`, `${begin}\\nMIGHAgEA`, `${begin} MIGHAgEA`]) expect(shown(key)).not.toContain("MIGHAgEA");
});

test("JSON has the counts and the stable names", () => {
  const passed: Finding = { status: "pass", check: "cluster.clock", message: "agree", repair: [] };

  expect(JSON.parse(toFindingsJson([failed, passed]))).toMatchObject({
    ok: false,
    summary: { pass: 1, warn: 0, fail: 1, skip: 0 },
    findings: [
      { check: "node.ready", node: "vk", status: "fail" },
      { check: "cluster.clock", status: "pass", repair: [] },
    ],
  });
  expect(JSON.parse(toFindingsJson([passed]))).toMatchObject({ ok: true });
});

test("sections are the groups of checks, and the nodes", () => {
  expect([
    sectionOf(failed),
    sectionOf({ ...failed, node: undefined }),
    sectionOf({ ...failed, node: undefined, check: "cluster.clock" }),
  ]).toEqual(["Node vk", "Nodes", "Cluster"]);
  expect(renderCounts(countFindings([failed]))).toBe("0 passed, 0 warnings, 1 failed, 0 skipped\n");
});
