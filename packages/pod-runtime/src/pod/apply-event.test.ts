import type { Container, Pod, PodSpec } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { PodRig, podWith } from "../test-support/pod-rig.ts";
import type { PodEvent } from "./pod-event.ts";

const app: Container = { name: "app", image: "app:1" };
const exec = { command: ["true"] };

const podOf = (container: Partial<Container> = {}, more: Partial<PodSpec> = {}): Pod =>
  podWith({ containers: [{ ...app, ...container }], ...more });

function runningRig(pod: Pod = podOf()): PodRig {
  const rig = new PodRig(pod);
  rig.answerAll();
  return rig;
}

/** A pod whose effect of this kind has no answer yet. */
function rigAsking(kind: "ensureImage" | "startContainer" | "runHook", pod: Pod = podOf()): PodRig {
  const rig = new PodRig(pod);
  for (const before of ["createSandbox", "ensureImage", "startContainer"] as const) {
    if (before === kind) break;
    rig.answer(rig.take(before));
  }
  return rig;
}

/** Checks that these events do not change the pod's state. */
function expectNoChange(rig: PodRig, ...events: readonly PodEvent[]): void {
  for (const event of events) {
    const [state, asked, told, removed] = [rig.state, [...rig.asked], [...rig.events], [...rig.removed]];
    rig.send(event);
    expect([rig.state, rig.asked, rig.events, rig.removed], event.kind).toEqual([state, asked, told, removed]);
  }
}

const image = { name: "app:1", id: "app@sha256:1" };
const probed = (rig: PodRig, probe: "startup" | "liveness" | "readiness", isSuccess: boolean): void =>
  rig.send({ kind: "probed", container: "app", id: rig.idOf("app"), probe, isSuccess });

describe("an answer about an image", () => {
  test("changes nothing if the container does not wait for an image, or waits for another one", () => {
    const failed = { kind: "imageFailed", container: "app", reason: "ErrImagePull", message: "late" } as const;
    const rig = runningRig();
    const { specHash = "" } = rig.state.containers.get("app") ?? {};
    expectNoChange(rig, { kind: "imageReady", container: "app", specHash, image }, { ...failed, specHash });

    const pulling = rigAsking("ensureImage");
    expectNoChange(pulling, { kind: "imageReady", container: "app", specHash: "old", image }, { ...failed, specHash: "old" });
  });

  test("changes nothing after the container's sandbox is gone", () => {
    const rig = rigAsking("ensureImage");
    const { specHash } = rig.take("ensureImage");
    rig.send({ kind: "sandboxStopped", sandboxId: "s0" });

    expectNoChange(rig, { kind: "imageReady", container: "app", specHash, image });
  });

  test("about a container that the pod does not have changes nothing", () => {
    expectNoChange(rigAsking("ensureImage"), { kind: "imageReady", container: "other", specHash: "", image });
  });

  test("causes the start of the container in the sandbox, with its images", () => {
    const rig = rigAsking("ensureImage");
    const { specHash } = rig.take("ensureImage");

    rig.send({ kind: "imageReady", container: "app", specHash, image, volumeImages: new Map([["data", "data@sha256:1"]]) });

    expect(rig.asked).toEqual([{ kind: "startContainer", sandboxId: "s0", container: "app", attempt: 0, specHash }]);
    expect(rig.state.containers.get("app")).toMatchObject({ image, volumeImages: new Map([["data", "data@sha256:1"]]) });
  });

  test("with a failure is recorded as warnings about the container", () => {
    const rig = rigAsking("ensureImage");
    rig.send({ ...rig.take("ensureImage"), kind: "imageFailed", reason: "ErrImagePull", message: "no" });

    expect(rig.notices).toEqual([
      { kind: "event", type: "Warning", reason: "Failed", message: 'Failed to pull image "app:1": no', container: "app" },
      { kind: "event", type: "Warning", reason: "Failed", message: "Error: ErrImagePull", container: "app" },
    ]);
    rig.pass(2_000);
    expect(rig.notices.slice(2)).toEqual([
      { kind: "event", type: "Normal", reason: "BackOff", message: 'Back-off pulling image "app:1"', container: "app" },
      { kind: "event", type: "Warning", reason: "Failed", message: "Error: ImagePullBackOff", container: "app" },
    ]);
  });

  test("with a failure is followed by a delay of 10, 20, 40, … and at most 300 seconds, and of 10 again after a success", () => {
    const rig = rigAsking("ensureImage");
    const fail = (): void => rig.send({ ...rig.take("ensureImage"), kind: "imageFailed", reason: "ErrImagePull", message: "no" });
    for (const seconds of [10, 20, 40, 80, 160, 300, 300]) {
      fail();
      rig.pass(seconds * 1000 - 1);
      expect(rig.open, `${seconds} s`).toEqual([]);
      rig.pass(1);
      expect(rig.open, `${seconds} s`).toEqual(["ensureImage app"]);
    }
    rig.answerAll();
    rig.exit("app", 1);

    fail();
    rig.pass(10_000);

    expect(rig.open).toEqual(["ensureImage app"]);
  });

  test("with a pull policy that forbids pulling is followed by another check every ten seconds", () => {
    const rig = rigAsking("ensureImage");
    for (const _ of [1, 2, 3]) {
      rig.send({ ...rig.take("ensureImage"), kind: "imageFailed", reason: "ErrImageNeverPull", message: "no" });
      rig.pass(9_999);
      expect(rig.open).toEqual([]);
      rig.pass(1);
      expect(rig.open).toEqual(["ensureImage app"]);
    }
    expect(rig.status("app").state).toEqual({ waiting: { reason: "ErrImageNeverPull", message: "no" } });
  });
});

