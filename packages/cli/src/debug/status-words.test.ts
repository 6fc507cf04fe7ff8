import { expect, test } from "vitest";
import { nodeInspection, podInspection } from "../test-support/inspections.ts";
import { nodeWords, podWords, programWords } from "./status-words.ts";

test.each([
  [{ activity: { kind: "idle" } }, "-"],
  [{ activity: { kind: "queued", forMs: 3_000 } }, "waits for a worker, 3 s"],
  [{ activity: { kind: "waitingForPermit", operation: "start", forMs: 90_000 } }, "waits for its turn to start, 90 s"],
  [{ activity: { kind: "calling", operation: "delete", forMs: 180_000, isGivenUp: false } }, "delete, 3 min"],
  [{ activity: { kind: "calling", operation: "start", forMs: 3_000, isGivenUp: true } }, "unanswered start, 3 s"],
  [{ activity: { kind: "working", forMs: 2_000 }, next: "inspect" }, "asks the provider, 2 s"],
  [{ activity: { kind: "working", forMs: 2_000 }, next: "confirm" }, "asks the API server, 2 s"],
  [{ activity: { kind: "working", forMs: 200 } }, "at work, 0 s"],
  [{ activity: { kind: "backingOff", inMs: 12_000 }, failures: 4 }, "again in 12 s, attempt 5"],
  [{ activity: { kind: "scheduled", inMs: 7_200_000 } }, "looks again in 2 h"],
] as const)("what happens to a pod: %j", (change, words) => {
  expect(podWords(podInspection(change)).doing).toBe(words);
});

test.each([
  [{}, "Running"],
  [{ phase: undefined, wantedPhase: undefined }, "(gone)"],
  [{ phase: "Pending", isStatusWritten: false }, "Pending > Running"],
  [{ isStatusWritten: false }, "Running *"],
])("a pod's phase: %j", (change, words) => {
  expect(podWords(podInspection(change)).phase).toBe(words);
});

test("a pod that ends has the rest of its grace period, or what it has exceeded it by", () => {
  const ending = (inMs: number): string => podWords(podInspection({ backEnd: "ending", ending: { graceSeconds: 30, inMs } })).backEnd;

  expect([ending(20_000), ending(-5_000)]).toEqual(["ending, 20 s", "ending, 5 s late"]);
});

test.each([
  [{}, "ready"],
  [{ stage: "waitingForLease", isReady: false }, "stands by: instance host-1 holds the lease"],
  [{ stage: "waitingForLease", isReady: false, lease: { ...nodeInspection().lease, holder: undefined } }, "waits for its lease"],
  [{ stage: "listing", isReady: false }, "waits for the first lists of pods"],
  [{ stage: "running", isReady: false }, "not ready"],
  [{ stage: "ended", isReady: false }, "has ended"],
] as const)("a node's state: %j", (change, words) => {
  expect(nodeWords(nodeInspection(change)).state).toBe(words);
});

test("a node's figures are about its pods, provider, lease, queues, calls, watch, orphans and events", () => {
  const { figures } = nodeWords(nodeInspection({ pods: [podInspection()] }));

  expect(figures.map(({ label, text }) => `${label}: ${text}`)).toEqual([
    "pods: 1, 1 Running",
    "provider: mock answered 3 s ago, listed 1 pods 2 s ago",
    "lease: renewed 4 s ago, instance host-1",
    "actions: 1 queued, 2 at work, 3 later, 4 failing",
    "calls: 2 under way, 6 wait to start",
    "watch: news 1 s ago, 1 lists, 2 restarts",
    "orphans: 0 suspected",
    "events: 0 waiting, 0 dropped, 0 failed",
  ]);
});

test("a program that stands by on the same host says for whom", () => {
  const program = { version: "1", kubernetes: "v1", pid: 7, host: "h", upMs: 0, waitsFor: "process 5" };

  expect(programWords(program)).toBe("virtual-kubelet 1, process 7 on h, up 0 s; stands by until process 5 on this host ends");
});

test.for<[failing: number, words: string]>([
  [0, "runs 2 of the 6 nodes of group sim, which has 2 instances, its share is 3"],
  [1, "runs 2 of the 6 nodes of group sim, which has 2 instances, its share is 3, and 1 failed and is tried again"],
])("the program tells what it runs of its group's nodes, of which %i failed", ([count, words]) => {
  const failing = Array.from({ length: count }, (_, index) => ({ node: `n-${index}`, problem: "no", attempt: 1 }));
  const shares = { group: "sim", nodes: 6, running: 2, assigned: 3, members: ["a", "b"], failing };
  const program = { version: "1", kubernetes: "v1", pid: 7, host: "h", upMs: 0, waitsFor: undefined, shares };

  expect(programWords(program)).toBe(`virtual-kubelet 1, process 7 on h, up 0 s; ${words}`);
});
