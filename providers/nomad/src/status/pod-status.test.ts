import type { ProbeStanding } from "@virtual-kubelet/pod-runtime/probes";
import { expect, test } from "vitest";
import type { Allocation, TaskEvent, TaskState } from "../api/types.ts";
import type { ContainerRole, PodShape, ProbeName } from "../job/pod-shape.ts";
import { readFixture } from "../test-support/fixtures.ts";
import { owner } from "../test-support/pods.ts";
import { isToBeStopped, isToStartAgain, podStatusOf, type PodView } from "./pod-status.ts";

const at = Date.parse("2026-11-21T10:00:00Z") * 1e6;

function shapeWith(containers: Readonly<Record<string, ContainerRole>>, fields: Partial<PodShape> = {}): PodShape {
  return {
    ref: { namespace: "shop", name: "web", uid: "u-1" },
    owner,
    restartPolicy: "Never",
    containers: Object.entries(containers).map(([name, role]) => ({ name, image: "busybox", role })),
    graceSeconds: 30,
    driver: "docker",
    network: "bridge",
    variables: [],
    fileVolumes: [],
    ...fields,
  };
}

function event(Type: string, fields: Partial<TaskEvent> = {}): TaskEvent {
  return { Type, Time: at, ...fields };
}

function task(State: TaskState["State"], Events: readonly TaskEvent[], fields: Partial<TaskState> = {}): TaskState {
  return { State, Failed: false, Restarts: 0, StartedAt: State === "pending" ? null : "2026-11-21T10:00:00.123456789Z", Events, ...fields };
}

function allocationWith(TaskStates: Readonly<Record<string, TaskState>> | null, fields: Partial<Allocation> = {}): Allocation {
  return {
    ID: "a-1",
    JobID: "vk-1",
    Namespace: "default",
    NodeID: "n-1",
    NodeName: "client-1",
    CreateIndex: 1,
    ModifyIndex: 2,
    CreateTime: at,
    ClientStatus: "running",
    DesiredStatus: "run",
    TaskStates,
    ...fields,
  };
}

function view(fields: Partial<PodView> = {}): PodView {
  return {
    shape: shapeWith({ main: "main" }),
    allocation: undefined,
    remembered: new Map(),
    hostAddress: "192.0.2.7",
    unplaced: undefined,
    ending: false,
    restarts: {},
    backOffMs: undefined,
    standings: new Map(),
    ...fields,
  };
}

/** State of the one container of a pod whose task is so. */
function stateOf(state: TaskState, fields: Partial<PodView> = {}): unknown {
  return podStatusOf(view({ allocation: allocationWith({ main: state }), ...fields })).containerStatuses?.[0]?.state;
}

const terminated = event("Terminated", { ExitCode: 7, Details: { exit_code: "7", exit_message: "it broke" } });

test("the recorded allocation of seven tasks is told as a kubelet would", async () => {
  const { body } = await readFixture<Allocation>("04-alloc-detail");
  const roles = { init1: "init", init2: "init", side: "sidecar", main: "main", main2: "main" } as const;

  const status = podStatusOf(view({ shape: shapeWith(roles), allocation: body }));

  const shown = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].map(({ name, state, ready }) => [
    name,
    state?.running ? "running" : (state?.terminated?.exitCode ?? state?.waiting?.reason),
    ready,
  ]);
  expect(status.phase).toBe("Running");
  expect(shown).toEqual([
    ["init1", 0, true],
    ["init2", 0, true],
    ["side", "running", true],
    ["main", "running", true],
    ["main2", "running", true],
  ]);
});

test("the recorded allocation in bridge mode has an address of its own", async () => {
  const { body } = await readFixture<Allocation>("18-alloc-bridge");

  const { podIP, podIPs, phase } = podStatusOf(view({ shape: shapeWith({ srv: "main", cli: "main" }), allocation: body }));

  expect({ podIP, podIPs, phase }).toEqual({ podIP: "172.26.64.3", podIPs: [{ ip: "172.26.64.3" }], phase: "Running" });
});

test("on the host's network a pod has its client's address", () => {
  const shape = shapeWith({ main: "main" }, { network: "host" });

  expect(podStatusOf(view({ shape, allocation: allocationWith({ main: task("running", []) }) })).podIP).toBe("192.0.2.7");
});

test("a pod without a place waits, and says why", () => {
  const { phase, containerStatuses } = podStatusOf(view({ unplaced: "no room" }));

  expect([phase, containerStatuses?.[0]?.state]).toEqual(["Pending", { waiting: { reason: "ContainerCreating", message: "no room" } }]);
});