describe("a start", () => {
  test("that succeeds after the pod has stopped waiting for it is undone", () => {
    const rig = runningRig();

    rig.send({ kind: "started", container: "app", attempt: 7, id: "other", startedAtMs: 0 });
    rig.send({ kind: "started", container: "gone", attempt: 0, id: "stranger", startedAtMs: 0 });

    expect(rig.removed).toEqual(["other", "stranger"]);
    expect(rig.idOf("app")).toBe("c1");
  });

  test("that is reported twice changes nothing", () => {
    expectNoChange(runningRig(), { kind: "started", container: "app", attempt: 0, id: "c1", startedAtMs: 0 });
  });

  test("of another attempt than the current one is undone", () => {
    const rig = rigAsking("startContainer");

    rig.send({ kind: "started", container: "app", attempt: 1, id: "other", startedAtMs: 0 });

    expect([rig.removed, rig.idOf("app")]).toEqual([["other"], "none"]);
  });

  test("that fails after the pod has stopped waiting for it changes nothing", () => {
    const failed = { kind: "startFailed", container: "app", reason: "CreateContainerError", message: "late" } as const;

    expectNoChange(runningRig(), { ...failed, attempt: 0 });
    expectNoChange(rigAsking("startContainer"), { ...failed, attempt: 4 });
  });

  test("is recorded as an event, and so is a failed one", () => {
    const rig = rigAsking("startContainer");
    rig.send({ ...rig.take("startContainer"), kind: "startFailed", reason: "CreateContainerError", message: "no" });
    rig.pass(10_000);
    rig.answerAll();

    expect(rig.notices).toEqual([
      { kind: "event", type: "Warning", reason: "Failed", message: "Error: no", container: "app" },
      { kind: "event", type: "Normal", reason: "Started", message: "Container started", container: "app" },
    ]);
  });

  test.for(["CreateContainerError", "RunContainerError", "CreateContainerConfigError"] as const)(
    "that failed with %s is retried as the same attempt after ten seconds",
    (reason) => {
      const rig = rigAsking("startContainer");
      rig.send({ ...rig.take("startContainer"), kind: "startFailed", reason, message: "no" });
      expect(rig.status("app").state).toEqual({ waiting: { reason, message: "no" } });
      rig.pass(9_999);
      expect(rig.open).toEqual([]);
      rig.pass(1);
      rig.answer(rig.take("ensureImage"));

      expect(rig.take("startContainer").attempt).toBe(0);
    },
  );

  test("that failed for another reason than a secret is not retried earlier when a secret changes", () => {
    const rig = rigAsking("startContainer");
    rig.send({ kind: "configChanged" });

    rig.send({ ...rig.take("startContainer"), kind: "startFailed", reason: "CreateContainerError", message: "no" });
    rig.send({ kind: "configChanged" });

    expect(rig.open).toEqual([]);
  });

  test("that can never succeed ends the attempt, and the next attempt waits with the message", () => {
    const rig = rigAsking("startContainer");
    rig.send({ ...rig.take("startContainer"), kind: "startFailed", id: "c9", reason: "RunContainerError", message: "no such file" });

    expect(rig.status("app")).toMatchObject({
      state: { waiting: { reason: "RunContainerError", message: "no such file" } },
      lastState: { terminated: { exitCode: 128, reason: "StartError", message: "no such file", containerID: "fake://c9" } },
    });
    rig.pass(10_000);
    rig.answer(rig.take("ensureImage"));
    expect(rig.take("startContainer").attempt).toBe(1);
  });

  test("that can never succeed ends a container that is not restarted", () => {
    const rig = rigAsking("startContainer", podOf({}, { restartPolicy: "Never" }));
    rig.send({ ...rig.take("startContainer"), kind: "startFailed", id: "c9", reason: "RunContainerError", message: "no", exitCode: 126 });

    expect(rig.status("app").state).toMatchObject({ terminated: { exitCode: 126, reason: "StartError" } });
    rig.answer(rig.take("stopSandbox"));
    expect(rig.report.phase).toBe("Failed");
  });

  test("that fails while its pod ends is the end of the container", () => {
    const rig = rigAsking("startContainer");
    rig.send({ kind: "deleted", graceMs: 30_000 });
    expect(rig.open).toEqual(["startContainer app"]);

    rig.send({ ...rig.take("startContainer"), kind: "startFailed", reason: "CreateContainerError", message: "no" });

    expect(rig.open).toEqual(["stopSandbox"]);
  });
});

