import type { ContainerStatus, Pod } from "@virtual-kubelet/core";
import type { Observation } from "@virtual-kubelet/remote-pods";
import { describe, expect, test } from "vitest";
import type { EcsTask } from "../aws/ecs-objects.ts";
import { identity, podOf } from "../test-support/pods.ts";
import { ended, running, taskWith } from "../test-support/tasks.ts";
import type { TaskMemory } from "./task-memory.ts";
import { observeTask } from "./observe-task.ts";
import { ownStopReason, type OwnStop } from "./stop-cause.ts";

type Spec = NonNullable<Pod["spec"]>;

const nowMs = Date.parse("2026-11-21T10:05:00Z");
const main = { name: "main", image: "nginx:1.29" };
const side = { name: "side", image: "busybox" };

function observe(
  task: EcsTask,
  {
    spec = { containers: [main] },
    memory,
    isEnding = false,
    isGone = false,
    status,
  }: { spec?: Spec; memory?: TaskMemory; isEnding?: boolean; isGone?: boolean; status?: Pod["status"] } = {},
): Observation<TaskMemory> {
  const pod = { ...podOf(spec), ...(status && { status }) };
  return observeTask(task, { identity, pod: isGone ? undefined : pod, memory, nowMs, isEnding });
}

const containerStatusWith = (name: string, state: ContainerStatus["state"]): ContainerStatus => ({
  name,
  image: "i",
  imageID: "",
  containerID: `ecs://run-${name}`,
  ready: false,
  restartCount: 0,
  ...(state && { state }),
});

const stopped = (changes: Partial<EcsTask>, ...containers: Parameters<typeof taskWith>[1][]): EcsTask =>
  taskWith({ lastStatus: "STOPPED", desiredStatus: "STOPPED", executionStoppedAt: "2026-11-21T10:04:00.000Z", ...changes }, ...containers);
const exited = { stopCode: "EssentialContainerExited", stoppedReason: "Essential container in task exited" };

describe("a task that starts", () => {
  test.each(["PROVISIONING", "PENDING", "ACTIVATING"])("is a pending pod while it is %s", (lastStatus) => {
    const { progress, status } = observe(taskWith({ lastStatus }, { name: "main", lastStatus: "PENDING" }));

    expect(progress).toBe("starting");
    expect(status.phase).toBe("Pending");
    expect(status.containerStatuses?.[0]).toMatchObject({ ready: false, state: { waiting: { reason: "ContainerCreating" } } });
  });

  test("says when its images are pulled", () => {
    const { status } = observe(taskWith({ lastStatus: "PENDING", pullStartedAt: "2026-11-21T10:00:05.000Z" }));

    expect(status.containerStatuses?.[0]?.state?.waiting).toEqual({ reason: "ContainerCreating", message: "ECS pulls the images" });
  });

  test("has containers that wait for init containers", () => {
    const spec: Spec = { initContainers: [{ name: "setup", image: "i" }], containers: [main] };
    const { status } = observe(taskWith({ lastStatus: "PENDING" }, running("setup"), { name: "main", lastStatus: "PENDING" }), { spec });

    expect(status.phase).toBe("Pending");
    expect(status.initContainerStatuses?.[0]).toMatchObject({ name: "setup", ready: false, state: { running: {} } });
    expect(status.containerStatuses?.[0]?.state?.waiting?.reason).toBe("PodInitializing");
  });
});

describe("a container that runs before its task does", () => {
  const starting = taskWith({ lastStatus: "ACTIVATING", startedAt: undefined }, running("main"));
  const startedAt = "2026-11-21T10:05:00.000Z";

  test("waits for the task, which tells when it has started", () => {
    const { progress, status, memory } = observe(starting);

    expect({ progress, phase: status.phase }).toEqual({ progress: "starting", phase: "Pending" });
    expect(status.containerStatuses?.[0]).toMatchObject({
      ready: false,
      state: { waiting: { reason: "ContainerCreating", message: "the task is ACTIVATING" } },
    });
    expect(observe(taskWith({}, running("main")), { memory }).status.containerStatuses?.[0]?.state).toEqual({
      running: { startedAt: "2026-11-21T10:00:30.000Z" },
    });
  });

  const setup = { name: "setup", image: "i" };
  test.each([
    ["an init container", setup],
    ["a sidecar", { ...setup, restartPolicy: "Always" }],
  ])("runs since it was first seen, if it is %s", (_what, container) => {
    const spec: Spec = { initContainers: [container], containers: [main] };
    const { status, memory } = observe(taskWith({ lastStatus: "PENDING", startedAt: undefined }, running("setup")), { spec });
    const later = observe(taskWith({}, running("setup"), running("main")), { spec, memory });

    expect(status.initContainerStatuses?.[0]?.state).toEqual({ running: { startedAt } });
    expect(later.status.initContainerStatuses?.[0]?.state).toEqual({ running: { startedAt } });
    expect(later.status.containerStatuses?.[0]?.state).toEqual({ running: { startedAt: "2026-11-21T10:00:30.000Z" } });
  });

  test("keeps the time that was reported to Kubernetes when the program has started again", () => {
    const spec: Spec = { initContainers: [{ ...setup, restartPolicy: "Always" }], containers: [main] };
    const reported = "2026-11-21T10:00:20Z";
    const status = { initContainerStatuses: [containerStatusWith("setup", { running: { startedAt: reported } })] };
    const task = taskWith({}, running("setup"), running("main"));

    expect(observe(task, { spec, status }).status.initContainerStatuses?.[0]?.state?.running?.startedAt).toBe(reported);
    const otherRun = taskWith({}, running("setup", { runtimeId: "another" }), running("main"));
    expect(observe(otherRun, { spec, status }).status.initContainerStatuses?.[0]?.state?.running?.startedAt).toBe(
      "2026-11-21T10:00:30.000Z",
    );
  });
});

