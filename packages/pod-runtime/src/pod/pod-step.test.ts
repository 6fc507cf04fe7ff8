import { describe, expect, test } from "vitest";
import { PodRig, podWith } from "../test-support/pod-rig.ts";

const init = (name: string) => ({ name, image: "app:1" });
const sidecar = (name: string) => ({ ...init(name), restartPolicy: "Always" });

describe("starting", () => {
  test("creates the sandbox, then pulls the image, then starts the container", () => {
    const rig = new PodRig(podWith({}));

    expect(rig.open).toEqual(["createSandbox"]);
    rig.answer(rig.take("createSandbox"));
    expect(rig.open).toEqual(["ensureImage app"]);
    rig.answer(rig.take("ensureImage"));
    expect(rig.open).toEqual(["startContainer app"]);
    expect(rig.status("app").state).toEqual({ waiting: { reason: "ContainerCreating" } });
    rig.answer(rig.take("startContainer"));

    expect(rig.status("app")).toMatchObject({
      ready: true,
      started: true,
      restartCount: 0,
      containerID: "fake://c1",
      imageID: "app@sha256:1",
    });
    expect(rig.report).toMatchObject({ podIP: "10.0.0.1" });
  });

  test("runs init containers one after another, and all containers after them", () => {
    const rig = new PodRig(podWith({ initContainers: [init("one"), init("two")], containers: [init("a"), init("b")] }));

    rig.answerAll();
    expect(rig.status("one").state).toHaveProperty("running");
    expect(rig.status("two").state).toEqual({ waiting: { reason: "PodInitializing" } });
    rig.exit("one", 0);
    rig.answerAll();
    expect(rig.status("a").state).toEqual({ waiting: { reason: "PodInitializing" } });
    rig.exit("two", 0);

    expect(rig.status("two")).toMatchObject({ ready: true });
    rig.answerAll();
    expect([rig.status("a").ready, rig.status("b").ready]).toEqual([true, true]);
  });

  test("waits for the start of a sidecar, not for its end", () => {
    const startupProbe = { exec: { command: ["true"] } };
    const rig = new PodRig(podWith({ initContainers: [{ ...sidecar("proxy"), startupProbe }] }));

    rig.answerAll();
    expect(rig.status("app").state).toHaveProperty("waiting");
    rig.send({ kind: "probed", container: "proxy", id: rig.idOf("proxy"), probe: "startup", isSuccess: true });

    expect(rig.open).toEqual(["ensureImage app"]);
  });

  test("restarts a sidecar while the containers run", () => {
    const rig = new PodRig(podWith({ initContainers: [sidecar("proxy")] }));

    rig.answerAll();
    rig.exit("proxy", 0);
    rig.answerAll();

    expect(rig.status("proxy")).toMatchObject({ restartCount: 1, started: true });
    expect(rig.status("app").restartCount).toBe(0);
  });

  test("starts an ephemeral container at once, and never again", () => {
    const rig = new PodRig(podWith({ initContainers: [init("one")], ephemeralContainers: [init("debug")] }));

    rig.answerAll();
    rig.exit("debug", 1);

    expect(rig.open).toEqual([]);
    expect(rig.status("debug").state).toHaveProperty("terminated.exitCode", 1);
  });

  test("starts main containers in order, each after the one before has started", () => {
    const rig = new PodRig(podWith({ containers: [init("first"), init("second")] }));

    rig.answer(rig.take("createSandbox"));
    expect(rig.open).toEqual(["ensureImage first"]);
    rig.answer(rig.take("ensureImage"));
    expect(rig.open).toEqual(["startContainer first"]);
    rig.answer(rig.take("startContainer"));

    expect(rig.open).toEqual(["ensureImage second"]);
  });

  test("starts main containers only after the postStart hooks of those before them have ended", () => {
    const lifecycle = { postStart: { exec: { command: ["true"] } } };
    const rig = new PodRig(podWith({ containers: [{ ...init("proxy"), lifecycle }, init("app")] }));

    for (const kind of ["createSandbox", "ensureImage", "startContainer"] as const) rig.answer(rig.take(kind));
    expect(rig.open).toEqual(["runHook proxy"]);
    rig.answer(rig.take("runHook"));

    expect(rig.open).toEqual(["ensureImage app"]);
  });

  test("does not delay main containers because another one cannot be started or waits for its restart", () => {
    const rig = new PodRig(podWith({ containers: [init("first"), init("second")] }));
    rig.answer(rig.take("createSandbox"));

    rig.send({ ...rig.take("ensureImage", "first"), kind: "imageFailed", reason: "ErrImagePull", message: "no" });
    expect(rig.open).toEqual(["ensureImage second"]);
    rig.answerAll();
    rig.exit("second", 1);

    expect(rig.open).toEqual(["ensureImage second"]);
  });

  test("does not report a container as running before its postStart hook has ended", () => {
    const lifecycle = { postStart: { exec: { command: ["true"] } } };
    const rig = new PodRig(podWith({ containers: [{ ...init("app"), lifecycle }] }));

    for (const kind of ["createSandbox", "ensureImage", "startContainer"] as const) rig.answer(rig.take(kind));
    expect(rig.status("app").state).toEqual({ waiting: { reason: "ContainerCreating" } });
    rig.answerAll();

    expect(rig.status("app").state).toHaveProperty("running");
  });
});

