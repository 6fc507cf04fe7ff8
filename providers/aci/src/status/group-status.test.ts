import type { Pod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { groupSchema, type ContainerGroup, type ContainerInstanceState } from "../azure/group-schema.ts";
import { testUid } from "../test-support/pods.ts";
import { observeGroup } from "./group-status.ts";

const nowMs = Date.parse("2026-11-21T12:00:00Z");
const startTime = "2026-11-21T10:00:00Z";
const finishTime = "2026-11-21T10:01:00.5Z";
const identity = { ref: { namespace: "shop", name: "web", uid: testUid }, owner: { clusterId: "c-1", nodeName: "aci-1" }, attempt: 0 };

interface Shape {
  readonly provisioning?: string;
  readonly state?: string;
  readonly current?: ContainerInstanceState;
  readonly container?: object;
  readonly view?: object;
  readonly properties?: object;
  readonly tags?: Record<string, string>;
}

/** A group as Azure returns it. */
function groupWith({
  provisioning = "Succeeded",
  state = "Running",
  current,
  container,
  view,
  properties,
  tags = {},
}: Shape): ContainerGroup {
  return groupSchema.parse({
    id: "/subscriptions/sub-1/resourceGroups/pods/providers/Microsoft.ContainerInstance/containerGroups/vk-shop-web",
    name: "vk-shop-web",
    tags: { "vk.created-at": "2026-11-21T09:59:00Z", ...tags },
    properties: {
      provisioningState: provisioning,
      restartPolicy: "Never",
      instanceView: { state, events: [] },
      containers: [
        {
          name: "main",
          properties: { image: "nginx", instanceView: { restartCount: 0, currentState: current, events: [], ...view }, ...container },
        },
      ],
      ...properties,
    },
  });
}

const observe = (shape: Shape, fields: { pod?: Pod; isEnding?: boolean } = {}): ReturnType<typeof observeGroup> =>
  observeGroup(groupWith(shape), { identity, pod: undefined, memory: undefined, nowMs, isEnding: false, ...fields });

const running: ContainerInstanceState = { state: "Running", startTime, detailStatus: "" };
const ended = (exitCode: number, detailStatus = ""): ContainerInstanceState => ({
  state: "Terminated",
  startTime,
  finishTime,
  exitCode,
  detailStatus,
});

test.for<[string, Shape, string, string]>([
  ["accepted", { provisioning: "Accepted" }, "Pending", "starting"],
  ["pending", { provisioning: "Pending", state: "Pending" }, "Pending", "starting"],
  ["being created", { provisioning: "Creating", current: { state: "Waiting" } }, "Pending", "starting"],
  ["being repaired", { provisioning: "Repairing", current: running }, "Running", "starting"],
  ["made, and waits", { state: "Pending", current: { state: "Waiting" } }, "Pending", "starting"],
  ["running", { current: running }, "Running", "running"],
  ["succeeded", { state: "Succeeded", current: ended(0) }, "Succeeded", "ended"],
  ["succeeded, but with an exit code", { state: "Succeeded", current: ended(3) }, "Failed", "ended"],
  ["failed", { state: "Failed", current: ended(1) }, "Failed", "ended"],
  ["failed without a container's end", { state: "Failed", current: { state: "Waiting" } }, "Failed", "ended"],
  ["failed in the making", { provisioning: "Failed", current: { state: "Waiting" } }, "Failed", "ended"],
  ["unhealthy", { provisioning: "Unhealthy", current: { state: "Waiting" } }, "Failed", "ended"],
  ["canceled", { provisioning: "Canceled" }, "Failed", "ended"],
  ["stopped by somebody", { state: "Stopped", current: { state: "Waiting" } }, "Failed", "ended"],
  ["being deleted", { provisioning: "Deleting", current: running }, "Running", "ending"],
])("a group that is %s", ([, shape, phase, progress]) => {
  const { status, progress: actual } = observe(shape);

  expect([status.phase, actual]).toEqual([phase, progress]);
});

test("exit codes and reasons are Azure's", () => {
  const terminated = (current: ContainerInstanceState): unknown => observe({ current }).status.containerStatuses?.[0]?.state?.terminated;

  expect(terminated(ended(0, "Completed"))).toEqual({
    exitCode: 0,
    reason: "Completed",
    startedAt: startTime,
    finishedAt: "2026-11-21T10:01:00Z",
  });
  expect(terminated(ended(42, "Error"))).toMatchObject({ exitCode: 42, reason: "Error" });
  expect(terminated(ended(137, "OOMKilled"))).toMatchObject({ exitCode: 137, reason: "OOMKilled" });
  expect(terminated(ended(2, "Completed"))).toMatchObject({ exitCode: 2, reason: "Error" });
  expect(terminated(ended(128, "ContainerCannotRun: exec failed"))).toMatchObject({ reason: "ContainerCannotRun", message: "exec failed" });
  expect(terminated({ state: "Succeeded" })).toEqual({ exitCode: 0, reason: "Completed" });
});

test("an end without an exit code is never told as a success", () => {
  expect(observe({ current: { state: "Terminated" } }).status).toMatchObject({
    phase: "Failed",
    containerStatuses: [{ state: { terminated: { exitCode: 137, reason: "ContainerStatusUnknown" } } }],
  });
});

test("a running container without a start time is no error", () => {
  expect(observe({ current: { state: "Running" } }).status.containerStatuses?.[0]).toMatchObject({ ready: true, state: { running: {} } });
});

test("a deleted pod keeps the states that Azure reports, and no exit code is invented", () => {
  const { status } = observe({ provisioning: "Deleting", current: running }, { isEnding: true });

  expect(status.containerStatuses?.[0]?.state).toEqual({ running: { startedAt: startTime } });
});

test("restarts and the end before are reported", () => {
  const view = { restartCount: 3, previousState: ended(1) };
  const [status] = observe({ current: running, view, properties: { restartPolicy: "Always" } }).status.containerStatuses ?? [];

  expect(status).toMatchObject({ restartCount: 3, lastState: { terminated: { exitCode: 1, reason: "Error" } } });
});

test("a container that crashes again and again is waiting, and its pod runs", () => {
  const current = { state: "Waiting", detailStatus: "CrashLoopBackOff: Back-off 40s restarting failed" };
  const { status } = observe({ current, view: { restartCount: 2, previousState: ended(1) }, properties: { restartPolicy: "Always" } });

  expect(status.phase).toBe("Running");
  expect(status.containerStatuses?.[0]?.state).toEqual({
    waiting: { reason: "CrashLoopBackOff", message: "Back-off 40s restarting failed" },
  });
});

test.for([
  ["Pulling", "ContainerCreating"],
  ["Failed", "ErrImagePull"],
  ["BackOff", "ImagePullBackOff"],
] as const)("a wait after the event %s has the reason %s", ([name, reason]) => {
  const view = { events: [{ name, message: "pulling image", lastTimestamp: startTime, count: 1, type: "Normal" }] };

  expect(observe({ provisioning: "Creating", current: { state: "Waiting" }, view }).status.containerStatuses?.[0]?.state).toEqual({
    waiting: { reason, message: "pulling image" },
  });
});

test("init containers have statuses, and a failed one fails the pod", () => {
  const initContainers = [{ name: "setup", properties: { image: "busybox", instanceView: { currentState: ended(1), events: [] } } }];
  const { status } = observe({ current: { state: "Waiting" }, properties: { initContainers } });

  expect(status).toMatchObject({
    phase: "Failed",
    initContainerStatuses: [{ name: "setup", state: { terminated: { exitCode: 1 } } }],
    containerStatuses: [{ name: "main", state: { waiting: {} } }],
  });
});

test("a sidecar is reported among the init containers", () => {
  const containers = ["proxy", "main"].map((name) => ({ name, properties: { instanceView: { currentState: running } } }));
  const { status } = observe({ properties: { containers, restartPolicy: "Always" }, tags: { "vk.aci.sidecars": "proxy" } });

  expect(status).toMatchObject({
    phase: "Running",
    initContainerStatuses: [{ name: "proxy", started: true }],
    containerStatuses: [{ name: "main" }],
  });
});

test.for([
  ["before its first probe is due", { startTime: "2026-11-21T11:59:58Z", failedAt: undefined }, false],
  ["when no probe has failed", { startTime, failedAt: undefined }, true],
  ["when a probe has just failed", { startTime, failedAt: "2026-11-21T11:59:55Z" }, false],
  ["when the last failure is long ago", { startTime, failedAt: "2026-11-21T11:50:00Z" }, true],
  ["when the failure was before its restart", { startTime: "2026-11-21T11:59:30Z", failedAt: "2026-11-21T11:59:29Z" }, true],
] as const)("a container with a readiness probe is ready %s", ([, { startTime: startedAt, failedAt }, expected]) => {
  const event = { name: "Unhealthy", message: "Readiness probe failed: 500", type: "Warning", count: 1, lastTimestamp: failedAt };
  const view = { events: failedAt === undefined ? [] : [event] };
  const container = { readinessProbe: { periodSeconds: 5, initialDelaySeconds: 1 } };
  const group = groupWith({ current: { state: "Running", startTime: startedAt } });
  const [member] = group.properties.containers ?? [];
  const merged = {
    ...group,
    properties: {
      ...group.properties,
      containers: [
        {
          name: "main",
          properties: { ...member?.properties, ...container, instanceView: { ...member?.properties.instanceView, ...view } },
        },
      ],
    },
  };

  const { status, progress } = observeGroup(merged, { identity, pod: undefined, memory: undefined, nowMs, isEnding: false });

  expect(status.containerStatuses?.[0]?.ready).toBe(expected);
  expect(progress).toBe(expected ? "running" : "starting");
});

test("the pod's address is the group's", () => {
  expect(observe({ current: running, properties: { ipAddress: { ip: "10.241.0.4", type: "Private" } } }).status).toMatchObject({
    podIP: "10.241.0.4",
    podIPs: [{ ip: "10.241.0.4" }],
  });
});

test("a running group that still lacks its address is looked at as one that starts", () => {
  const progress = (ip: string | undefined): string =>
    observe({ current: running, properties: { ipAddress: { type: "Public", ip } } }).progress;

  expect([progress(undefined), progress("10.241.0.4")]).toEqual(["starting", "running"]);
});

test("a failed group's message has Azure's last event", () => {
  const instanceView = { state: "Failed", events: [{ name: "Failed", message: "no such image", lastTimestamp: startTime }] };

  expect(observe({ provisioning: "Failed", properties: { instanceView } }).status.message).toBe(
    "Azure: the container group is Failed: no such image",
  );
});

test("the time of creation comes from the tags", () => {
  expect(observe({ current: running }).createdAt).toBe("2026-11-21T09:59:00Z");
});
