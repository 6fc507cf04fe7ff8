import type { Container, PodSpec } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { PodRig, podWith } from "../test-support/pod-rig.ts";

const app: Container = { name: "app", image: "app:1" };

function rigOf(container: Partial<Container> = {}, more: Partial<PodSpec> = {}): PodRig {
  return new PodRig(podWith({ containers: [{ ...app, ...container }], ...more }));
}

/** Answers all effects before the start of a container, and takes that start. */
function untilStart(rig: PodRig): ReturnType<typeof rig.take<"startContainer">> {
  for (const kind of ["createSandbox", "ensureImage"] as const) rig.answer(rig.take(kind));
  return rig.take("startContainer");
}

describe("the status of a pod", () => {
  test("before anything was created has no address, and its containers wait", () => {
    expect(rigOf().report).toEqual({
      phase: "Pending",
      podIP: undefined,
      podIPs: [],
      conditions: [{ type: "PodReadyToStartContainers", status: "False" }],
      initContainerStatuses: [],
      containerStatuses: [
        {
          name: "app",
          image: "app:1",
          imageID: "",
          containerID: undefined,
          restartCount: 0,
          ready: false,
          started: false,
          state: { waiting: { reason: "ContainerCreating" } },
          lastState: {},
        },
      ],
      ephemeralContainerStatuses: [],
      endsWhenGone: true,
    });
  });

  test("is final only when its sandbox has stopped, so that its ports are free, not when its last container ends", () => {
    const rig = rigOf({}, { restartPolicy: "Never" });
    rig.answerAll();
    rig.exit("app", 0);
    expect(rig.report).toMatchObject({ phase: "Running", containerStatuses: [{ state: { terminated: { exitCode: 0 } } }] });
    rig.answer(rig.take("stopSandbox"));

    expect(rig.report.phase).toBe("Succeeded");
  });

  test("has the addresses of its sandbox while that is running, the main one first", () => {
    const rig = rigOf();
    const { attempt } = rig.take("createSandbox");
    rig.send({ kind: "sandboxCreated", attempt, sandboxId: "s0", ips: ["10.0.0.1", "fd00::1"] });

    expect(rig.report).toMatchObject({ podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] });
    expect(rig.report.conditions).toEqual([{ type: "PodReadyToStartContainers", status: "True" }]);
  });

  test("lists init containers, sidecars, main and ephemeral containers separately", () => {
    const rig = rigOf(
      {},
      {
        initContainers: [
          { name: "init", image: "app:1" },
          { name: "proxy", image: "app:1", restartPolicy: "Always" },
        ],
        ephemeralContainers: [{ name: "debug", image: "app:1" }],
      },
    );
    const { initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = rig.report;

    expect([initContainerStatuses, containerStatuses, ephemeralContainerStatuses].map((list) => list?.map(({ name }) => name))).toEqual([
      ["init", "proxy"],
      ["app"],
      ["debug"],
    ]);
  });

  test("is not final while a sidecar is running", () => {
    const rig = rigOf({}, { restartPolicy: "Never", initContainers: [{ name: "proxy", image: "app:1", restartPolicy: "Always" }] });
    rig.answerAll();

    rig.exit("app", 0);
    expect(rig.report.phase).toBe("Running");
    rig.answerAll();

    expect(rig.report.phase).toBe("Succeeded");
  });

  test("is not final while a sidecar is running; it is Pending if no main container has ever run", () => {
    const initContainers = [
      { name: "proxy", image: "app:1", restartPolicy: "Always" },
      { name: "init", image: "app:1" },
    ];
    const rig = rigOf({}, { restartPolicy: "Never", initContainers });
    rig.answerAll();

    rig.exit("init", 1);
    expect(rig.report.phase).toBe("Pending");
    rig.answerAll();

    expect(rig.report.phase).toBe("Failed");
  });

  test("of a pod that was made to fail is Failed, with reason and message, after everything including its sandbox has stopped", () => {
    const rig = rigOf();
    rig.answerAll();

    rig.send({ kind: "failed", graceMs: 0, reason: "Evicted", message: "too much" });
    expect(rig.report).not.toHaveProperty("reason");
    expect(rig.report.phase).toBe("Running");
    rig.answer(rig.take("stopContainer"));
    expect(rig.report.phase).toBe("Running");
    rig.answer(rig.take("stopSandbox"));

    expect(rig.report).toMatchObject({ phase: "Failed", reason: "Evicted", message: "too much" });
  });

  test("of a deleted pod has no reason", () => {
    const rig = rigOf();
    rig.answerAll();

    rig.send({ kind: "deleted", graceMs: 0 });
    rig.answer(rig.take("stopContainer"));

    expect(rig.report).not.toHaveProperty("reason");
  });

  test("has pod-level resources only if the spec has some", () => {
    expect(rigOf().report).not.toHaveProperty("resources");
    expect(rigOf({}, { resources: { requests: { cpu: "1", memory: "1Gi" } } }).report).toMatchObject({
      resources: { requests: { cpu: "1", memory: "1Gi" }, limits: {} },
      allocatedResources: { cpu: "1", memory: "1Gi" },
    });
  });
});