test.each<[string, TaskState, object]>([
  ["received", task("pending", [event("Received")]), { waiting: { reason: "ContainerCreating" } }],
  [
    "downloading its image",
    task("pending", [event("Driver", { DisplayMessage: "Downloading image" })]),
    { waiting: { reason: "ContainerCreating", message: "Downloading image" } },
  ],
  [
    "at its gate",
    task("pending", [event("Template", { DisplayMessage: "Missing: nomad.var.block(x)" })]),
    { waiting: { reason: "PodInitializing" } },
  ],
  ["running", task("running", [event("Started")]), { running: { startedAt: "2026-11-21T10:00:00Z" } }],
  [
    "waiting for its restart",
    task("pending", [event("Started"), terminated, event("Restarting", { DisplayMessage: "Task restarting in 10s" })], { Restarts: 1 }),
    { waiting: { reason: "CrashLoopBackOff", message: "Task restarting in 10s" } },
  ],
  [
    "dead",
    task("dead", [event("Started"), terminated]),
    {
      terminated: {
        exitCode: 7,
        reason: "Error",
        message: "it broke",
        startedAt: "2026-11-21T10:00:00Z",
        finishedAt: "2026-11-21T10:00:00Z",
      },
    },
  ],
  [
    "killed for its memory",
    task("dead", [event("Terminated", { ExitCode: 137, Details: { oom_killed: "true" } })]),
    { terminated: { exitCode: 137, reason: "OOMKilled", startedAt: "2026-11-21T10:00:00Z", finishedAt: "2026-11-21T10:00:00Z" } },
  ],
  [
    "without an image",
    task("dead", [event("Driver Failure", { DisplayMessage: "Failed to pull `x`" })], { StartedAt: null }),
    { terminated: { exitCode: 128, reason: "ErrImagePull", message: "Failed to pull `x`", finishedAt: "2026-11-21T10:00:00Z" } },
  ],
  [
    "without an image, to be tried again",
    task("pending", [event("Driver Failure", { DisplayMessage: "Failed to pull `x`" }), event("Restarting")], { StartedAt: null }),
    { waiting: { reason: "ImagePullBackOff", message: "Failed to pull `x`" } },
  ],
  [
    "of a configuration that the driver refuses",
    task("dead", [event("Failed Validation", { Details: { validation_error: "no such key" } })], { StartedAt: null }),
    { terminated: { exitCode: 128, reason: "CreateContainerConfigError", message: "no such key", finishedAt: "2026-11-21T10:00:00Z" } },
  ],
])("a task that is %s", (_name, state, expected) => {
  expect(stateOf(state)).toEqual(expected);
});

test("a task whose end is under way runs, and is not ready", () => {
  const { containerStatuses, phase } = podStatusOf(
    view({ allocation: allocationWith({ main: task("running", [event("Started"), terminated]) }) }),
  );

  expect(containerStatuses?.[0]).toMatchObject({ ready: false, state: { running: {} }, lastState: {} });
  expect(phase).toBe("Running");
});

test("how the instance before ended is told from the events, and from memory where those are gone", () => {
  const again = task("running", [event("Started"), terminated, event("Restarting"), event("Started")], { Restarts: 1 });
  const remembered = new Map([["main", { exitCode: 3, finishedAt: "2026-11-21T09:00:00Z" }]]);
  const last = (state: TaskState): unknown =>
    podStatusOf(view({ allocation: allocationWith({ main: state }), remembered })).containerStatuses?.[0]?.lastState?.terminated?.exitCode;

  expect(last(again)).toBe(7);
  expect(last(task("running", [event("Restart Signaled")], { Restarts: 4 }))).toBe(3);
  expect(last(task("running", [event("Started")]))).toBeUndefined();
});

const ended = (code: number): TaskState => task("dead", [event("Started"), event("Terminated", { ExitCode: code })]);

