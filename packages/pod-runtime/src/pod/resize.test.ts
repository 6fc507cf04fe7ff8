import type { Container, Pod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { PodRig, podWith } from "../test-support/pod-rig.ts";

const withCpu = (cpu: string, more: Partial<Container> = {}): Pod =>
  podWith({ containers: [{ name: "app", image: "app:1", resources: { requests: { cpu }, limits: { cpu } }, ...more }] });

function runningRig(pod: Pod): PodRig {
  const rig = new PodRig(pod);
  rig.answerAll();
  return rig;
}

function conditionsOf(rig: PodRig): readonly (string | undefined)[] {
  return (rig.report.conditions ?? []).filter(({ type }) => type === "PodResizeInProgress").map(({ reason }) => reason);
}

/** Answers that the pod's cgroup has grown. */
function grown(rig: PodRig): void {
  rig.answer(rig.take("growPod"));
}

test("resources are changed in place, and reported as changed once they are", () => {
  const rig = runningRig(withCpu("1"));
  expect(rig.status("app")).toMatchObject({ resources: { limits: { cpu: "1" } }, allocatedResources: { cpu: "1" } });

  rig.send({ kind: "updated", pod: withCpu("2") });
  grown(rig);
  expect(rig.open).toEqual(["resizeContainer app"]);
  expect(rig.status("app")).toMatchObject({ resources: { limits: { cpu: "1" } }, allocatedResources: { cpu: "2" } });
  expect(conditionsOf(rig)).toEqual([undefined]);

  const { container, id } = rig.take("resizeContainer");
  rig.send({ kind: "resized", container, id });
  rig.answer(rig.take("fitPod"));
  expect(rig.status("app")).toMatchObject({ resources: { limits: { cpu: "2" } }, restartCount: 0, containerID: `fake://${id}` });
  expect([conditionsOf(rig), rig.open, rig.events.slice(-2)]).toEqual([
    [],
    [],
    ["ResizeStarted: Resize of container app started", "ResizeCompleted: Resize of container app completed"],
  ]);
});

test("another notation of the same amount is not a change", () => {
  const rig = runningRig(withCpu("1"));

  rig.send({ kind: "updated", pod: withCpu("1000m") });

  expect(rig.open).toEqual([]);
});

test("a container whose resize policy requires it is restarted", () => {
  const more = { resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }] };
  const rig = runningRig(withCpu("1", more));

  rig.send({ kind: "updated", pod: withCpu("2", more) });
  expect(rig.events.at(-1)).toBe("Killing: Container app resize requires restart");
  rig.answerAll();

  expect(rig.status("app")).toMatchObject({ restartCount: 1, resources: { limits: { cpu: "2" } }, state: { running: {} } });
});

test("a change that the runtime cannot make in place restarts the container", () => {
  const rig = runningRig(withCpu("1"));
  rig.send({ kind: "updated", pod: withCpu("2") });
  grown(rig);

  const { container, id } = rig.take("resizeContainer");
  rig.send({ kind: "resizeFailed", container, id, message: "not here", isRestartNeeded: true });
  rig.answerAll();

  expect(rig.status("app")).toMatchObject({ restartCount: 1, resources: { limits: { cpu: "2" } } });
});

test("a failed change is reported, retried, and given up if the spec is changed back", () => {
  const rig = runningRig(withCpu("1"));
  rig.send({ kind: "updated", pod: withCpu("2") });
  grown(rig);
  const { container, id } = rig.take("resizeContainer");
  rig.send({ kind: "resizeFailed", container, id, message: "too much", isRestartNeeded: false });
  expect([conditionsOf(rig), rig.open]).toEqual([["Error"], []]);

  rig.pass(10_000);
  expect(rig.open).toEqual(["resizeContainer app"]);
  rig.send({ kind: "resizeFailed", container, id, message: "too much", isRestartNeeded: false });
  rig.asked = [];
  rig.send({ kind: "updated", pod: withCpu("1") });
  rig.answerAll();
  rig.pass(60_000);

  expect([conditionsOf(rig), rig.open, rig.status("app").restartCount]).toEqual([[], [], 0]);
});