describe("an event about an instance", () => {
  const termination = { exitCode: 0, reason: "Completed", finishedAtMs: 0, id: "other" };

  test("other than the running one changes nothing", () => {
    const about = { container: "app", id: "other" };

    expectNoChange(
      runningRig(podOf({ livenessProbe: { exec } })),
      { ...about, kind: "exited", termination },
      { ...about, kind: "stopFailed" },
      { ...about, kind: "resized" },
      { ...about, kind: "hookEnded", hook: "postStart", error: "no" },
      { ...about, kind: "probed", probe: "liveness", isSuccess: false },
    );
  });

  test("that has already ended changes nothing", () => {
    const rig = runningRig(podOf({}, { restartPolicy: "Never" }));
    rig.exit("app", 0);
    rig.asked = [];

    expectNoChange(rig, { kind: "exited", container: "app", id: "c1", termination: { ...termination, exitCode: 1, id: "c1" } });
    expect(rig.status("app").state).toHaveProperty("terminated.exitCode", 0);
  });

  test("that reports a failed stop without a stop in progress changes nothing", () => {
    expectNoChange(runningRig(), { kind: "stopFailed", container: "app", id: "c1" });
  });

  test("that reports a resize without a resize in progress changes nothing", () => {
    expectNoChange(
      runningRig(),
      { kind: "resized", container: "app", id: "c1" },
      { kind: "resizeFailed", container: "app", id: "c1", message: "no", isRestartNeeded: false },
    );
  });
});

describe("a hook", () => {
  const lifecycle = { postStart: { exec }, preStop: { exec } };

  test("of another kind than the running one changes nothing", () => {
    const starting = rigAsking("runHook", podOf({ lifecycle }));
    expectNoChange(starting, { kind: "hookEnded", container: "app", id: "c1", hook: "preStop" });

    starting.answerAll();
    starting.send({ kind: "deleted", graceMs: 10_000 });
    expectNoChange(starting, { kind: "hookEnded", container: "app", id: "c1", hook: "postStart" });
  });

  test("that ends when none is running changes nothing", () => {
    expectNoChange(
      runningRig(podOf({ lifecycle })),
      { kind: "hookEnded", container: "app", id: "c1", hook: "preStop", error: "late" },
      { kind: "hookEnded", container: "app", id: "c1", hook: "postStart", error: "late" },
    );
  });

  test("before a stop delays the stop, and is recorded only if it fails", () => {
    const rig = runningRig(podOf({ lifecycle }));
    rig.send({ kind: "deleted", graceMs: 10_000 });
    expect(rig.asked).toEqual([{ kind: "runHook", container: "app", id: "c1", hook: "preStop" }]);

    rig.answer(rig.take("runHook"));

    expect(rig.open).toEqual(["stopContainer app"]);
    expect(rig.notices.map(({ type, reason }) => `${type} ${reason}`)).toEqual(["Normal Started", "Normal Killing"]);
  });

  test("after the start that fails has its container stopped with the pod's full grace period, and its message is in no event", () => {
    const rig = rigAsking("runHook", podOf({ lifecycle: { postStart: { exec } } }, { terminationGracePeriodSeconds: 7 }));

    rig.send({ ...rig.take("runHook"), kind: "hookEnded", error: "canary" });

    expect(rig.take("stopContainer")).toMatchObject({ graceMs: 7_000 });
    expect(rig.notices.slice(1)).toEqual([
      { kind: "event", type: "Warning", reason: "FailedPostStartHook", message: "PostStartHook failed", container: "app" },
      { kind: "event", type: "Normal", reason: "Killing", message: "FailedPostStartHook", container: "app" },
    ]);
  });

  test.for<[NonNullable<Container["lifecycle"]>["postStart"], string]>([
    [{ exec: { command: ["a", "b"] } }, "Exec lifecycle hook ([a b])"],
    [{ exec: {} }, "Exec lifecycle hook ([])"],
    [{ httpGet: { port: 80 } }, "HTTP lifecycle hook ()"],
    [{ sleep: { seconds: 5 } }, "Sleep lifecycle hook (5)"],
    [{}, "Sleep lifecycle hook (0)"],
  ])("%j that failed is named in the status as by a kubelet", ([postStart, name]) => {
    const rig = rigAsking("runHook", podOf({ lifecycle: { postStart } }));

    rig.send({ ...rig.take("runHook"), kind: "hookEnded", error: "why" });

    expect(rig.status("app").state?.waiting?.message).toBe(`${name} for Container "app" in Pod "web_default(u1)" failed - error: why`);
  });
});