test.each<[string, Partial<Allocation>, Partial<PodView>, object]>([
  ["complete with 0", { ClientStatus: "complete", TaskStates: { main: ended(0) } }, {}, { phase: "Succeeded" }],
  ["failed", { ClientStatus: "failed", TaskStates: { main: ended(7) } }, {}, { phase: "Failed" }],
  [
    "complete after our stop, killed",
    { ClientStatus: "complete", DesiredStatus: "stop", TaskStates: { main: ended(137) } },
    { ending: true },
    { phase: "Failed" },
  ],
  [
    "lost",
    { ClientStatus: "lost", DesiredStatus: "stop", TaskStates: { main: task("running", []) } },
    {},
    { phase: "Failed", reason: "NodeLost" },
  ],
  [
    "drained",
    {
      ClientStatus: "complete",
      DesiredStatus: "stop",
      DesiredTransition: { Migrate: true, NoShutdownDelay: null },
      TaskStates: { main: ended(0) },
    },
    {},
    { phase: "Failed", reason: "NodeDrained" },
  ],
  [
    "stopped with nomad alloc stop",
    {
      ClientStatus: "complete",
      DesiredStatus: "stop",
      DesiredDescription: "alloc is being migrated",
      DesiredTransition: { Migrate: true, NoShutdownDelay: false },
      TaskStates: { main: ended(143) },
    },
    {},
    { phase: "Failed", reason: "StoppedByNomad", message: "the pod's allocation was stopped in Nomad, as by nomad alloc stop" },
  ],
  [
    "preempted",
    { ClientStatus: "complete", DesiredStatus: "evict", TaskStates: { main: ended(143) } },
    {},
    { phase: "Failed", reason: "Preempted" },
  ],
  [
    "stopped by somebody",
    { ClientStatus: "complete", DesiredStatus: "stop", DesiredDescription: "stopped by operator", TaskStates: { main: ended(143) } },
    {},
    { phase: "Failed", reason: "StoppedByNomad", message: "stopped by operator" },
  ],
  ["out of reach", { ClientStatus: "unknown", TaskStates: { main: task("running", []) } }, {}, { phase: "Running" }],
])("an allocation that is %s", (_name, fields, rest, expected) => {
  expect(podStatusOf(view({ allocation: allocationWith(null, fields), ...rest }))).toMatchObject(expected);
});

test("of a lost pod no container is said to run, and of one out of reach none to be ready", () => {
  const running = { main: task("running", []) };
  const lost = podStatusOf(view({ allocation: allocationWith(running, { ClientStatus: "lost" }) }));
  const away = podStatusOf(view({ allocation: allocationWith(running, { ClientStatus: "unknown" }) }));

  expect(lost.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 137, reason: "ContainerStatusUnknown" });
  expect(away.containerStatuses?.[0]).toMatchObject({ ready: false, state: { running: {} } });
});

test("what a failed init container kept from starting waits, until the pod is deleted", () => {
  const TaskStates = { setup: ended(4), main: task("dead", [event("Sibling Task Failed")], { StartedAt: null }) };
  const fields = { shape: shapeWith({ setup: "init", main: "main" }), allocation: allocationWith(TaskStates, { ClientStatus: "failed" }) };

  expect(podStatusOf(view(fields)).containerStatuses?.[0]?.state).toEqual({ waiting: { reason: "PodInitializing" } });
  expect(podStatusOf(view({ ...fields, ending: true })).containerStatuses?.[0]?.state?.terminated?.reason).toBe("ContainerNotStarted");
});

const noProgram = event("Driver Failure", { Details: { driver_error: "no such file" } });
const noImage = event("Driver Failure", { DisplayMessage: "Failed to pull `x`" });
const refused = event("Failed Validation", { Details: { validation_error: "no such key" } });

test.each<[string, TaskEvent, object]>([
  [
    "a program that is not there",
    noProgram,
    {
      restartCount: 2,
      state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 20s before the pod is started again: no such file" } },
      lastState: { terminated: { exitCode: 128, reason: "StartError", message: "no such file" } },
    },
  ],
  [
    "an image that is not there",
    noImage,
    { state: { waiting: { reason: "ImagePullBackOff", message: "back-off 20s before the pod is started again: Failed to pull `x`" } } },
  ],
  [
    "a configuration that the driver refuses",
    refused,
    { state: { waiting: { reason: "CreateContainerConfigError", message: "back-off 20s before the pod is started again: no such key" } } },
  ],
])("%s is waited for while the pod is to be started again", (_name, failure, expected) => {
  const main = task("dead", [failure, event("Not Restarting")], { StartedAt: null, Failed: true });
  const allocation = allocationWith({ main }, { ClientStatus: "failed", ClientDescription: "Failed tasks" });
  const fields = { shape: shapeWith({ main: "main" }, { restartPolicy: "Always" }), allocation, restarts: { main: 2 }, backOffMs: 20_000 };
  const { phase, message, containerStatuses } = podStatusOf(view(fields));

  expect(containerStatuses?.[0]).toMatchObject(expected);
  expect([phase, message]).toEqual([failure === noProgram ? "Running" : "Pending", undefined]);
});

