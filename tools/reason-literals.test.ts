import { expect, test } from "vitest";
import { findReasonLiterals } from "./reason-literals.ts";

function textsIn(source: string): readonly string[] {
  return findReasonLiterals("a.ts", source).map(({ text }) => text);
}

test.for<[what: string, source: string, found: readonly string[]]>([
  ["a property", 'send({ reason: "Evicted", message: "Some Text" });', ["Evicted"]],
  ["each branch of a choice", 'const x = { reason: isA ? "Killed" : (given ?? "Lost") };', ["Killed", "Lost"]],
  ["a variable, and a default", 'let stopReason = "Killed"; const { reason = "Error" } = given;', ["Killed", "Error"]],
  ["an assignment", 'this.reason = "Killed";', ["Killed"]],
  ["a type", 'interface A { readonly reason: "Deferred" | "Infeasible" }', ["Deferred", "Infeasible"]],
  ["a table", 'const reasons = { Ready: { True: "NodeReady", False: "NodeNotReady" } };', ["NodeReady", "NodeNotReady"]],
  [
    "a function's result",
    'function defaultReason() { return isInit ? "PodInitializing" : "ContainerCreating"; }',
    ["PodInitializing", "ContainerCreating"],
  ],
  ["a recorded event", 'recorder.event(node, "Warning", "Rebooted", `Node ${name} has been rebooted`);', ["Warning", "Rebooted"]],
  ["a template", "recorder.event(pod, `Resize${resize.reason}`, text);", ["^Resize[\\w./-]+$"]],
])("finds %s", ([, source, found]) => {
  expect(textsIn(source)).toEqual(found);
});

test("does not take texts, other names and other calls for reasons", () => {
  expect(textsIn('log.warn({}, "the node is away"); const kind = "Pod"; find("ConfigMap"); throw new Error("Not Found");')).toEqual([]);
});
