import type { Container, Pod, PodSpec } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { PodRig, podWith } from "../test-support/pod-rig.ts";

const one = (cpu: string, more: Partial<Container> = {}): Container => ({
  name: "app",
  image: "app:1",
  ...more,
  resources: { requests: { cpu }, limits: { cpu } },
});

/** A pod with these pod-level resources, whose container has none of its own. */
const podOf = (cpu: string, more: Partial<PodSpec> = {}): Pod =>
  podWith({ containers: [{ name: "app", image: "app:1" }], ...more, resources: { requests: { cpu: "1" }, limits: { cpu } } });

function runningRig(pod: Pod): PodRig {
  const rig = new PodRig(pod);
  rig.answerAll();
  return rig;
}

/** Answers all effects one by one. @returns the effects */
function answered(rig: PodRig): readonly string[] {
  const kinds: string[] = [];
  for (let effect = rig.asked.shift(); effect; effect = rig.asked.shift()) {
    kinds.push(effect.kind);
    rig.answer(effect);
  }
  return kinds;
}

function resizing(rig: PodRig): readonly (string | undefined)[] {
  return (rig.report.conditions ?? []).filter(({ type }) => type === "PodResizeInProgress").map(({ message }) => message);
}

test("the pod grows before its containers and shrinks after them, in both directions of a change", () => {
  const rig = runningRig(podWith({ containers: [one("1"), one("3", { name: "other" })] }));

  rig.send({ kind: "updated", pod: podWith({ containers: [one("2"), one("1", { name: "other" })] }) });

  expect(answered(rig)).toEqual(["growPod", "resizeContainer", "resizeContainer", "fitPod"]);
  expect(resizing(rig)).toEqual([]);
});

test("pod-level resources change without the containers, and are reported once they are in force", () => {
  const rig = runningRig(podWith({ containers: [one("1")], resources: { requests: { cpu: "2" }, limits: { cpu: "2" } } }));
  expect(rig.report).toMatchObject({ resources: { limits: { cpu: "2" } }, allocatedResources: { cpu: "2" } });

  rig.send({ kind: "updated", pod: podWith({ containers: [one("1")], resources: { requests: { cpu: "3" }, limits: { cpu: "3" } } }) });
  expect(rig.report).toMatchObject({ resources: { limits: { cpu: "2" } }, allocatedResources: { cpu: "3" } });
  expect(resizing(rig)).toEqual([undefined]);

  expect(answered(rig)).toEqual(["growPod", "fitPod"]);
  expect(rig.report).toMatchObject({ resources: { requests: { cpu: "3" }, limits: { cpu: "3" } }, allocatedResources: { cpu: "3" } });
  expect(resizing(rig)).toEqual([]);
});

test("a container without limits follows its pod's limits, and its own status has none", () => {
  const rig = runningRig(podOf("2"));

  rig.send({ kind: "updated", pod: podOf("3") });

  expect(answered(rig)).toEqual(["growPod", "resizeContainer", "fitPod"]);
  expect(rig.status("app").resources).toEqual({});
});

test("the status of a pod without pod-level resources has none", () => {
  expect(runningRig(podWith({ containers: [one("1")] })).report).not.toHaveProperty("resources");
});

test("a container that must be restarted is restarted before the pod shrinks", () => {
  const more = { resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }] };
  const rig = runningRig(podWith({ containers: [one("2", more)] }));

  rig.send({ kind: "updated", pod: podWith({ containers: [one("1", more)] }) });
  const { sandboxId } = rig.take("growPod");
  rig.send({ kind: "podGrown", sandboxId });
  expect(rig.open).toEqual(["stopContainer app"]);
  rig.answer(rig.take("stopContainer"));

  expect(answered(rig)).toContain("fitPod");
  expect(rig.status("app")).toMatchObject({ restartCount: 1, resources: { limits: { cpu: "1" } } });
});

test("a cgroup that cannot be changed is reported once and retried; nothing grows before that", () => {
  const rig = runningRig(podWith({ containers: [one("1")] }));
  rig.send({ kind: "updated", pod: podWith({ containers: [one("2")] }) });
  const fail = (kind: "growPod" | "fitPod"): void =>
    rig.send({ kind: "podFitFailed", sandboxId: rig.take(kind).sandboxId, message: "the file is busy" });

  fail("growPod");
  expect([rig.open, resizing(rig)]).toEqual([[], ["the file is busy"]]);
  rig.pass(10_000);
  rig.answer(rig.take("growPod"));
  rig.answer(rig.take("resizeContainer"));
  fail("fitPod");
  rig.pass(10_000);
  fail("fitPod");
  rig.pass(10_000);
  rig.answer(rig.take("fitPod"));

  expect([rig.open, resizing(rig)]).toEqual([[], []]);
  expect(rig.events.filter((event) => event.startsWith("ResizeError"))).toHaveLength(3);
});