describe("failing", () => {
  test("retries a sandbox after 10 and 20 seconds", () => {
    const rig = new PodRig(podWith({}));

    rig.send({
      kind: "sandboxFailed",
      attempt: rig.take("createSandbox").attempt,
      reason: "FailedCreatePodSandBox",
      message: "no network",
    });
    rig.pass(9_999);
    expect(rig.open).toEqual([]);
    rig.pass(1);
    rig.send({
      kind: "sandboxFailed",
      attempt: rig.take("createSandbox").attempt,
      reason: "FailedCreatePodSandBox",
      message: "no network",
    });
    rig.pass(20_000);

    expect(rig.take("createSandbox").attempt).toBe(2);
    expect(rig.events[0]).toBe("FailedCreatePodSandBox: Failed to create pod sandbox: no network");
  });

  test("reports a failed pull as an error first, then as a back-off", () => {
    const rig = new PodRig(podWith({}));
    rig.answer(rig.take("createSandbox"));

    rig.send({ ...rig.take("ensureImage"), kind: "imageFailed", reason: "ErrImagePull", message: "not found" });
    expect(rig.status("app").state).toEqual({ waiting: { reason: "ErrImagePull", message: "not found" } });
    rig.pass(2_000);
    expect(rig.status("app").state).toEqual({
      waiting: { reason: "ImagePullBackOff", message: 'Back-off pulling image "app:1": ErrImagePull: not found' },
    });
    expect(rig.events.slice(-2)).toEqual(['BackOff: Back-off pulling image "app:1"', "Failed: Error: ImagePullBackOff"]);
    rig.pass(8_000);

    expect(rig.open).toEqual(["ensureImage app"]);
  });

  test.each([
    ["ErrImagePull", "not found", 'Failed: Failed to pull image "app:1": not found'],
    ["ErrImageNeverPull", "it is not present", "ErrImageNeverPull: it is not present"],
    ["ImageInspectError", "away", "InspectFailed: away"],
    ["InvalidImageName", "bad name", "InspectFailed: bad name"],
  ])("records an event for %s in a kubelet's words", (reason, message, told) => {
    const rig = new PodRig(podWith({}));
    rig.answer(rig.take("createSandbox"));

    rig.send({ ...rig.take("ensureImage"), kind: "imageFailed", reason, message });

    expect(rig.events).toEqual([told, `Failed: Error: ${reason}`]);
    expect(rig.status("app").state).toEqual({ waiting: { reason, message } });
  });

  test("waits for the image of a volume like for the container's own, and the event names the image", () => {
    const rig = new PodRig(podWith({}));
    rig.answer(rig.take("createSandbox"));

    const failed = { kind: "imageFailed", reason: "ErrImagePull", message: "not found", volumeImage: "data:1" } as const;
    rig.send({ ...rig.take("ensureImage"), ...failed });
    expect(rig.status("app").state).toEqual({ waiting: { reason: "ErrImagePull", message: "not found" } });
    rig.pass(2_000);

    expect(rig.status("app").state).toEqual({
      waiting: { reason: "ImagePullBackOff", message: 'Back-off pulling image "data:1": ErrImagePull: not found' },
    });
    // The event about the missing image was recorded by the code that looked for it.
    expect(rig.events).toEqual(['BackOff: Back-off pulling image "data:1"']);
  });

  test("pulls at once when the image is changed", () => {
    const rig = new PodRig(podWith({}));
    rig.answer(rig.take("createSandbox"));
    rig.send({ ...rig.take("ensureImage"), kind: "imageFailed", reason: "ErrImagePull", message: "not found" });

    rig.send({ kind: "updated", pod: podWith({ containers: [{ name: "app", image: "app:2" }] }) });

    expect(rig.open).toEqual(["ensureImage app"]);
  });

  test("retries a missing configuration after ten seconds, as the same attempt", () => {
    const rig = new PodRig(podWith({}));
    for (const kind of ["createSandbox", "ensureImage"] as const) rig.answer(rig.take(kind));

    rig.send({ ...rig.take("startContainer"), kind: "startFailed", reason: "CreateContainerConfigError", message: 'secret "s" not found' });
    expect(rig.status("app").state).toEqual({ waiting: { reason: "CreateContainerConfigError", message: 'secret "s" not found' } });
    rig.pass(10_000);
    rig.answerAll();

    expect(rig.status("app")).toMatchObject({ restartCount: 0, ready: true });
  });

  test("retries at once what waits for a secret or config map when one has changed, even if the change came during a try", () => {
    const rig = new PodRig(podWith({}));
    const failMounts = (): void =>
      rig.send({ ...rig.take("createSandbox"), kind: "sandboxFailed", reason: "FailedMount", message: 'secret "s" not found' });
    const failStart = (): void =>
      rig.send({
        ...rig.take("startContainer"),
        kind: "startFailed",
        reason: "CreateContainerConfigError",
        message: 'secret "s" not found',
      });

    failMounts();
    rig.send({ kind: "configChanged" });
    expect(rig.open).toEqual(["createSandbox"]);
    rig.send({ kind: "configChanged" });
    failMounts();
    expect(rig.open).toEqual(["createSandbox"]);
    rig.answer(rig.take("createSandbox"));

    rig.answer(rig.take("ensureImage"));
    failStart();
    rig.send({ kind: "configChanged" });
    rig.answer(rig.take("ensureImage"));
    rig.send({ kind: "configChanged" });
    failStart();
    rig.answerAll();
    expect(rig.status("app")).toMatchObject({ restartCount: 0, ready: true });
  });

  test("retries a missing configuration when the pod is changed", () => {
    const rig = new PodRig(podWith({}));
    for (const kind of ["createSandbox", "ensureImage"] as const) rig.answer(rig.take(kind));
    rig.send({ ...rig.take("startContainer"), kind: "startFailed", reason: "CreateContainerConfigError", message: "not a local path" });

    rig.send({ kind: "updated", pod: { ...podWith({}), metadata: { ...podWith({}).metadata, annotations: { path: "good" } } } });

    expect(rig.open).toEqual(["ensureImage app"]);
  });

  test("does not retry other failures earlier when a secret or config map has changed", () => {
    const rig = new PodRig(podWith({}));
    rig.send({ ...rig.take("createSandbox"), kind: "sandboxFailed", reason: "FailedCreatePodSandBox", message: "no network" });
    rig.send({ kind: "configChanged" });
    expect(rig.open).toEqual([]);
    rig.pass(10_000);
    rig.answerAll();
    rig.exit("app", 1);
    rig.answerAll();
    rig.exit("app", 1);

    rig.send({ kind: "configChanged" });
    expect([rig.open, rig.status("app").state?.waiting?.reason]).toEqual([[], "CrashLoopBackOff"]);
  });

  test("waits 0, 10 and 20 seconds between crashes, and reports that", () => {
    const rig = new PodRig(podWith({}));
    rig.answerAll();

    rig.exit("app", 1);
    expect(rig.open).toEqual(["ensureImage app"]);
    expect(rig.status("app").state).toHaveProperty("terminated.exitCode", 1);
    rig.answerAll();
    rig.exit("app", 1);
    expect(rig.status("app")).toMatchObject({
      state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 10s restarting failed container=app pod=web_default(u1)" } },
      lastState: { terminated: { exitCode: 1 } },
      restartCount: 1,
    });
    rig.pass(10_000);
    rig.answerAll();
    rig.exit("app", 1);
    rig.pass(19_999);
    expect(rig.open).toEqual([]);
    rig.pass(1);
    rig.answerAll();

    expect(rig.status("app").restartCount).toBe(3);
  });

  test("kills a container whose postStart hook fails, reports that, and restarts it with back-off", () => {
    const rig = new PodRig(
      podWith({ containers: [{ ...init("proxy"), lifecycle: { postStart: { exec: { command: ["set", "up"] } } } }, init("app")] }),
    );
    const failHook = (): void => {
      for (const kind of ["ensureImage", "startContainer"] as const) rig.answer(rig.take(kind, "proxy"));
      rig.send({ ...rig.take("runHook"), kind: "hookEnded", error: `command 'set up' exited with 1, message: "no"` });
    };
    const message = `Exec lifecycle hook ([set up]) for Container "proxy" in Pod "web_default(u1)" failed - error: command 'set up' exited with 1, message: "no"`;
    const waiting = { reason: "PostStartHookError", message };
    rig.answer(rig.take("createSandbox"));

    failHook();
    expect(rig.events).toContain("FailedPostStartHook: PostStartHook failed");
    expect(rig.events).toContain("Killing: FailedPostStartHook");
    expect(rig.open).toEqual(["stopContainer proxy"]);
    expect(rig.status("proxy")).toMatchObject({ state: { waiting }, started: false, restartCount: 0 });
    rig.answer(rig.take("stopContainer"));
    expect(rig.status("proxy")).toMatchObject({ state: { waiting }, lastState: { terminated: { exitCode: 143 } }, restartCount: 0 });

    failHook();
    rig.answer(rig.take("stopContainer"));
    expect(rig.status("proxy")).toMatchObject({ state: { waiting: { reason: "CrashLoopBackOff" } }, restartCount: 1 });
    expect(rig.open).toEqual(["ensureImage app"]);
  });

  test("reports a container that is never restarted as terminated after its postStart hook has failed", () => {
    const lifecycle = { postStart: { httpGet: { path: "/up", port: 80 } } };
    const rig = new PodRig(podWith({ restartPolicy: "Never", containers: [{ ...init("app"), lifecycle }] }));
    for (const kind of ["createSandbox", "ensureImage", "startContainer"] as const) rig.answer(rig.take(kind));

    rig.send({ ...rig.take("runHook"), kind: "hookEnded", error: "no answer" });
    expect(rig.status("app").state?.waiting?.message).toMatch(/^HTTP lifecycle hook \(\/up\) for .* - error: no answer$/);
    rig.answerAll();

    expect(rig.status("app").state).toHaveProperty("terminated.exitCode", 143);
    expect(rig.report.phase).toBe("Failed");
  });

  test("keeps showing a container's problem during retries, until it runs", () => {
    const rig = new PodRig(podWith({}));
    rig.answerAll();
    rig.exit("app", 1);
    rig.answerAll();
    rig.exit("app", 1);
    const crashed = rig.status("app");
    expect(crashed.state).toHaveProperty("waiting.reason", "CrashLoopBackOff");

    rig.pass(10_000);
    expect(rig.open).toEqual(["ensureImage app"]);
    expect(rig.status("app")).toEqual(crashed);
    rig.answer(rig.take("ensureImage"));
    expect(rig.status("app").state).toEqual(crashed.state);
    rig.answer(rig.take("startContainer"));
    expect(rig.status("app").state).toHaveProperty("running");
    rig.pass(700_000);
    rig.exit("app", 0);

    expect(rig.status("app").state, "of an earlier run").toHaveProperty("terminated.exitCode", 0);
  });

  test("ends the pod when an init container fails for good", () => {
    const rig = new PodRig(podWith({ restartPolicy: "Never", initContainers: [sidecar("proxy"), init("one")] }));

    rig.answerAll();
    rig.exit("one", 1);
    rig.answerAll();

    expect(rig.status("app").state).toEqual({ waiting: { reason: "PodInitializing" } });
    expect(rig.status("proxy").state).toHaveProperty("terminated");
    expect(rig.state.stage).toEqual({ kind: "finished" });
  });

  test("restarts a container that fails its liveness probe, with the probe's own grace period", () => {
    const livenessProbe = { exec: { command: ["true"] }, terminationGracePeriodSeconds: 5 };
    const rig = new PodRig(podWith({ containers: [{ ...init("app"), livenessProbe }] }));
    rig.answerAll();

    rig.send({ kind: "probed", container: "app", id: rig.idOf("app"), probe: "liveness", isSuccess: false });

    expect(rig.take("stopContainer")).toMatchObject({ graceMs: 5_000 });
    expect(rig.events).toContain("Killing: Container app failed liveness probe, will be restarted");
    rig.exit("app", 137);
    rig.answerAll();
    expect(rig.status("app").restartCount).toBe(1);
  });

  test.for([
    ["OnFailure", 1, "Killing: Container app failed startup probe, will be restarted"],
    ["Never", 0, "Killing: Container app failed startup probe"],
  ] as const)("after a failed probe restarts a container although it exits with 0, with policy %s %i times", ([policy, count, event]) => {
    const startupProbe = { exec: { command: ["true"] } };
    const rig = new PodRig(podWith({ restartPolicy: policy, containers: [{ ...init("app"), startupProbe }] }));
    rig.answerAll();

    rig.send({ kind: "probed", container: "app", id: rig.idOf("app"), probe: "startup", isSuccess: false });
    rig.exit("app", 0);
    rig.answerAll();

    expect(rig.status("app").restartCount).toBe(count);
    expect(rig.report.phase).toBe(count === 1 ? "Running" : "Succeeded");
    expect(rig.events).toContain(event);
  });

  test("does not restart a container that exits with 0 after a failed probe while it is in back-off", () => {
    const livenessProbe = { exec: { command: ["true"] } };
    const rig = new PodRig(podWith({ restartPolicy: "OnFailure", containers: [{ ...init("app"), livenessProbe }] }));
    rig.answerAll();
    const failAfter = (ms: number): void => {
      rig.pass(ms);
      rig.send({ kind: "probed", container: "app", id: rig.idOf("app"), probe: "liveness", isSuccess: false });
      rig.exit("app", 0);
      rig.answerAll();
    };

    failAfter(1_000);
    failAfter(1_000);
    expect(rig.status("app")).toMatchObject({ restartCount: 2, ready: true });
    // Ten seconds have passed since the previous end.
    failAfter(10_000);
    expect(rig.status("app")).toMatchObject({ restartCount: 3, ready: true });
    // Twenty seconds have not passed.
    failAfter(10_000);
    expect(rig.status("app")).toMatchObject({ restartCount: 3, state: { terminated: { exitCode: 0, reason: "Completed" } } });
    expect(rig.report.phase).toBe("Succeeded");
  });

  test("restarts a container at once after a failed probe if it ran for longer than its back-off, and not after a crash", () => {
    const livenessProbe = { exec: { command: ["true"] } };
    const rig = new PodRig(podWith({ restartPolicy: "Always", containers: [{ ...init("app"), livenessProbe }] }));
    rig.answerAll();
    const failAfter = (ms: number): void => {
      rig.pass(ms);
      rig.send({ kind: "probed", container: "app", id: rig.idOf("app"), probe: "liveness", isSuccess: false });
      rig.exit("app", 137);
      rig.answerAll();
    };

    for (let restarts = 1; restarts <= 8; restarts++) {
      failAfter(480_000);
      expect(rig.status("app")).toMatchObject({ restartCount: restarts, ready: true });
    }
    failAfter(1_000);
    expect(rig.status("app")).toMatchObject({ restartCount: 8, state: { waiting: { reason: "CrashLoopBackOff" } } });
    rig.pass(300_000);
    rig.answerAll();
    rig.pass(480_000);
    rig.exit("app", 137);
    rig.answerAll();

    expect(rig.status("app")).toMatchObject({ restartCount: 9, state: { waiting: { reason: "CrashLoopBackOff" } } });
  });

  test.for(["Always", "OnFailure", "Never"])("restarts a container whose image has changed with policy %s", (restartPolicy) => {
    const rig = new PodRig(podWith({ restartPolicy }));
    rig.answerAll();

    rig.send({ kind: "updated", pod: podWith({ restartPolicy, containers: [{ name: "app", image: "app:2" }] }) });
    const id = rig.idOf("app");
    rig.exit("app", 0);
    // With two of the policies, an end of its own would be final.
    const isShown = restartPolicy === "Always";
    expect(rig.status("app")).toMatchObject({ ready: false, containerID: `fake://${id}` });
    expect(Object.keys(rig.status("app").state ?? {})).toEqual([isShown ? "terminated" : "running"]);
    expect(rig.report.phase).toBe("Running");
    rig.answerAll();

    expect(rig.status("app")).toMatchObject({ restartCount: 1, ready: true, lastState: { terminated: { exitCode: 0 } } });
  });

  test("does not restart an init container whose image has changed", () => {
    const rig = new PodRig(podWith({ initContainers: [init("one")] }));
    rig.answerAll();

    rig.send({ kind: "updated", pod: podWith({ initContainers: [{ name: "one", image: "app:2" }] }) });

    expect(rig.open).toEqual([]);
    rig.exit("one", 0);
    rig.answerAll();
    expect([rig.status("one").restartCount, rig.status("app").ready]).toEqual([0, true]);
  });

  test("creates a new sandbox when the old one is lost, and runs the init containers again", () => {
    const rig = new PodRig(podWith({ initContainers: [init("one")] }));
    rig.answerAll();
    rig.exit("one", 0);
    rig.answerAll();

    rig.send({ kind: "sandboxStopped", sandboxId: "s0" });

    expect(rig.status("app").state).toHaveProperty("terminated.exitCode", 137);
    rig.answerAll();
    expect(rig.status("one")).toMatchObject({ restartCount: 1 });
    expect(rig.status("one").state).toHaveProperty("running");
    rig.exit("one", 0);
    rig.answerAll();
    expect(rig.status("app")).toMatchObject({ restartCount: 1, ready: true });
  });
});