test("a pod that is started again and has no allocation yet tells how it ended before", () => {
  const remembered = new Map([["main", { exitCode: 128, reason: "StartError", finishedAt: "2026-11-21T10:00:00Z" }]]);
  const { containerStatuses } = podStatusOf(view({ remembered, restarts: { main: 3 } }));

  expect(containerStatuses?.[0]).toMatchObject({
    restartCount: 3,
    state: { waiting: { reason: "ContainerCreating" } },
    lastState: { terminated: { reason: "StartError" } },
  });
});

test.each<[string, Partial<PodShape>, Partial<Allocation>, boolean]>([
  ["failed under Always", { restartPolicy: "Always" }, { ClientStatus: "failed" }, true],
  ["failed under OnFailure", { restartPolicy: "OnFailure" }, { ClientStatus: "failed" }, true],
  ["failed under Never", { restartPolicy: "Never" }, { ClientStatus: "failed" }, false],
  ["failed, and was stopped", { restartPolicy: "Always" }, { ClientStatus: "failed", DesiredStatus: "stop" }, false],
  ["is complete", { restartPolicy: "OnFailure" }, { ClientStatus: "complete" }, false],
  ["was lost", { restartPolicy: "Always" }, { ClientStatus: "lost" }, false],
])("whether a pod is to be started again that %s", (_name, shape, fields, expected) => {
  const allocation = allocationWith({}, fields);

  expect(isToStartAgain({ shape: shapeWith({ main: "main" }, shape), allocation, ending: false })).toBe(expected);
  expect(isToStartAgain({ shape: shapeWith({ main: "main" }, shape), allocation, ending: true })).toBe(false);
});

test("a sidecar that Nomad kills at the end does not make the pod Failed", () => {
  const allocation = allocationWith({ proxy: ended(137), main: ended(0) }, { ClientStatus: "complete" });

  expect(podStatusOf(view({ shape: shapeWith({ proxy: "sidecar", main: "main" }), allocation })).phase).toBe("Succeeded");
});

test.each<[string, Partial<Allocation>, boolean]>([
  ["runs", {}, false],
  ["has ended by itself", { ClientStatus: "complete" }, false],
  ["was lost", { ClientStatus: "lost" }, true],
  ["is being drained", { DesiredTransition: { Migrate: true } }, true],
  ["gives its place away", { PreemptedByAllocation: "b" }, true],
  ["was stopped", { DesiredStatus: "stop" }, true],
])("whether Nomad has to be kept from running again what %s", (_name, fields, expected) => {
  expect(isToBeStopped(allocationWith({}, fields))).toBe(expected);
});

test("a running container is started and ready when its probes say so, and until it is probed only as far as it has none", () => {
  const running = task("running", [event("Started")]);
  const shown = (probes: readonly ProbeName[] | undefined, standing?: ProbeStanding): unknown => {
    const shape = shapeWith({ main: "main" });
    const containers = shape.containers.map((container) => ({ ...container, ...(probes && { probes }) }));
    const standings = new Map(standing ? [["main", standing]] : []);
    const ofPod = view({ shape: { ...shape, containers }, allocation: allocationWith({ main: running }), standings });
    const [status] = podStatusOf(ofPod).containerStatuses ?? [];
    return [status?.started, status?.ready];
  };

  expect(shown(undefined)).toEqual([true, true]);
  expect(shown(["liveness"])).toEqual([true, true]);
  expect(shown(["readiness"])).toEqual([true, false]);
  expect(shown(["startup"])).toEqual([false, false]);
  expect(shown(["startup", "readiness"], { isStarted: true, isReady: false })).toEqual([true, false]);
  expect(shown(["readiness"], { isStarted: true, isReady: true })).toEqual([true, true]);
});

test("a container named as what every object inherits has a status of its own", () => {
  const shape = shapeWith({ constructor: "main" as const }, { restartPolicy: "Always" });
  const statusOf = (tasks: Readonly<Record<string, TaskState>>): unknown =>
    podStatusOf(view({ shape, allocation: allocationWith(tasks) })).containerStatuses?.[0];

  expect(statusOf({})).toMatchObject({ name: "constructor", restartCount: 0, state: { waiting: { reason: "ContainerCreating" } } });
  expect(statusOf({ constructor: task("running", [], { Restarts: 2 }) })).toMatchObject({ restartCount: 2, ready: true });
});