describe("a probe", () => {
  test("of liveness that succeeds, or of startup that succeeds again, changes nothing", () => {
    const rig = runningRig(podOf({ startupProbe: { exec }, livenessProbe: { exec } }));
    probed(rig, "startup", true);
    const about = { kind: "probed", container: "app", id: "c1" } as const;

    expectNoChange(rig, { ...about, probe: "liveness", isSuccess: true }, { ...about, probe: "startup", isSuccess: true });
  });

  test("of liveness that succeeds does not replace the startup probe", () => {
    const rig = runningRig(podOf({ startupProbe: { exec }, livenessProbe: { exec } }));

    probed(rig, "liveness", true);

    expect(rig.status("app")).toMatchObject({ started: false, ready: false });
  });

  test("of startup that succeeds makes a container without a readiness probe ready", () => {
    const rig = runningRig(podOf({ startupProbe: { exec } }));
    expect(rig.status("app")).toMatchObject({ started: false, ready: false });

    probed(rig, "startup", true);

    expect(rig.status("app")).toMatchObject({ started: true, ready: true });
  });

  test("of readiness counts while the container is being stopped, and other probes do not", () => {
    const rig = runningRig(podOf({ readinessProbe: { exec }, livenessProbe: { exec }, lifecycle: { preStop: { exec } } }));
    probed(rig, "readiness", true);
    rig.send({ kind: "deleted", graceMs: 10_000 });
    expectNoChange(rig, { kind: "probed", container: "app", id: "c1", probe: "liveness", isSuccess: false });

    probed(rig, "readiness", false);
    expect(rig.status("app").ready).toBe(false);
    rig.answer(rig.take("runHook"));
    probed(rig, "readiness", true);

    expect(rig.status("app").ready).toBe(true);
  });

  test("does not count before the postStart hook has ended", () => {
    const rig = rigAsking("runHook", podOf({ livenessProbe: { exec }, lifecycle: { postStart: { exec } } }));

    expectNoChange(rig, { kind: "probed", container: "app", id: "c1", probe: "liveness", isSuccess: false });
  });

  test.for([
    ["liveness", { livenessProbe: { exec, terminationGracePeriodSeconds: 5 }, startupProbe: undefined }, 5_000],
    [
      "startup",
      { startupProbe: { exec, terminationGracePeriodSeconds: 4 }, livenessProbe: { exec, terminationGracePeriodSeconds: 5 } },
      4_000,
    ],
    ["startup", { startupProbe: { exec }, livenessProbe: { exec, terminationGracePeriodSeconds: 5 } }, 12_000],
    ["liveness", { livenessProbe: { exec } }, 12_000],
  ] as const)("of %s that fails, with %j, gives its container %d ms of grace", ([probe, probes, graceMs]) => {
    const rig = runningRig(podOf(probes, { terminationGracePeriodSeconds: 12 }));

    probed(rig, probe, false);

    expect(rig.take("stopContainer").graceMs).toBe(graceMs);
    expect(rig.notices.at(-1)).toMatchObject({
      type: "Normal",
      reason: "Killing",
      message: `Container app failed ${probe} probe, will be restarted`,
    });
  });

  test("of a sidecar that fails is reported as that of an init container", () => {
    const rig = runningRig(
      podOf({}, { initContainers: [{ name: "proxy", image: "app:1", restartPolicy: "Always", livenessProbe: { exec } }] }),
    );

    rig.send({ kind: "probed", container: "proxy", id: rig.idOf("proxy"), probe: "liveness", isSuccess: false });

    expect(rig.events.at(-1)).toBe("Killing: Init container proxy failed liveness probe");
  });
});