describe("ending", () => {
  test("stops sidecars after the containers, the last one first", () => {
    const rig = new PodRig(podWith({ initContainers: [sidecar("a"), sidecar("b")] }));
    rig.answerAll();

    rig.send({ kind: "deleted", graceMs: 30_000 });
    expect(rig.open).toEqual(["stopContainer app"]);
    rig.answer(rig.take("stopContainer"));
    expect(rig.open).toEqual(["stopContainer b"]);
    rig.answer(rig.take("stopContainer"));
    expect(rig.open).toEqual(["stopContainer a"]);
    rig.answerAll();

    expect(rig.state.stage).toEqual({ kind: "gone" });
  });

  test("runs preStop hooks of sidecars together with those of the containers, and then stops each sidecar in its turn", () => {
    const lifecycle = { preStop: { exec: { command: ["sleep"] } } };
    const sidecars = [sidecar("a"), sidecar("b")].map((container) => ({ ...container, lifecycle }));
    const rig = new PodRig(podWith({ initContainers: sidecars, containers: [{ ...init("app"), lifecycle }] }));
    rig.answerAll();

    rig.send({ kind: "deleted", graceMs: 30_000 });
    expect(rig.open).toEqual(["runHook a", "runHook b", "runHook app"]);
    rig.answer(rig.take("runHook", "a"));
    rig.answer(rig.take("runHook", "app"));
    expect(rig.open).toEqual(["runHook b", "stopContainer app"]);
    rig.answer(rig.take("stopContainer", "app"));
    expect(rig.open).toEqual(["runHook b"]);
    rig.answer(rig.take("runHook", "b"));
    expect(rig.open).toEqual(["stopContainer b"]);
    rig.answer(rig.take("stopContainer", "b"));

    expect(rig.open).toEqual(["stopContainer a"]);
  });

  test("stops all sidecars together when the containers have used up the grace period", () => {
    const lifecycle = { preStop: { exec: { command: ["sleep"] } } };
    const sidecars = [{ ...sidecar("a"), lifecycle }, sidecar("b")];
    const rig = new PodRig(podWith({ initContainers: sidecars }));
    rig.answerAll();

    rig.send({ kind: "deleted", graceMs: 10_000 });
    rig.take("stopContainer", "app");
    rig.take("runHook", "a");
    expect(rig.open).toEqual([]);
    rig.pass(10_000);

    expect(rig.open).toEqual(["stopContainer a", "stopContainer b"]);
    expect(rig.take("stopContainer").graceMs).toBe(2_000);
  });

  test("does not delay a sidecar's stop for init containers, or for the hook of another sidecar that has ended by itself", () => {
    const lifecycle = { preStop: { exec: { command: ["sleep"] } } };
    const rig = new PodRig(podWith({ initContainers: [sidecar("a"), { ...sidecar("b"), lifecycle }, init("one")] }));
    rig.answerAll();

    rig.send({ kind: "deleted", graceMs: 30_000 });
    expect(rig.open).toEqual(["runHook b", "stopContainer one"]);
    rig.exit("b", 1);

    expect(rig.open).toContain("stopContainer a");
    expect(rig.status("b").restartCount).toBe(0);
  });

  test("subtracts the duration of the preStop hook from the grace period, but leaves two seconds", () => {
    const lifecycle = { preStop: { exec: { command: ["sleep"] } } };
    const rig = new PodRig(podWith({ containers: [{ ...init("app"), lifecycle }] }));
    rig.answerAll();

    rig.send({ kind: "deleted", graceMs: 10_000 });
    const hook = rig.take("runHook");
    expect(rig.open).toEqual([]);
    rig.pass(10_000);

    expect(rig.take("stopContainer").graceMs).toBe(2_000);
    // This is not a failure: a hook may end with its container.
    rig.send({ ...hook, kind: "hookEnded", error: "it was ended" });
    expect(rig.events.filter((event) => event.startsWith("FailedPreStopHook"))).toEqual([]);
  });

  test("records a preStop hook that fails, and stops the container with the rest of the grace period", () => {
    const lifecycle = { preStop: { exec: { command: ["false"] } } };
    const rig = new PodRig(podWith({ containers: [{ ...init("app"), lifecycle }] }));
    rig.answerAll();

    rig.send({ kind: "deleted", graceMs: 10_000 });
    rig.pass(3_000);
    rig.send({ ...rig.take("runHook"), kind: "hookEnded", error: "it said: canary" });

    expect(rig.take("stopContainer").graceMs).toBe(7_000);
    expect(rig.events.at(-1)).toBe("FailedPreStopHook: PreStopHook failed");
    expect(rig.events.join()).not.toContain("canary");
  });

  test("runs no preStop hook without a grace period", () => {
    const lifecycle = { preStop: { exec: { command: ["sleep"] } } };
    const rig = new PodRig(podWith({ containers: [{ ...init("app"), lifecycle }] }));
    rig.answerAll();

    rig.send({ kind: "deleted", graceMs: 0 });

    expect(rig.open).toEqual(["stopContainer app"]);
  });

  test("shortens a stop when the pod is deleted again with less grace, and never extends it", () => {
    const rig = new PodRig(podWith({}));
    rig.answerAll();

    rig.send({ kind: "deleted", graceMs: 30_000 });
    rig.pass(5_000);
    rig.send({ kind: "deleted", graceMs: 60_000 });
    rig.send({ kind: "deleted", graceMs: 3_000 });

    expect([rig.take("stopContainer").graceMs, rig.take("stopContainer").graceMs]).toEqual([30_000, 3_000]);
    expect(rig.open).toEqual([]);
  });

  test("stops a container that starts after the pod was deleted", () => {
    const rig = new PodRig(podWith({}));
    for (const kind of ["createSandbox", "ensureImage"] as const) rig.answer(rig.take(kind));

    rig.send({ kind: "deleted", graceMs: 30_000 });
    expect(rig.open).toEqual(["startContainer app"]);
    rig.answer(rig.take("startContainer"));

    expect(rig.open).toEqual(["stopContainer app"]);
  });

  test("reports DeadlineExceeded after everything has ended", () => {
    const rig = new PodRig(podWith({ activeDeadlineSeconds: 60 }));
    rig.answerAll();

    rig.pass(60_000);
    expect(rig.report.phase).toBe("Running");
    rig.answerAll();

    expect(rig.report).toMatchObject({
      phase: "Failed",
      reason: "DeadlineExceeded",
      message: "Pod was active on the node longer than the specified deadline",
    });
  });

  test("keeps ended containers for their logs until the pod is deleted", () => {
    const rig = new PodRig(podWith({ restartPolicy: "OnFailure" }));
    rig.answerAll();

    rig.exit("app", 0);
    rig.answerAll();
    expect(rig.state.stage).toEqual({ kind: "finished" });
    rig.send({ kind: "deleted", graceMs: 0 });

    expect(rig.open).toEqual(["removeAll"]);
  });

  test("retries failed stops and removals", () => {
    const rig = new PodRig(podWith({}));
    rig.answerAll();
    rig.send({ kind: "deleted", graceMs: 30_000 });

    rig.send({ ...rig.take("stopContainer"), kind: "stopFailed" });
    rig.pass(10_000);
    expect(rig.take("stopContainer").graceMs).toBe(20_000);
    rig.exit("app", 0);
    rig.send({ ...rig.take("stopSandbox"), kind: "sandboxStopFailed" });
    rig.pass(10_000);
    rig.answer(rig.take("stopSandbox"));
    rig.take("removeAll");
    rig.send({ kind: "removeFailed" });
    rig.pass(10_000);

    expect(rig.open).toEqual(["removeAll"]);
  });
});
