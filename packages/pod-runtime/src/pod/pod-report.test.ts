import type { Container, PodSpec } from "@virtual-kubelet/core";
import { describe, expect, test } from "vitest";
import { PodRig, podWith } from "../test-support/pod-rig.ts";

const app: Container = { name: "app", image: "app:1" };

function rigOf(container: Partial<Container> = {}, more: Partial<PodSpec> = {}): PodRig {
  return new PodRig(podWith({ containers: [{ ...app, ...container }], ...more }));
}

/** Answers what is asked for up to a container's start, which it takes. */
function untilStart(rig: PodRig): ReturnType<typeof rig.take<"startContainer">> {
  for (const kind of ["createSandbox", "ensureImage"] as const) rig.answer(rig.take(kind));
  return rig.take("startContainer");
}

describe("the status of a pod", () => {
  test("before anything was made has no address, and waits for its sandbox", () => {
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

  test("is final once its sandbox has stopped, so that its ports are free, and not with its last container", () => {
    const rig = rigOf({}, { restartPolicy: "Never" });
    rig.answerAll();
    rig.exit("app", 0);
    expect(rig.report).toMatchObject({ phase: "Running", containerStatuses: [{ state: { terminated: { exitCode: 0 } } }] });
    rig.answer(rig.take("stopSandbox"));

    expect(rig.report.phase).toBe("Succeeded");
  });

  test("has the addresses of its sandbox while that is up, the main one first", () => {
    const rig = rigOf();
    const { attempt } = rig.take("createSandbox");
    rig.send({ kind: "sandboxCreated", attempt, sandboxId: "s0", ips: ["10.0.0.1", "fd00::1"] });

    expect(rig.report).toMatchObject({ podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] });
    expect(rig.report.conditions).toEqual([{ type: "PodReadyToStartContainers", status: "True" }]);
  });

  test("tells init containers, sidecars, main and ephemeral ones apart", () => {
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

  test("is not final while a sidecar runs", () => {
    const rig = rigOf({}, { restartPolicy: "Never", initContainers: [{ name: "proxy", image: "app:1", restartPolicy: "Always" }] });
    rig.answerAll();

    rig.exit("app", 0);
    expect(rig.report.phase).toBe("Running");
    rig.answerAll();

    expect(rig.report.phase).toBe("Succeeded");
  });

  test("is not final while a sidecar runs, and is Pending where no main container ever ran", () => {
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

  test("that was made to fail says so once nothing runs, its sandbox included, with reason and message", () => {
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

  test("that is deleted has no reason", () => {
    const rig = rigOf();
    rig.answerAll();

    rig.send({ kind: "deleted", graceMs: 0 });
    rig.answer(rig.take("stopContainer"));

    expect(rig.report).not.toHaveProperty("reason");
  });

  test("has resources of its own only where the spec has some", () => {
    expect(rigOf().report).not.toHaveProperty("resources");
    expect(rigOf({}, { resources: { requests: { cpu: "1", memory: "1Gi" } } }).report).toMatchObject({
      resources: { requests: { cpu: "1", memory: "1Gi" }, limits: {} },
      allocatedResources: { cpu: "1", memory: "1Gi" },
    });
  });
});

describe("the status of a container", () => {
  test("that runs tells when it started, its image, what it has and what it runs as", () => {
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

  test("of which the runtime does not tell whom it runs as has no user", () => {
    const rig = rigOf();
    rig.answerAll();

    expect(rig.status("app")).not.toHaveProperty("user");
    expect(rig.status("app").resources).toEqual({});
  });

  test("has its mounts as a kubelet shows them, once there is a container", () => {
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

  test("that has ended tells how, with its id and the times, and of no resources", () => {
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

  test("that could never be started has no start in its end", () => {
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

  test("that was restarted shows the run before as its last, and while it is started anew the same as before", () => {
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

  test("after two ends shows the one before the last as its last state", () => {
    const rig = rigOf({}, { restartPolicy: "OnFailure" });
    rig.answerAll();
    rig.exit("app", 1);
    rig.answerAll();

    rig.exit("app", 0);

    expect(rig.status("app")).toMatchObject({ state: { terminated: { exitCode: 0 } }, lastState: { terminated: { exitCode: 1 } } });
  });

  test("whose image was never there shows the image of the spec", () => {
    const rig = new PodRig(podWith({ containers: [{ name: "app" }] }));

    expect(rig.status("app").image).toBe("");
  });

  test("is ready when its readiness probe has passed, and started when its startup probe has", () => {
    const probe = { exec: { command: ["true"] } };
    const rig = rigOf({ startupProbe: probe, readinessProbe: probe });
    rig.answerAll();
    const passed = (kind: "startup" | "readiness", isSuccess = true): void =>
      rig.send({ kind: "probed", container: "app", id: rig.idOf("app"), probe: kind, isSuccess });
    const shown = (): readonly unknown[] => [rig.status("app").started, rig.status("app").ready];
    expect(shown()).toEqual([false, false]);

    passed("readiness");
    expect(shown(), "not before it has started").toEqual([false, false]);
    passed("startup");
    expect(shown()).toEqual([true, false]);
    passed("readiness");
    expect(shown()).toEqual([true, true]);
    passed("readiness", false);
    expect(shown()).toEqual([true, false]);
  });

  test("that is an init container is ready once it has done its work", () => {
    const rig = rigOf({}, { initContainers: [{ name: "init", image: "app:1" }] });
    rig.answerAll();
    expect(rig.status("init")).toMatchObject({ ready: true, started: true });
    rig.exit("init", 0);

    expect(rig.status("init")).toMatchObject({ ready: true, started: false });
    expect(rig.status("app").state).toEqual({ waiting: { reason: "PodInitializing" } });
  });

  test("that is a sidecar which has ended is not ready", () => {
    const rig = rigOf({}, { initContainers: [{ name: "proxy", image: "app:1", restartPolicy: "Always" }] });
    rig.answerAll();

    rig.exit("proxy", 0);

    expect(rig.status("proxy")).toMatchObject({ ready: false, started: false });
  });

  test("that is being stopped still runs", () => {
    const rig = rigOf();
    rig.answerAll();

    rig.send({ kind: "deleted", graceMs: 5_000 });

    expect(rig.status("app")).toMatchObject({ ready: true, state: { running: {} } });
  });
});

describe("a change of resources", () => {
  const withCpu = (cpu: string): Partial<PodSpec> => ({ resources: { limits: { cpu } } });

  test("of the pod that fails is shown with the error, and not while the pod ends", () => {
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
