import { expect, test } from "vitest";
import { PodRig, podWith } from "../test-support/pod-rig.ts";
import { loggedId, runningId, sandboxId } from "./running-ids.ts";

const ref = { namespace: "default", name: "web", uid: "u1" };

function rigOf(spec: Parameters<typeof podWith>[0] = {}): PodRig {
  const rig = new PodRig(podWith(spec));
  rig.answerAll();
  return rig;
}

test("a container that never ran has no logs, in a kubelet's words", () => {
  const { state } = new PodRig(podWith({}));

  expect(() => loggedId(state, "app", false)).toThrow('container "app" in pod "web" is not available');
  expect(() => loggedId(state, "app", true)).toThrow('previous terminated container "app" in pod "web" not found');
  expect(() => loggedId(state, "other", false)).toThrow('container "other" in pod "web" is not available');
});

test("a running container has its own logs, and those of its previous run", () => {
  const rig = rigOf();
  expect(loggedId(rig.state, "app", false)).toBe("c1");
  expect(() => loggedId(rig.state, "app", true)).toThrow(expect.objectContaining({ code: "VK_NOT_FOUND" }));
  rig.exit("app", 1);
  rig.answerAll();

  expect([loggedId(rig.state, "app", false), loggedId(rig.state, "app", true)]).toEqual(["c2", "c1"]);
});

test("a container between two runs has the logs of the last one, current and previous", () => {
  const rig = rigOf();
  rig.exit("app", 1);
  rig.answerAll();
  rig.exit("app", 1);
  expect([loggedId(rig.state, "app", false), loggedId(rig.state, "app", true)]).toEqual(["c2", "c2"]);

  rig.pass(10_000);

  expect([loggedId(rig.state, "app", false), loggedId(rig.state, "app", true)], "during a start").toEqual(["c2", "c2"]);
});

test("a container that has ended for good has the logs of its last run, and of the one before", () => {
  const rig = rigOf({ restartPolicy: "OnFailure" });
  rig.exit("app", 1);
  rig.answerAll();
  rig.exit("app", 0);

  expect([loggedId(rig.state, "app", false), loggedId(rig.state, "app", true)]).toEqual(["c2", "c1"]);
});

test("running containers and sandboxes are found, and others are refused in a kubelet's words", () => {
  const rig = rigOf();
  expect([runningId(rig.state, "app"), sandboxId(rig.state, ref)]).toEqual(["c1", "s0"]);

  rig.send({ kind: "deleted", graceMs: 0 });
  rig.answerAll();

  expect(() => runningId(rig.state, "app")).toThrow('container not found ("app"): pod "web" has no running container of that name');
  expect(() => sandboxId(rig.state, ref)).toThrow('pod "web" does not run: it has no sandbox');
  expect(() => runningId(rig.state, "other")).toThrow(expect.objectContaining({ code: "VK_NOT_FOUND" }));
});