describe("a task that runs", () => {
  test("is a running pod with the address of its network interface", () => {
    const details = [
      { name: "subnetId", value: "subnet-1" },
      { name: "privateIPv4Address", value: "10.0.1.7" },
      { name: "ipv6Address", value: "2001:db8::7" },
    ];
    const { progress, status, createdAt } = observe(
      taskWith({ attachments: [{ type: "ElasticNetworkInterface", details }] }, running("main", { imageDigest: "sha256:abc" })),
    );

    expect({ progress, createdAt }).toEqual({ progress: "running", createdAt: "2026-11-21T10:00:00.000Z" });
    expect(status).toEqual({
      phase: "Running",
      podIP: "10.0.1.7",
      podIPs: [{ ip: "10.0.1.7" }, { ip: "2001:db8::7" }],
      containerStatuses: [
        {
          name: "main",
          image: "nginx:1.29",
          imageID: "nginx:1.29@sha256:abc",
          containerID: "ecs://run-main",
          restartCount: 0,
          ready: true,
          started: true,
          state: { running: { startedAt: "2026-11-21T10:00:30.000Z" } },
        },
      ],
    });
  });

  test.each([
    ["HEALTHY", true],
    ["UNHEALTHY", false],
    ["UNKNOWN", false],
    [undefined, false],
  ])("with a readiness probe and health %s: ready is %s", (healthStatus, ready) => {
    const spec: Spec = { containers: [{ ...main, readinessProbe: { exec: { command: ["c"] } } }] };

    expect(observe(taskWith({}, running("main", { healthStatus })), { spec }).status.containerStatuses?.[0]?.ready).toBe(ready);
  });

  test("with a liveness probe alone is ready before the first result", () => {
    const spec: Spec = { containers: [{ ...main, livenessProbe: { exec: { command: ["c"] } } }] };
    const { progress, status } = observe(taskWith({}, running("main", { healthStatus: "UNKNOWN" })), { spec });

    expect(status.containerStatuses?.[0]?.ready).toBe(true);
    expect(progress).toBe("starting");
  });

  describe("with a startup probe", () => {
    const spec: Spec = { containers: [{ ...main, startupProbe: { exec: { command: ["c"] } } }] };
    const withHealth = (healthStatus: string): EcsTask => taskWith({}, running("main", { healthStatus }));

    test("is not started before the probe has passed", () => {
      const { progress, status } = observe(withHealth("UNKNOWN"), { spec });

      expect(progress).toBe("starting");
      expect(status.containerStatuses?.[0]).toMatchObject({ started: false, ready: false });
    });

    test("stays started whatever the health check says afterwards", () => {
      const { memory, progress, status } = observe(withHealth("HEALTHY"), { spec });
      const later = observe(withHealth("UNHEALTHY"), { spec, memory });

      expect(progress).toBe("running");
      for (const each of [status, later.status]) expect(each.containerStatuses?.[0]).toMatchObject({ started: true, ready: true });
      const otherRun = observe(taskWith({}, running("main", { runtimeId: "b" })), { spec, memory });
      expect(otherRun.status.containerStatuses?.[0]).toMatchObject({ started: false, ready: false });
    });

    test("is started if it was before the program started again", () => {
      const reported = { ...containerStatusWith("main", { running: { startedAt: "2026-11-21T10:00:30Z" } }), started: true };

      expect(
        observe(withHealth("UNHEALTHY"), { spec, status: { containerStatuses: [reported] } }).status.containerStatuses?.[0]?.started,
      ).toBe(true);
    });
  });

  test("keeps the time at which one of its containers was first seen to have ended", () => {
    const spec: Spec = { restartPolicy: "Never", containers: [main, side] };
    const first = observe(taskWith({}, running("main"), ended("side", 3)), { spec });
    const later = observeTask(taskWith({}, running("main"), ended("side", 3)), {
      identity,
      pod: podOf(spec),
      memory: first.memory,
      nowMs: nowMs + 60_000,
      isEnding: false,
    });

    expect(first.progress).toBe("ending");
    expect(later.status.phase).toBe("Running");
    expect(later.status.containerStatuses?.[1]?.state?.terminated).toMatchObject({
      exitCode: 3,
      reason: "Error",
      finishedAt: "2026-11-21T10:05:00.000Z",
    });
  });

  test("and the time that was reported to Kubernetes, if the program has forgotten its own", () => {
    const finishedAt = "2026-11-21T10:04:30Z";
    const status = {
      containerStatuses: [containerStatusWith("side", { terminated: { exitCode: 3, finishedAt, startedAt: "2026-11-21T10:00:31Z" } })],
    };
    const spec: Spec = { restartPolicy: "Never", containers: [main, side] };
    const task = stopped(exited, ended("main", 0), ended("side", 3));

    expect(observe(task, { spec, status }).status.containerStatuses?.map(({ state }) => state?.terminated)).toMatchObject([
      { startedAt: "2026-11-21T10:00:30.000Z", finishedAt: "2026-11-21T10:04:00.000Z" },
      { startedAt: "2026-11-21T10:00:31Z", finishedAt },
    ]);
  });

  test("gives a container that ended before its task had started no time of its start", () => {
    const spec: Spec = { restartPolicy: "Never", containers: [main, side] };
    const { memory } = observe(taskWith({ lastStatus: "PENDING", startedAt: undefined }, running("main"), ended("side", 0)), { spec });
    const later = taskWith({ startedAt: "2026-11-21T10:05:30.000Z" }, running("main"), ended("side", 0));
    const { status } = observe(later, { spec, memory });

    expect(status.containerStatuses?.[1]?.state?.terminated).toEqual({
      exitCode: 0,
      reason: "Completed",
      containerID: "ecs://run-side",
      finishedAt: "2026-11-21T10:05:00.000Z",
    });
  });

  test("counts restarts that ECS makes in the task", () => {
    const { memory } = observe(taskWith({}, running("main", { runtimeId: "a" })));
    const { status } = observe(taskWith({}, running("main", { runtimeId: "b" })), { memory });

    expect(status.containerStatuses?.[0]).toMatchObject({
      restartCount: 1,
      state: { running: { startedAt: "2026-11-21T10:05:00.000Z" } },
    });
  });
});