describe("the status of a container", () => {
  test("that is running contains its start, image, resources and user", () => {
    const resources = { requests: { cpu: "100m" }, limits: { cpu: "1" } };
    const rig = rigOf({ resources });
    rig.send({ ...untilStart(rig), kind: "started", id: "c1", startedAtMs: rig.now.wallMs, user: { uid: 1000, gid: 0 } });

    expect(rig.status("app")).toEqual({
      name: "app",
      image: "app:1",
      imageID: "app@sha256:1",
      containerID: "fake://c1",
      restartCount: 0,
      ready: true,
      started: true,
      state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
      lastState: {},
      resources,
      allocatedResources: { cpu: "100m" },
      user: { linux: { uid: 1000, gid: 0 } },
      volumeMounts: undefined,
    });
  });

  test("whose user the runtime does not report has no user", () => {
    const rig = rigOf();
    rig.answerAll();

    expect(rig.status("app")).not.toHaveProperty("user");
    expect(rig.status("app").resources).toEqual({});
  });

  test("has its mounts in a kubelet's form, once the container exists", () => {
    const volumeMounts = [
      { name: "a", mountPath: "/a" },
      { name: "b", mountPath: "/b", readOnly: true },
      { name: "c", mountPath: "/c", readOnly: true, recursiveReadOnly: "Enabled" },
      { name: "d", mountPath: "/d", readOnly: true, recursiveReadOnly: "IfPossible" },
      { name: "e", mountPath: "/e", readOnly: false, recursiveReadOnly: "Enabled" },
    ];
    const rig = rigOf({ volumeMounts }, { restartPolicy: "Never" });
    expect(rig.status("app")).not.toHaveProperty("volumeMounts");
    rig.answerAll();
    const expected = [
      { name: "a", mountPath: "/a" },
      { name: "b", mountPath: "/b", readOnly: true, recursiveReadOnly: "Disabled" },
      { name: "c", mountPath: "/c", readOnly: true, recursiveReadOnly: "Enabled" },
      { name: "d", mountPath: "/d", readOnly: true, recursiveReadOnly: "Disabled" },
      { name: "e", mountPath: "/e" },
    ];

    expect(rig.status("app").volumeMounts).toEqual(expected);
    rig.exit("app", 0);
    expect(rig.status("app").volumeMounts).toEqual(expected);
  });

  test("that has ended contains the exit, id and times, and no resources", () => {
    const rig = rigOf({}, { restartPolicy: "Never" });
    rig.answerAll();
    rig.pass(2_000);
    const finishedAtMs = rig.now.wallMs;
    const termination = { exitCode: 3, reason: "Error", message: "full", startedAtMs: finishedAtMs - 2_000, finishedAtMs, id: "c1" };

    rig.send({ kind: "exited", container: "app", id: "c1", termination });

    expect(rig.status("app")).toEqual({
      name: "app",
      image: "app:1",
      imageID: "app@sha256:1",
      containerID: "fake://c1",
      restartCount: 0,
      ready: false,
      started: false,
      state: {
        terminated: {
          exitCode: 3,
          reason: "Error",
          message: "full",
          startedAt: "2026-01-01T00:00:00Z",
          finishedAt: "2026-01-01T00:00:02Z",
          containerID: "fake://c1",
        },
      },
      lastState: {},
      volumeMounts: undefined,
    });
  });

  test("that could never be started has no start time in its termination", () => {
    const rig = rigOf({}, { restartPolicy: "Never" });

    rig.send({ ...untilStart(rig), kind: "startFailed", id: "c1", reason: "RunContainerError", message: "no such command", exitCode: 127 });

    expect(rig.status("app").state).toEqual({
      terminated: {
        exitCode: 127,
        reason: "StartError",
        message: "no such command",
        startedAt: undefined,
        finishedAt: "2026-01-01T00:00:00Z",
        containerID: "fake://c1",
      },
    });
  });

  test("that was restarted has the previous run as its last state; while it is being started, its state stays as before", () => {
    const rig = rigOf();
    rig.answerAll();
    rig.exit("app", 1);
    expect(rig.status("app")).toMatchObject({ restartCount: 0, containerID: "fake://c1", lastState: {} });
    rig.answer(rig.take("ensureImage"));
    const starting = rig.status("app");
    expect(starting).toMatchObject({ restartCount: 0, containerID: "fake://c1", ready: false, started: false });
    expect(starting.state).toHaveProperty("terminated.exitCode", 1);
    rig.answer(rig.take("startContainer"));

    expect(rig.status("app")).toMatchObject({
      restartCount: 1,
      containerID: "fake://c2",
      lastState: { terminated: { exitCode: 1, containerID: "fake://c1" } },
    });
    rig.exit("app", 2);
    expect(rig.status("app")).toMatchObject({ restartCount: 1, containerID: "fake://c2", lastState: { terminated: { exitCode: 2 } } });
  });

  test("after two ends has the first end as its last state", () => {
    const rig = rigOf({}, { restartPolicy: "OnFailure" });
    rig.answerAll();
    rig.exit("app", 1);
    rig.answerAll();

    rig.exit("app", 0);

    expect(rig.status("app")).toMatchObject({ state: { terminated: { exitCode: 0 } }, lastState: { terminated: { exitCode: 1 } } });
  });

  test("whose image is unknown contains the image of the spec", () => {
    const rig = new PodRig(podWith({ containers: [{ name: "app" }] }));

    expect(rig.status("app").image).toBe("");
  });

  test("is ready after its readiness probe has succeeded, and started after its startup probe has", () => {
    const probe = { exec: { command: ["true"] } };
    const rig = rigOf({ startupProbe: probe, readinessProbe: probe });
    rig.answerAll();
    const passed = (kind: "startup" | "readiness", isSuccess = true): void =>
      rig.send({ kind: "probed", container: "app", id: rig.idOf("app"), probe: kind, isSuccess });
    const shown = (): readonly unknown[] => [rig.status("app").started, rig.status("app").ready];
    expect(shown()).toEqual([false, false]);

    passed("readiness");
    expect(shown(), "not before it is started").toEqual([false, false]);
    passed("startup");
    expect(shown()).toEqual([true, false]);
    passed("readiness");
    expect(shown()).toEqual([true, true]);
    passed("readiness", false);
    expect(shown()).toEqual([true, false]);
  });

  test("that is an init container is ready after it has succeeded", () => {
    const rig = rigOf({}, { initContainers: [{ name: "init", image: "app:1" }] });
    rig.answerAll();
    expect(rig.status("init")).toMatchObject({ ready: true, started: true });
    rig.exit("init", 0);

    expect(rig.status("init")).toMatchObject({ ready: true, started: false });
    expect(rig.status("app").state).toEqual({ waiting: { reason: "PodInitializing" } });
  });

  test("that is a sidecar and has ended is not ready", () => {
    const rig = rigOf({}, { initContainers: [{ name: "proxy", image: "app:1", restartPolicy: "Always" }] });
    rig.answerAll();

    rig.exit("proxy", 0);

    expect(rig.status("proxy")).toMatchObject({ ready: false, started: false });
  });

  test("that is being stopped is still running", () => {
    const rig = rigOf();
    rig.answerAll();

    rig.send({ kind: "deleted", graceMs: 5_000 });

    expect(rig.status("app")).toMatchObject({ ready: true, state: { running: {} } });
  });
});

describe("a change of resources", () => {
  const withCpu = (cpu: string): Partial<PodSpec> => ({ resources: { limits: { cpu } } });

  test("of the pod is shown with its error after a failure, but not while the pod is ending", () => {
    const rig = rigOf({}, withCpu("1"));
    rig.answerAll();
    rig.send({ kind: "updated", pod: podWith(withCpu("2")) });
    const shown = (): unknown => rig.report.conditions?.filter(({ type }) => type === "PodResizeInProgress");
    expect(shown()).toEqual([{ type: "PodResizeInProgress", status: "True" }]);

    rig.send({ kind: "podFitFailed", sandboxId: "s0", message: "busy" });
    expect(shown()).toEqual([{ type: "PodResizeInProgress", status: "True", reason: "Error", message: "busy" }]);
    rig.send({ kind: "deleted", graceMs: 0 });

    expect(shown()).toEqual([]);
  });
});