describe("a pod that is ending", () => {
  test("keeps its reason, and the earlier of both deadlines", () => {
    const rig = runningRig(podOf({ lifecycle: { preStop: { exec } } }));
    rig.send({ kind: "failed", graceMs: 20_000, reason: "Evicted", message: "full" });
    rig.send({ kind: "deleted", graceMs: 30_000 });
    expect(rig.state.ending).toEqual({ why: "failed", deadlineMs: 20_000, reason: "Evicted", message: "full" });
    expect(rig.state.isDeleted).toBe(true);

    rig.send({ kind: "deleted", graceMs: 5_000 });

    expect(rig.state.ending).toMatchObject({ why: "failed", deadlineMs: 5_000 });
  });

  test("because it was made to fail is not removed until it is deleted", () => {
    const rig = runningRig();
    rig.send({ kind: "failed", graceMs: 0, reason: "Evicted", message: "full" });
    rig.answerAll();
    expect(rig.state.stage).toEqual({ kind: "finished" });

    rig.send({ kind: "deleted", graceMs: 0 });

    expect(rig.open).toEqual(["removeAll"]);
  });
});

describe("a changed pod", () => {
  test("has new containers started, and removed ones forgotten", () => {
    const rig = runningRig();
    rig.send({ kind: "updated", pod: podOf({}, { ephemeralContainers: [{ name: "debug", image: "debug:1" }] }) });
    expect(rig.open).toEqual(["ensureImage debug"]);
    rig.send({ kind: "updated", pod: podOf() });

    expect([...rig.state.containers.keys()]).toEqual(["app"]);
  });

  test("resets the back-off of a container whose image has changed, and of no other", () => {
    const containers = [app, { name: "other", image: "app:1" }];
    const rig = runningRig(podWith({ containers }));
    for (const name of ["app", "other"]) {
      rig.exit(name, 1);
      rig.answerAll();
      rig.exit(name, 1);
    }
    const reasonOf = (name: string): string | undefined => rig.status(name).state?.waiting?.reason;
    expect([reasonOf("app"), reasonOf("other"), rig.open]).toEqual(["CrashLoopBackOff", "CrashLoopBackOff", []]);

    rig.send({
      kind: "updated",
      pod: podWith({
        containers: [
          { ...app, image: "app:2" },
          { name: "other", image: "app:1" },
        ],
      }),
    });

    expect(rig.open).toEqual(["ensureImage app"]);
    rig.answerAll();
    rig.exit("app", 1);
    expect(rig.open, "as after its first crash").toEqual(["ensureImage app"]);
    expect(reasonOf("other")).toBe("CrashLoopBackOff");
  });

  test("pulls the new image if the old one was being pulled, and the answer for the old one is ignored", () => {
    const rig = rigAsking("ensureImage");
    const old = rig.take("ensureImage");

    rig.send({ kind: "updated", pod: podOf({ image: "app:2" }) });
    const { specHash } = rig.take("ensureImage");
    expect(specHash).not.toBe(old.specHash);
    rig.send({ ...old, kind: "imageReady", image });
    expect(rig.open).toEqual([]);
    rig.send({ kind: "imageReady", container: "app", specHash, image: { name: "app:2", id: "2" } });

    expect(rig.take("startContainer")).toMatchObject({ specHash, attempt: 0 });
  });

  test("has an event for each container that is stopped because of the change", () => {
    const rig = runningRig();

    rig.send({ kind: "updated", pod: podOf({ image: "app:2" }, { terminationGracePeriodSeconds: 3 }) });

    expect(rig.notices.at(-1)).toEqual({
      kind: "event",
      type: "Normal",
      reason: "Killing",
      message: "Container app definition changed, will be restarted",
      container: "app",
    });
    expect(rig.take("stopContainer").graceMs).toBe(3_000);
  });
});
