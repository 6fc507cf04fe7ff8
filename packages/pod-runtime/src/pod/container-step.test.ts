import type { Container, Pod, PodSpec } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { PodRig, podWith } from "../test-support/pod-rig.ts";

const exec = { command: ["true"] };

const podOf = (more: Partial<PodSpec> = {}, container: Partial<Container> = {}): Pod =>
  podWith({ containers: [{ name: "app", image: "app:1", ...container }], ...more });

function runningRig(pod: Pod = podOf()): PodRig {
  const rig = new PodRig(pod);
  rig.answerAll();
  return rig;
}

describe("an end", () => {
  test.for([
    ["Always", 0, true],
    ["Always", 1, true],
    ["OnFailure", 0, false],
    ["OnFailure", 1, true],
    ["Never", 0, false],
    ["Never", 1, false],
  ] as const)("with policy %s and exit code %d is followed by a restart: %s", ([restartPolicy, exitCode, isRestarted]) => {
    const rig = runningRig(podOf({ restartPolicy, ephemeralContainers: [{ name: "keeps-it-up", image: "app:1" }] }));

    rig.exit("app", exitCode);

    expect(rig.open.includes("ensureImage app")).toBe(isRestarted);
  });

  test("of an ephemeral container is never followed by a restart", () => {
    const rig = runningRig(podOf({ ephemeralContainers: [{ name: "debug", image: "app:1" }] }));

    rig.exit("debug", 1);
    rig.pass(600_000);

    expect(rig.open).toEqual([]);
  });

  test("that is reported late counts from its own time, by the wall clock", () => {
    const rig = runningRig();
    rig.exit("app", 1);
    rig.answerAll();
    rig.pass(60_000);
    const finishedAtMs = rig.now.wallMs - 4_000;

    rig.send({ kind: "exited", container: "app", id: "c2", termination: { exitCode: 1, reason: "Error", finishedAtMs, id: "c2" } });
    rig.pass(5_999);
    expect(rig.open).toEqual([]);
    rig.pass(1);

    expect(rig.open).toEqual(["ensureImage app"]);
  });

  test("with a time in the future, from a clock that was wrong, counts from now", () => {
    const rig = runningRig();
    rig.exit("app", 1);
    rig.answerAll();
    const finishedAtMs = rig.now.wallMs + 3_600_000;

    rig.send({ kind: "exited", container: "app", id: "c2", termination: { exitCode: 1, reason: "Error", finishedAtMs, id: "c2" } });
    rig.pass(10_000);

    expect(rig.open).toEqual(["ensureImage app"]);
  });

  test("after a crash is recorded as a warning that names the pod", () => {
    const rig = runningRig();
    rig.exit("app", 1);
    rig.answerAll();

    rig.exit("app", 1);

    expect(rig.notices.at(-1)).toEqual({
      kind: "event",
      type: "Warning",
      reason: "BackOff",
      message: "Back-off restarting failed container app in pod web_default(u1)",
      container: "app",
    });
  });

  test("causes the removal of the third to last container of the same name", () => {
    const rig = runningRig();
    for (const _ of [1, 2, 3, 4]) {
      rig.exit("app", 1);
      rig.pass(300_000);
      rig.answerAll();
    }

    expect(rig.removed).toEqual(["c1", "c2"]);
    expect(rig.idOf("app")).toBe("c5");
  });

  test("of a sidecar that was started once does not affect the containers after it", () => {
    const rig = runningRig(podOf({ initContainers: [{ name: "proxy", image: "app:1", restartPolicy: "Always" }] }));
    rig.exit("proxy", 1);
    rig.answerAll();
    rig.exit("proxy", 1);
    expect(rig.status("proxy").state).toHaveProperty("waiting.reason", "CrashLoopBackOff");

    rig.exit("app", 1);

    expect(rig.open).toEqual(["ensureImage app"]);
  });

  test("caused by a changed image does not count as a crash, and the next end starts the back-off", () => {
    const rig = runningRig();
    rig.exit("app", 1);
    rig.answerAll();
    rig.send({ kind: "updated", pod: podOf({}, { image: "app:2" }) });
    rig.answerAll();
    expect(rig.status("app")).toMatchObject({ restartCount: 2, ready: true });

    rig.exit("app", 1);

    expect(rig.open).toEqual(["ensureImage app"]);
  });
});

describe("a stop", () => {
  test("has the grace period that is left until the deadline, and at least two seconds", () => {
    for (const [graceMs, given] of [
      [30_000, 30_000],
      [2_001, 2_001],
      [2_000, 2_000],
      [1_999, 2_000],
      [0, 2_000],
    ] as const) {
      const rig = runningRig();
      rig.send({ kind: "deleted", graceMs });
      expect(rig.take("stopContainer"), String(graceMs)).toEqual({ kind: "stopContainer", container: "app", id: "c1", graceMs: given });
    }
  });

  test("is recorded once", () => {
    const rig = runningRig();
    rig.send({ kind: "deleted", graceMs: 30_000 });
    rig.send({ kind: "deleted", graceMs: 5_000 });

    expect(rig.notices.filter(({ reason }) => reason === "Killing")).toEqual([
      { kind: "event", type: "Normal", reason: "Killing", message: "Stopping container app", container: "app" },
    ]);
  });

  test("of a container with a running postStart hook does not wait for the hook", () => {
    const rig = new PodRig(podOf({}, { lifecycle: { postStart: { exec } } }));
    for (const kind of ["createSandbox", "ensureImage", "startContainer"] as const) rig.answer(rig.take(kind));

    rig.send({ kind: "deleted", graceMs: 30_000 });

    expect(rig.open).toEqual(["runHook app", "stopContainer app"]);
    expect(rig.status("app")).toMatchObject({ started: false, ready: false });
  });

  test("does not change the readiness of the container", () => {
    const rig = runningRig(podOf({}, { readinessProbe: { exec } }));
    rig.send({ kind: "deleted", graceMs: 30_000 });
    expect(rig.status("app")).toMatchObject({ started: true, ready: false });

    const ready = runningRig(podOf({}, { lifecycle: { preStop: { exec } } }));
    ready.send({ kind: "deleted", graceMs: 30_000 });
    expect(ready.status("app")).toMatchObject({ started: true, ready: true });
    ready.answer(ready.take("runHook"));
    expect(ready.status("app")).toMatchObject({ started: true, ready: true });
  });
});

test("the containers after a sidecar start only when its postStart hook has ended", () => {
  const proxy = { name: "proxy", image: "app:1", restartPolicy: "Always", lifecycle: { postStart: { exec } } };
  const rig = new PodRig(podOf({ initContainers: [proxy] }));
  for (const kind of ["createSandbox", "ensureImage", "startContainer"] as const) rig.answer(rig.take(kind));
  expect(rig.open).toEqual(["runHook proxy"]);

  rig.answer(rig.take("runHook"));

  expect(rig.open).toEqual(["ensureImage app"]);
});
