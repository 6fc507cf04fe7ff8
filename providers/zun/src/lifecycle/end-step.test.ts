import { expect, test } from "vitest";
import { endStep, type EndSituation } from "./end-step.ts";

const running: EndSituation = {
  kind: "container",
  status: "Running",
  asked: false,
  killedAgoMs: undefined,
  deleted: false,
  graceLeftMs: 30_000,
};

test.for<[string, Partial<EndSituation>, object]>([
  ["a short grace is Zun's stop, with the image's own signal", {}, { kind: "stop", timeoutSeconds: 30 }],
  ["a long grace is ours, for a stop cannot be shortened", { graceLeftMs: 31_000 }, { kind: "terminate" }],
  ["while it lasts nothing is done", { asked: true }, { kind: "wait" }],
  ["what still runs is killed when it is over", { asked: true, graceLeftMs: 0 }, { kind: "kill" }],
  ["without grace it is killed at once", { graceLeftMs: 0 }, { kind: "kill" }],
  ["a kill is waited for", { graceLeftMs: 0, killedAgoMs: 1_000 }, { kind: "wait" }],
  ["and sent again when it does not come through", { graceLeftMs: 0, killedAgoMs: 5_000 }, { kind: "kill" }],
  ["what was deleted while it began, and runs, is killed", { graceLeftMs: 0, deleted: true }, { kind: "kill" }],
  ["what has ended is deleted", { status: "Stopped", asked: true }, { kind: "delete" }],
  ["once", { status: "Stopped", deleted: true }, { kind: "wait" }],
  ["a delete that ended in Error is tried again", { status: "Error", deleted: true }, { kind: "delete" }],
  ["what is paused goes on first, for Zun deletes nothing that is paused", { status: "Paused" }, { kind: "unpause" }],
  ["what is being made cannot be deleted yet", { status: "Creating", graceLeftMs: 0 }, { kind: "wait" }],
  ["what Zun restarts cannot be deleted yet", { status: "Restarting", graceLeftMs: 0 }, { kind: "wait" }],
  ["what cannot be read is asked to end, for it may run", { status: "Unread" }, { kind: "stop", timeoutSeconds: 30 }],
  ["and is deleted when the grace is over", { status: "Unread", asked: true, graceLeftMs: 0 }, { kind: "delete" }],
  ["once, too", { status: "Unread", deleted: true, graceLeftMs: 0 }, { kind: "wait" }],
  ["a capsule is deleted in any state", { kind: "capsule", status: "Creating" }, { kind: "delete" }],
  ["once as well", { kind: "capsule", status: "Deleting", deleted: true }, { kind: "wait" }],
])("ending a pod: %s", ([, change, step]) => {
  expect(endStep({ ...running, ...change })).toEqual(step);
});