test.each(["DEACTIVATING", "STOPPING", "DEPROVISIONING"])("a task that is %s is ending, and not over", (lastStatus) => {
  const { progress, status } = observe(taskWith({ lastStatus, desiredStatus: "STOPPED" }, ended("main", 0)));

  expect({ progress, phase: status.phase }).toEqual({ progress: "ending", phase: "Running" });
});

describe("the original's fault: a stopped task always succeeded, and stayed ready", () => {
  test.each([
    ["Never", 0, "Succeeded", undefined],
    ["Never", 3, "Failed", undefined],
    ["OnFailure", 0, "Succeeded", undefined],
    ["OnFailure", 3, "Running", true],
    ["Always", 0, "Running", true],
    [undefined, 0, "Running", true],
  ])("restartPolicy %s and exit code %i: %s, again: %s", (restartPolicy, exitCode, phase, needsNewObject) => {
    const spec: Spec = { ...(restartPolicy !== undefined && { restartPolicy }), containers: [main] };
    const observation = observe(stopped(exited, ended("main", exitCode)), { spec });

    expect(observation.progress).toBe("ended");
    expect(observation.needsNewObject).toBe(needsNewObject);
    expect(observation.status.phase).toBe(phase);
    expect(observation.status.containerStatuses?.[0]).toMatchObject({
      ready: false,
      state: {
        terminated: { exitCode, reason: exitCode === 0 ? "Completed" : "Error", finishedAt: "2026-11-21T10:04:00.000Z" },
      },
    });
  });
});

test.each([
  ["that is being deleted", { isEnding: true }],
  ["that is gone at the API server", { isGone: true }],
])("a pod %s does not run again", (_what, options) => {
  const observation = observe(stopped(exited, ended("main", 1)), options);

  expect(observation.needsNewObject).toBeUndefined();
  expect(observation.status.phase).toBe("Failed");
});

test("a container killed for its memory is OOMKilled, with its exit code", () => {
  const reason = "OutOfMemoryError: Container killed due to memory usage";
  const { status } = observe(stopped(exited, ended("main", 137, { reason })), { spec: { restartPolicy: "Never", containers: [main] } });

  expect(status.phase).toBe("Failed");
  expect(status.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 137, reason: "OOMKilled", message: reason });
});

