import { expect, test } from "vitest";
import { PodRig, podWith } from "../test-support/pod-rig.ts";
import { activeDeadlineMs, nextDueMs } from "./next-due.ts";

const lifecycle = { preStop: { exec: { command: ["sleep"] } } };

test("a running pod without a deadline is never due", () => {
  const rig = new PodRig(podWith({}));
  expect(nextDueMs(rig.state)).toBeUndefined();

  rig.answerAll();

  expect([nextDueMs(rig.state), activeDeadlineMs(rig.state)]).toEqual([undefined, undefined]);
});

test("a pod with an active deadline is due at that deadline, unless it is already ending", () => {
  const rig = new PodRig(podWith({ activeDeadlineSeconds: 60 }));
  rig.pass(10_000);
  rig.answerAll();
  expect(nextDueMs(rig.state)).toBe(60_000);

  rig.send({ kind: "deleted", graceMs: 5_000 });

  expect(nextDueMs(rig.state)).toBeUndefined();
});

test("a failed pull is due when its reason in the status changes, and then at the retry", () => {
  const rig = new PodRig(podWith({}));
  rig.answer(rig.take("createSandbox"));
  rig.send({ ...rig.take("ensureImage"), kind: "imageFailed", reason: "ErrImagePull", message: "no" });
  expect(nextDueMs(rig.state)).toBe(2_000);

  rig.pass(2_000);

  expect(nextDueMs(rig.state)).toBe(10_000);
});

test("another failure of an image is due at the retry", () => {
  const rig = new PodRig(podWith({}));
  rig.answer(rig.take("createSandbox"));

  rig.send({ ...rig.take("ensureImage"), kind: "imageFailed", reason: "ErrImageNeverPull", message: "no" });

  expect(nextDueMs(rig.state)).toBe(10_000);
});

test("a preStop hook is due at the end of the grace period", () => {
  const rig = new PodRig(podWith({ containers: [{ name: "app", image: "app:1", lifecycle }] }));
  rig.answerAll();
  rig.pass(1_000);

  rig.send({ kind: "deleted", graceMs: 5_000 });
  expect(nextDueMs(rig.state)).toBe(6_000);
  rig.answer(rig.take("runHook"));

  expect(nextDueMs(rig.state), "the runtime measures the time of a stop").toBeUndefined();
});

test("a failed stop is due at the retry", () => {
  const rig = new PodRig(podWith({}));
  rig.answerAll();
  rig.send({ kind: "deleted", graceMs: 5_000 });

  rig.send({ ...rig.take("stopContainer"), kind: "stopFailed" });

  expect(nextDueMs(rig.state)).toBe(10_000);
});

test("if several times are due, the first one counts", () => {
  const rig = new PodRig(podWith({ activeDeadlineSeconds: 5, containers: [{ name: "app", image: "app:1" }] }));
  rig.send({ ...rig.take("createSandbox"), kind: "sandboxFailed", reason: "FailedCreatePodSandBox", message: "no" });
  expect(nextDueMs(rig.state)).toBe(5_000);

  const later = new PodRig(podWith({ activeDeadlineSeconds: 50 }));
  later.send({ ...later.take("createSandbox"), kind: "sandboxFailed", reason: "FailedCreatePodSandBox", message: "no" });

  expect(nextDueMs(later.state)).toBe(10_000);
});

test("a failed change of resources is due at the retry", () => {
  const withCpu = (cpu: string) => podWith({ containers: [{ name: "app", image: "app:1", resources: { limits: { cpu } } }] });
  const rig = new PodRig(withCpu("1"));
  rig.answerAll();
  rig.send({ kind: "updated", pod: withCpu("2") });
  rig.send({ ...rig.take("growPod"), kind: "podFitFailed", message: "busy" });
  expect(nextDueMs(rig.state)).toBe(10_000);
  rig.pass(10_000);
  rig.answer(rig.take("growPod"));
  expect(nextDueMs(rig.state)).toBeUndefined();

  rig.send({ ...rig.take("resizeContainer"), kind: "resizeFailed", message: "busy", isRestartNeeded: false });

  expect(nextDueMs(rig.state)).toBe(20_000);
});
