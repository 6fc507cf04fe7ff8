import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import type { NodeInspection } from "@virtual-kubelet/core";
import { takeStatus, type StatusDocument } from "../debug/status-document.ts";
import { nodeInspection, podInspection } from "../test-support/inspections.ts";
import { statusLines } from "./status-lines.ts";

const plain = { width: undefined, height: undefined, isColoured: false };

function documentOf(...nodes: readonly NodeInspection[]): StatusDocument {
  const program = { version: "1.2.3", kubernetes: "v1.36.3", pid: 7, host: "host-1", upMs: 60_000, waitsFor: undefined };
  const inspecting = nodes.map((node) => ({ name: node.name, node: { inspect: () => node } }));
  return takeStatus({ program: () => program, nodes: inspecting, now: () => 0 }, { nodes: [], limit: 100 });
}

const broken = podInspection({
  name: "broken",
  phase: "Pending",
  wantedPhase: "Pending",
  backEnd: "absent",
  next: "start",
  activity: { kind: "backingOff", inMs: 12_000 },
  failures: 4,
  problem: "start failed 4 times: no quota",
});

test("the state is the program, its nodes with their figures, and a table of pods", () => {
  const lines = statusLines([documentOf(nodeInspection({ pods: [broken, podInspection()], queues: [], permits: [] }))], plain);

  expect(lines.join("\n")).toBe(`virtual-kubelet 1.2.3, process 7 on host-1, up 60 s

node vk-1 ready
  pods     2, 2 Running
  provider mock answered 3 s ago, listed 2 pods 2 s ago
  lease    renewed 4 s ago, instance host-1
  watch    news 1 s ago, 1 lists, 2 restarts
  orphans  0 suspected
  events   0 waiting, 0 dropped, 0 failed

NAMESPACE  POD     PHASE    BACK END  NEXT   DOING
default    broken  Pending  absent    start  again in 12 s, attempt 5
  └ start failed 4 times: no quota
default    web     Running  present   -      -`);
});

test("a node's problems stand below its name", () => {
  const lines = statusLines([documentOf(nodeInspection({ problems: ["the provider does not answer: connection refused"] }))], plain);

  expect(lines.slice(2, 4)).toEqual(["node vk-1 ready", "  ! the provider does not answer: connection refused"]);
  expect(lines.at(-1)).toBe("no pods");
});

test("pods of several nodes have a column for the node", () => {
  const lines = statusLines(
    [documentOf(nodeInspection({ name: "a", pods: [podInspection()] }), nodeInspection({ name: "b", pods: [podInspection()] }))],
    plain,
  );

  expect(lines.slice(-3).map((line) => line.split(/ +/).slice(0, 2))).toEqual([
    ["NODE", "NAMESPACE"],
    ["a", "default"],
    ["b", "default"],
  ]);
});

test("a status that is not written yet is explained", () => {
  const lines = statusLines([documentOf(nodeInspection({ pods: [podInspection({ isStatusWritten: false })] }))], plain);

  expect(lines.at(-1)).toContain("* or >");
});

test.each([40, 80, 132])("no line is wider than %i characters", (width) => {
  const long = podInspection({ name: `long-${"x".repeat(100)}`, namespace: "a-namespace-with-a-long-name", problem: "p".repeat(300) });
  const node = nodeInspection({
    name: "n".repeat(60),
    pods: [long, broken],
    problems: [`bad ${"y".repeat(300)}`],
    stage: "listing",
    isReady: false,
  });

  const lines = statusLines([documentOf(node)], { width, height: undefined, isColoured: true });

  expect(lines.filter((line) => stripVTControlCharacters(line).trimEnd().length > width)).toEqual([]);
});

test("what does not fit the height is counted, and problems stay", () => {
  const pods = [broken, ...Array.from({ length: 50 }, (_, index) => podInspection({ name: `web-${index}` }))];

  const lines = statusLines([documentOf(nodeInspection({ pods }))], { width: 80, height: 24, isColoured: false });

  expect(lines.length).toBeLessThanOrEqual(24);
  expect(lines.join("\n")).toContain("start failed 4 times: no quota");
  const shown = lines.filter((line) => line.startsWith("default")).length;
  expect(lines.at(-1)).toBe(`… and ${51 - shown} more pods; --problems, --namespace and --pod choose`);
});

test("on a low screen the nodes' figures make room for pods", () => {
  const pods = [broken, ...Array.from({ length: 50 }, (_, index) => podInspection({ name: `web-${index}` }))];

  const lines = statusLines([documentOf(nodeInspection({ pods }))], { width: 60, height: 12, isColoured: false });

  expect(lines.length).toBeLessThanOrEqual(12);
  expect(lines.slice(0, 3)).toEqual([expect.stringContaining("virtual-kubelet"), "node vk-1 ready", "  pods     51, 51 Running"]);
  expect(lines.join("\n")).toContain("start failed 4 times");
  expect(lines.at(-1)).toMatch(/^… and \d+ more pods/);
});

test("names and messages of others cannot control the terminal", () => {
  const pod = podInspection({ problem: "failed \u001b[2J\r\nhidden" });

  const lines = statusLines([documentOf(nodeInspection({ pods: [pod], problems: ["\u001b]0;x\u0007down"] }))], plain);

  expect(lines.join("\n")).toContain("  └ failed hidden");
  // oxlint-disable-next-line eslint/no-control-regex -- none of these may be left
  expect(lines.join("")).not.toMatch(/[\u0000-\u001f]/);
});

test("without colours there is no escape, and with colours problems have one", () => {
  const document = documentOf(nodeInspection({ pods: [broken] }));

  expect(statusLines([document], plain).join("")).not.toContain("\u001b");
  expect(statusLines([document], { ...plain, isColoured: true }).join("")).toContain("\u001b[31m  └ start failed");
});