test("a change that comes during another one is made next", () => {
  const rig = runningRig(podWith({ containers: [one("1")] }));
  rig.send({ kind: "updated", pod: podWith({ containers: [one("2")] }) });
  rig.send({ kind: "updated", pod: podWith({ containers: [one("3")] }) });

  expect(answered(rig)).toEqual(["growPod", "growPod", "resizeContainer", "fitPod"]);
  expect(rig.status("app")).toMatchObject({ resources: { limits: { cpu: "3" } } });
});

test("an answer about another sandbox, or another step, changes nothing", () => {
  const rig = runningRig(podWith({ containers: [one("1")] }));
  rig.send({ kind: "updated", pod: podWith({ containers: [one("2")] }) });
  const before = rig.state;

  rig.send({ kind: "podGrown", sandboxId: "another" });
  rig.send({ kind: "podFitted", sandboxId: "s0" });

  expect(rig.state).toEqual(before);
});

test("a failed step is retried after ten seconds, or at once after another change", () => {
  const rig = runningRig(podWith({ containers: [one("1")] }));
  rig.send({ kind: "updated", pod: podWith({ containers: [one("2")] }) });
  rig.send({ kind: "podFitFailed", sandboxId: rig.take("growPod").sandboxId, message: "busy" });
  rig.pass(9_999);
  expect(rig.open).toEqual([]);

  rig.send({ kind: "updated", pod: podWith({ containers: [one("3")] }) });

  expect(rig.open).toEqual(["growPod"]);
});

test("after a change during a shrink, or during the change of containers, the pod grows first", () => {
  const shrinking = runningRig(podWith({ containers: [one("2")] }));
  shrinking.send({ kind: "updated", pod: podWith({ containers: [one("1")] }) });
  shrinking.answer(shrinking.take("growPod"));
  shrinking.answer(shrinking.take("resizeContainer"));
  shrinking.send({ kind: "podFitFailed", sandboxId: shrinking.take("fitPod").sandboxId, message: "in use" });
  shrinking.send({ kind: "updated", pod: podWith({ containers: [one("3")] }) });
  expect(shrinking.open).toEqual(["growPod"]);

  const changing = runningRig(podWith({ containers: [one("1")] }));
  changing.send({ kind: "updated", pod: podWith({ containers: [one("2")] }) });
  changing.answer(changing.take("growPod"));
  changing.take("resizeContainer");
  changing.send({ kind: "updated", pod: podWith({ containers: [one("3")] }) });
  expect(changing.open).toEqual(["growPod"]);
});

test("answers that do not belong to the current step change nothing", () => {
  const rig = runningRig(podWith({ containers: [one("1")] }));
  const steps = (): unknown => rig.state.whole.change?.step;
  rig.send({ kind: "updated", pod: podWith({ containers: [one("2")] }) });
  rig.send({ kind: "podFitted", sandboxId: "s0" });
  expect(steps()).toBe("growing");
  rig.answer(rig.take("growPod"));
  rig.send({ kind: "podFitFailed", sandboxId: "s0", message: "late" });
  expect([steps(), rig.state.whole.change?.message]).toEqual(["containers", undefined]);
  rig.answer(rig.take("resizeContainer"));
  rig.send({ kind: "podGrown", sandboxId: "s0" });
  expect(steps()).toBe("shrinking");
  rig.answer(rig.take("fitPod"));

  rig.send({ kind: "podFitFailed", sandboxId: "s0", message: "late" });
  expect(rig.state.whole.change).toBeUndefined();
  expect(rig.events.filter((event) => event.startsWith("ResizeError"))).toEqual([]);
});

test("a different failure of the same step is reported, too", () => {
  const rig = runningRig(podWith({ containers: [one("1")] }));
  rig.send({ kind: "updated", pod: podWith({ containers: [one("2")] }) });
  for (const message of ["busy", "busy", "gone"]) {
    rig.send({ kind: "podFitFailed", sandboxId: rig.take("growPod").sandboxId, message });
    rig.pass(10_000);
  }

  expect(
    rig.notices.filter(({ reason }) => reason === "ResizeError").map(({ type, message, container }) => [type, message, container]),
  ).toEqual(["busy", "busy", "gone"].map((message) => ["Warning", `Resize of the pod's resources failed: ${message}`, undefined]));
});

test("a container that does not run counts as having the resources of its spec", () => {
  const containers = (cpu: string): Container[] => [one(cpu), one(cpu, { name: "done" })];
  const rig = runningRig(podWith({ restartPolicy: "OnFailure", containers: containers("1") }));
  rig.exit("done", 0);

  rig.send({ kind: "updated", pod: podWith({ restartPolicy: "OnFailure", containers: containers("2") }) });

  expect(answered(rig)).toEqual(["growPod", "resizeContainer", "fitPod"]);
});

test("a pod that is ending does not change its cgroup", () => {
  const rig = runningRig(podWith({ containers: [one("1", { lifecycle: { preStop: { exec: { command: ["sleep"] } } } })] }));
  rig.send({ kind: "deleted", graceMs: 30_000 });

  rig.send({ kind: "updated", pod: podWith({ containers: [one("2")] }) });

  expect(rig.open).not.toContain("growPod");
});