test.each(["Always", "OnFailure", "Never"])(
  "with restartPolicy %s, a pod whose image cannot be pulled waits, and is tried again",
  (restartPolicy) => {
    const stoppedReason = "CannotPullContainerError: pull image manifest has been retried 7 time(s): not found";
    const observation = observe(
      stopped({ stopCode: "TaskFailedToStart", stoppedReason, startedAt: undefined }, ended("main", undefined, { runtimeId: undefined })),
      { spec: { restartPolicy, containers: [main] } },
    );

    expect(observation).toMatchObject({ progress: "ended", needsNewObject: true, status: { phase: "Pending", message: stoppedReason } });
    expect(observation.status.containerStatuses?.[0]?.state?.waiting).toEqual({ reason: "ErrImagePull", message: stoppedReason });
  },
);

test("a pod for which Fargate has no capacity waits", () => {
  const stoppedReason = "Capacity is unavailable at this time. Please try again later or in a different availability zone";

  expect(observe(stopped({ stopCode: "TaskFailedToStart", stoppedReason, startedAt: undefined }))).toMatchObject({
    needsNewObject: true,
    status: { phase: "Pending", message: stoppedReason },
  });
});

test.each([
  ["Never", undefined, "Failed"],
  ["Always", true, "Pending"],
])("with restartPolicy %s, a task that cannot be started for another reason: again %s, %s", (restartPolicy, needsNewObject, phase) => {
  const stoppedReason = "ResourceInitializationError: unable to pull secrets or registry auth";
  const observation = observe(stopped({ stopCode: "TaskFailedToStart", stoppedReason, startedAt: undefined }), {
    spec: { restartPolicy, containers: [main] },
  });

  expect(observation.needsNewObject).toBe(needsNewObject);
  expect(observation.status).toMatchObject({ phase, message: stoppedReason });
});

test.each([
  ["SpotInterruption", "Your Spot Task was interrupted.", "SpotInterruption"],
  ["TerminationNotice", "The task's machine is retired", "NodeLost"],
  ["UserInitiated", "Task stopped by user", "StoppedExternally"],
  ["ServiceSchedulerInitiated", "Scaling activity", "StoppedExternally"],
])("a task stopped by %s is a failed pod with the reason", (stopCode, stoppedReason, reason) => {
  const observation = observe(stopped({ stopCode, stoppedReason }, ended("main", 143)));

  expect(observation.needsNewObject).toBeUndefined();
  expect(observation.status).toMatchObject({ phase: "Failed", reason, message: stoppedReason });
});

describe("a task that this provider stopped", () => {
  const own = (stop: OwnStop): Partial<EcsTask> => ({ stopCode: "UserInitiated", stoppedReason: ownStopReason(stop) });

  test("because all containers had ended has the outcome of their exit codes", () => {
    const spec: Spec = { restartPolicy: "Never", containers: [main, side] };
    const task = stopped(own("ended"), ended("main", 0), ended("side", 0), ended("vk-pause", 143));

    expect(observe(task, { spec }).status.phase).toBe("Succeeded");
  });

  test("at the deadline is a failed pod, as with a kubelet", () => {
    expect(observe(stopped(own("deadline"), ended("main", 143))).status).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" });
  });

  test("after a liveness probe runs again, even if the program ended with 0", () => {
    expect(
      observe(stopped(own("unhealthy"), ended("main", 0)), { spec: { restartPolicy: "OnFailure", containers: [main] } }),
    ).toMatchObject({
      needsNewObject: true,
    });
    expect(
      observe(stopped(own("unhealthy"), ended("main", 0)), { spec: { restartPolicy: "Never", containers: [main] } }).status.phase,
    ).toBe("Failed");
  });

  test("after a failed init container fails or runs again by the restart policy", () => {
    const spec = (restartPolicy: string): Spec => ({ restartPolicy, initContainers: [{ name: "setup", image: "i" }], containers: [main] });
    const task = stopped(own("init"), ended("setup", 2), ended("main", undefined, { runtimeId: undefined }));

    expect(observe(task, { spec: spec("Never") }).status).toMatchObject({ phase: "Failed", message: "init container setup failed" });
    expect(observe(task, { spec: spec("OnFailure") }).needsNewObject).toBe(true);
  });
});

test("a container that ended without an exit code is not said to have succeeded", () => {
  const { status } = observe(stopped({}, ended("main", undefined)), { spec: { restartPolicy: "Never", containers: [main] } });

  expect(status.phase).toBe("Failed");
  expect(status.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 137, reason: "ContainerStatusUnknown" });
});

test("a pod that is gone at the API server shows its own containers, and none of the provider's", () => {
  const { status } = observe(taskWith({}, running("vk-files"), running("main"), running("vk-pause")), { isGone: true });

  expect(status.containerStatuses?.map(({ name }) => name)).toEqual(["main"]);
});
